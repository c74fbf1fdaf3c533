"""A run on file: its signals with units, its events, and every form it can leave in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from brazo.errors import BrazoError
from brazo.recording.stream import PART, Columns, read_parquet, read_part, write_parquet
from brazo.recording.tables import read_table, write_table

FORMATS = (".parquet", ".csv", ".xlsx", ".mcap")


@dataclass(frozen=True, eq=False)
class Recording:
    """Signals on one time axis: `recording["t"]`, `recording["scara1.q.shoulder"]`."""

    columns: Columns
    events: list[dict[str, Any]] = field(default_factory=list)
    about: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def open(cls, path: str | Path) -> Recording:
        """Read a .parquet or .csv recording, or the .part a killed run left behind."""
        path = Path(path)
        if path.name.endswith(PART):
            return cls._of(*read_part(path))
        if path.suffix.lower() == ".csv":
            return cls(read_table(path))
        if path.suffix.lower() == ".parquet":
            beside = path.with_name(path.name + PART)
            if beside.is_file():
                # A newer run was killed before it could take the file's place.
                return cls._of(*read_part(beside))
            return cls._of(*read_parquet(path))
        raise BrazoError(f"{path}: recordings are read from .parquet, .parquet.part and .csv")

    @classmethod
    def _of(cls, columns: Columns, about: dict[str, str], events: list) -> Recording:
        return cls(columns, events, about)

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self.columns:
            import difflib

            close = difflib.get_close_matches(name, list(self.columns), n=3)
            hint = f"; did you mean {', '.join(close)}?" if close else ""
            raise BrazoError(f"no signal named '{name}' in this recording{hint}")
        return self.columns[name][0]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()))[0]) if self.columns else 0

    def unit(self, name: str) -> str:
        """The unit of a signal."""
        self[name]
        return self.columns[name][1]

    def to(self, path: str | Path) -> Path:
        """Write in the format of the path's ending: .parquet, .csv, .xlsx or .mcap."""
        path = Path(path)
        suffix = path.suffix.lower()
        if suffix == ".parquet":
            self.to_parquet(path)
        elif suffix == ".csv":
            self.to_csv(path)
        elif suffix == ".xlsx":
            self.to_xlsx(path)
        elif suffix == ".mcap":
            self.to_mcap(path)
        else:
            raise BrazoError(f"{path}: unknown format; recordings leave as {', '.join(FORMATS)}")
        return path

    def to_parquet(self, path: str | Path) -> None:
        """Write Parquet: every column with its unit, events and description inside."""
        write_parquet(Path(path), self.columns, self.about, self.events)

    def to_csv(self, path: str | Path) -> None:
        """Write CSV with two heading rows, names and units."""
        write_table(self.columns, Path(path))

    def to_xlsx(self, path: str | Path) -> None:
        """Write an Excel workbook in constant memory."""
        from brazo.recording.xlsx import write_xlsx

        write_xlsx(Path(path), self.columns, self.about, self.events)

    def to_mcap(self, path: str | Path) -> None:
        """Write MCAP for robotics viewers."""
        from brazo.recording.mcap import write_mcap

        write_mcap(Path(path), self.columns, self.about, self.events)
