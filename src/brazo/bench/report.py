"""Results of a benchmark as plain data, printed as tables or JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from brazo.bench.settings import Settings

Value = str | float | int | bool | None


@dataclass(slots=True)
class Section:
    """One table of the report: rows that map column names to values.

    The unit of a column is part of its name.
    """

    key: str
    title: str
    rows: list[dict[str, Value]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def columns(self) -> list[str]:
        """Names of all columns, in the order in which they first appear in the rows."""
        return list(dict.fromkeys(key for row in self.rows for key in row))


@dataclass(slots=True)
class BenchReport:
    """All sections of a benchmark, and the machine on which they were measured."""

    machine: dict[str, Value]
    settings: Settings
    sections: list[Section] = field(default_factory=list)

    def plain(self) -> dict[str, Any]:
        """Return the report as JSON-compatible data."""
        return {
            "machine": self.machine,
            "settings": asdict(self.settings),
            "sections": [asdict(section) for section in self.sections],
        }
