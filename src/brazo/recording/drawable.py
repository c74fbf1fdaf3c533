"""Restriction of a recording to values that can be plotted: finite values over finite times.

A file of another program or a diverged run may contain any values.  A time that is not finite or
not within ±`LONGEST` raises an error with the number of the row.  Values that are infinite or not
within ±`LARGEST` become gaps (NaN).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from brazo.errors import BrazoError

if TYPE_CHECKING:
    from brazo.recording.recording import Recording

LONGEST = 1e9  # s, about 30 years
LARGEST = 1e150  # its square is finite


def check_time(t: np.ndarray, name: str, first: int = 0) -> None:
    """Raise BrazoError if a time is not within ±`LONGEST`.

    `first` is the number of rows before t[0] in the recording.  The row number in the message
    includes these rows.
    """
    bad = np.flatnonzero(~(np.abs(t) <= LONGEST))
    if len(bad):
        row = int(bad[0])
        raise BrazoError(
            f"time axis '{name}': row {first + row + 1} is {t[row]:g}; expected times within "
            f"±{LONGEST:g} s; select other rows with --from and --to (in Python: "
            "recording[start:stop])"
        )


def drawable(recording: Recording) -> tuple[Recording, int]:
    """Return the recording with unplottable values set to NaN, and the number of these values.

    Values that were NaN before are not counted.  Raises BrazoError for an invalid time.
    """
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
