"""Report of a recording, written in a separate process.

This module imports little, so that the process starts fast.
"""

from __future__ import annotations

from typing import Any


def write_report_of(progress: Any, source: str, target: str) -> None:
    """Write the report of the recording `source` to the HTML file `target`.

    Runs in a separate process.  Calls `progress(fraction, text)`; an unknown fraction is None.
    """
    from brazo.recording.recording import Recording

    progress(None, "reading")
    recording = Recording.open(source)
    progress(0.3, "drawing")
    recording.report(target)
