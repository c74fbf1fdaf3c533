"""`ToolTrace`: recorded positions of a tool with the state of its pen, and its CSV file.

The CSV file has a header and one line per position:

    t [s],x [m],y [m],z [m],pen
    0.0,0.3218,0.0,0.2721,up
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from brazo.errors import BrazoError
from brazo.files import replacing

Array = np.ndarray
HEAD = "t [s],x [m],y [m],z [m],pen"


@dataclass(frozen=True, slots=True, eq=False)
class ToolTrace:
    """Recorded positions of a tool over time, with the state of its pen."""

    t: Array  # (m,) s
    xyz: Array  # (m, 3) m, in the base frame of the robot
    down: Array  # (m,) bool: the pen is down

    def csv_text(self) -> str:
        """CSV text of the trace, with all digits needed to restore the same floats."""
        rows = zip(self.t.tolist(), self.xyz.tolist(), self.down.tolist(), strict=True)
        lines = [
            f"{t!r},{x!r},{y!r},{z!r},{'down' if down else 'up'}" for t, (x, y, z), down in rows
        ]
        return "\n".join([HEAD, *lines]) + "\n"

    def to_csv(self, path: str | Path) -> Path:
        """Write the trace to a .csv file and return its path."""
        path = Path(path)
        if path.suffix.lower() != ".csv":
            raise BrazoError(f"{path}: the name of a trace must end in .csv")
        with replacing(path) as temporary:
            temporary.write_text(self.csv_text(), encoding="utf-8")
        return path


def tool_trace(t: Any, xyz: Any, pen_down: Any = None, start: float = 0.0) -> ToolTrace:
    """Create a trace from times (m,) and positions (m, 3).

    `pen_down` (k, 2) are the intervals (s) in which the pen is down, in order of time and relative
    to `start` (s).  If `pen_down` is None, the pen is always down.
    """
    t, xyz = np.asarray(t, dtype=float), np.asarray(xyz, dtype=float)
    if t.ndim != 1 or xyz.shape != (len(t), 3):
        raise BrazoError(
            f"a trace needs times (m,) and positions (m, 3), got positions of shape {xyz.shape}"
        )
    down = np.ones(len(t), dtype=bool)
    if pen_down is not None:
        begin, end = np.asarray(pen_down, dtype=float).reshape(-1, 2).T
        k = np.searchsorted(begin, t - start, side="right") - 1
        down = (k >= 0) & (t - start <= end[np.maximum(k, 0)])
    return ToolTrace(t, xyz, down)
