"""The letters of the equations: each symbol with its value, unit and meaning."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import sympy as sp

Expr = Any

# In the order factors are written: m₂ g L₁ c₁ q̇₁.
KINDS = (
    "motor", "inertia", "mass", "friction", "gravity", "parameter", "length", "com", "angle",
    "shared", "position", "speed", "acceleration",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Named:
    """One symbol of the equations."""

    symbol: Expr
    value: float  # SI; of a joint variable: nan
    kind: str  # one of KINDS
    unit: str
    meaning: str
    formula: Expr | None = None  # how the file computes it from other symbols


class SymbolTable:
    """Hands out symbols under names that are used once; the file's own names come first."""

    def __init__(self, reserved: Iterable[str] = ()) -> None:
        self._reserved = set(reserved)
        self._used: dict[str, Named] = {}

    def add(
        self,
        name: str,
        value: float,
        kind: str,
        unit: str,
        meaning: str,
        formula: Expr | None = None,
    ) -> Expr:
        """A new symbol; an underscore is added to a name that is taken."""
        while name in self._used or (kind != "parameter" and name in self._reserved):
            name += "_"
        symbol = sp.Symbol(name)
        self._used[name] = Named(symbol, float(value), kind, unit, meaning, formula)
        return symbol

    @property
    def entries(self) -> tuple[Named, ...]:
        return tuple(self._used.values())

    @property
    def values(self) -> dict[Expr, float]:
        return {entry.symbol: entry.value for entry in self.entries}
