"""Recordings of runs: columns with units and events, and their file formats.

A `Recorder` (on disk, crash-safe) or a `MemoryRecorder` writes rows; a `Recording` reads them.
`convert` converts between file formats, `Export` does so in a separate process, and `write_report`
writes an HTML report.
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

# Imported on first use: converting a table does not need matplotlib.
_MODULES = {
    "Event": "event",
    "Export": "export",
    "MemoryRecorder": "stream",
    "Recorder": "stream",
    "Recording": "recording",
    "convert": "conversion",
    "write_report": "report",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'brazo.recording' has no attribute '{name}'")
    return getattr(import_module(f"brazo.recording.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
