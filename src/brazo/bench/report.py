"""Results of a benchmark as plain data, printed as tables or JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from brazo.bench.settings import Settings

Value = str | float | int | bool | None


@dataclass(slots=True)
class Section:
    """One table: rows of named values.  A column's unit is part of its name."""

    key: str
    title: str
    rows: list[dict[str, Value]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def columns(self) -> list[str]:
        """All columns, in the order they first appear."""
        return list(dict.fromkeys(key for row in self.rows for key in row))


@dataclass(slots=True)
class BenchReport:
    """All sections and the machine they were measured on."""

    machine: dict[str, Value]
    settings: Settings
    sections: list[Section] = field(default_factory=list)

    def plain(self) -> dict[str, Any]:
        """JSON-compatible data of the report."""
        return {
            "machine": self.machine,
            "settings": asdict(self.settings),
            "sections": [asdict(section) for section in self.sections],
        }
