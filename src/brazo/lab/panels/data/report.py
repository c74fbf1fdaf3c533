"""The report of a recording, written in a process of its own; this module imports little."""

from __future__ import annotations

from typing import Any


def write_report_of(progress: Any, source: str, target: str) -> None:
    """Write the report of a recording; in a process of its own."""
    from brazo.recording.recording import Recording

    progress(None, "reading")
    recording = Recording.open(source)
    progress(0.3, "drawing")
    recording.report(target)
