"""What of a recording can be drawn and summed up: finite values on a finite time axis.

A file of another program, or a run that broke down, may hold anything.  Without finite times there
is no figure, and an error names the row.  Values that are not finite, or so large that their
squares are not, become gaps.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from brazo.errors import BrazoError

if TYPE_CHECKING:
    from brazo.recording.recording import Recording

LONGEST = 1e9  # s, thirty years
LARGEST = 1e150


def check_time(t: np.ndarray, name: str, first: int = 0) -> None:
    """Refuse a time axis that is not finite; `first` is the number of rows before these."""
    bad = np.flatnonzero(~(np.abs(t) <= LONGEST))
    if len(bad):
        row = int(bad[0])
        raise BrazoError(
            f"time axis '{name}': row {first + row + 1} is {t[row]:g}; wanted finite times within "
            f"±{LONGEST:g} s; choose rows with --from and --to, in Python recording[start:stop]"
        )


def drawable(recording: Recording) -> tuple[Recording, int]:
    """The recording with gaps (nan) where a value cannot be drawn, and how many were made."""
    name, *_ = recording.columns
    check_time(recording.t, name)
    changed, gaps = {}, 0
    for name in recording.names:
        values, unit = recording.columns[name]
        values = np.asarray(values, dtype=float)
        bad = np.abs(values) > LARGEST
        if bad.any():
            changed[name] = (np.where(bad, np.nan, values), unit)
            gaps += int(bad.sum())
    if not changed:
        return recording, 0
    return replace(recording, columns={**recording.columns, **changed}), gaps
