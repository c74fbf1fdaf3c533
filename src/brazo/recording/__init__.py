"""Recordings of runs: columns with units and events, and their file formats.

A `Recorder` (on disk, crash-safe) or a `MemoryRecorder` writes rows; a `Recording` reads them.
`convert` converts between file formats, and `Export` does so in a separate process. `write_report`
writes an HTML report, `compare` compares runs, and `path_accuracy` measures the accuracy of a tool
over the cycles of a run.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from brazo.deprecation import renamed_names

if TYPE_CHECKING:
    from brazo.recording.accuracy import PathAccuracy, path_accuracy
    from brazo.recording.comparison import Comparison, compare
    from brazo.recording.conversion import convert
    from brazo.recording.event import RecordedEvent
    from brazo.recording.export_process import Export
    from brazo.recording.recording import Recording
    from brazo.recording.report import write_report
    from brazo.recording.scope import plot_scope, scope_statistics
    from brazo.recording.stream import MemoryRecorder, Recorder

__all__ = [
    "Comparison",
    "Export",
    "MemoryRecorder",
    "PathAccuracy",
    "RecordedEvent",
    "Recorder",
    "Recording",
    "compare",
    "convert",
    "path_accuracy",
    "plot_scope",
    "scope_statistics",
    "write_report",
]

# Imported on first use: converting a table does not need matplotlib.
_MODULES = {
    "Comparison": "comparison",
    "compare": "comparison",
    "PathAccuracy": "accuracy",
    "path_accuracy": "accuracy",
    "plot_scope": "scope",
    "scope_statistics": "scope",
    "RecordedEvent": "event",
    "Export": "export_process",
    "MemoryRecorder": "stream",
    "Recorder": "stream",
    "Recording": "recording",
    "convert": "conversion",
    "write_report": "report",
}
_renamed = renamed_names(__name__, {"Event": "RecordedEvent"}, stacklevel=3)


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        return _renamed(name)
    return getattr(import_module(f"brazo.recording.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
