"""Symbols of the equations, each with its value, unit and meaning."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import sympy as sp

from brazo.model.description import Joint

Expr = Any

# In the order factors are written: m₂ g L₁ c₁ q̇₁.
KINDS = (
    "motor", "inertia", "mass", "friction", "gravity", "parameter", "length", "com", "angle",
    "shared", "position", "speed", "acceleration",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Named:
    """A symbol of the equations with its value, unit and meaning."""

    symbol: Expr
    value: float  # SI; of a joint variable: nan
    kind: str  # one of KINDS
    unit: str
    meaning: str
    formula: Expr | None = None  # how the file computes it from other symbols


class SymbolTable:
    """Creates symbols with unique names; names in the robot file have priority."""

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
        """Create a symbol; an underscore is appended if the name is already used."""
        while name in self._used or (kind != "parameter" and name in self._reserved):
            name += "_"
        symbol = sp.Symbol(name)
        self._used[name] = Named(symbol, float(value), kind, unit, meaning, formula)
        return symbol

    def explain(self, name: str, formula: Expr) -> None:
        """Store the formula by which a symbol is computed from other symbols."""
        self._used[name] = replace(self._used[name], formula=formula)

    def measure(self, expression: Expr, unit: str) -> None:
        """Derive units of parameters from `unit`, the unit of an expression.

        A parameter without a unit gets `unit` if it occurs in the expression only as a linear term
        with a numeric coefficient, such as L1 and d in `L1/2 + d`.
        """
        for symbol in expression.free_symbols:
            entry = self._used.get(symbol.name)
            if entry is not None and not entry.unit and sp.diff(expression, symbol).is_number:
                self._used[symbol.name] = replace(entry, unit=unit)

    @property
    def entries(self) -> tuple[Named, ...]:
        return tuple(self._used.values())

    @property
    def values(self) -> dict[Expr, float]:
        return {entry.symbol: entry.value for entry in self.entries}


def joint_symbols(table: SymbolTable, joints: Sequence[Joint]) -> tuple[tuple[Expr, ...], ...]:
    """Symbols of joint positions q1 …, velocities qd1 … and accelerations qdd1 …."""
    return tuple(
        tuple(
            table.add(
                f"{letter}{i + 1}",
                math.nan,
                kind,
                ("rad" if joint.kind == "revolute" else "m") + per,
                what + joint.name,
            )
            for i, joint in enumerate(joints)
        )
        for letter, kind, per, what in (
            ("q", "position", "", "position of "),
            ("qd", "speed", "/s", "speed of "),
            ("qdd", "acceleration", "/s²", "acceleration of "),
        )
    )
