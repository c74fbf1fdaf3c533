"""What happened in a run, in columns with units, and the files it leaves as.

Rows are recorded by a `Recorder` (on disk, crash-safe) or a `MemoryRecorder`; a `Recording` is what
was recorded.  `convert` turns files into one another, `Export` does so in a process of its own, and
`write_report` makes a page of a run.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from brazo.recording.conversion import convert
    from brazo.recording.event import Event
    from brazo.recording.export import Export
    from brazo.recording.recording import Recording
    from brazo.recording.report import write_report
    from brazo.recording.stream import MemoryRecorder, Recorder

__all__ = ["Event", "Export", "MemoryRecorder", "Recorder", "Recording", "convert", "write_report"]

# Found on first use: who only converts a table draws nothing.
_PLACES = {
    "Event": "event",
    "Export": "export",
    "MemoryRecorder": "stream",
    "Recorder": "stream",
    "Recording": "recording",
    "convert": "conversion",
    "write_report": "report",
}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'brazo.recording' has no attribute '{name}'")
    return getattr(import_module(f"brazo.recording.{_PLACES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
