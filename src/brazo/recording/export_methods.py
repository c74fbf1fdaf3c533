"""Exports and plots of results that have a `recording`, such as `brazo.Run`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brazo.errors import BrazoError
from brazo.recording.names import choose

if TYPE_CHECKING:
    from brazo.recording.recording import Recording


class Exports:
    """Mixin with methods of `Recording`, for results that have a `recording`."""

    __slots__ = ()

    @property
    def recording(self) -> Recording:
        """The signals as a `Recording`."""
        raise NotImplementedError

    @property
    def plotted(self) -> tuple[str, ...]:
        """Signals that `plot` shows by default."""
        raise NotImplementedError

    def plot(
        self,
        signals: str | Sequence[str] | None = None,
        path: str | Path | None = None,
        **options: Any,
    ) -> Any:
        """Plot signals over time and return the matplotlib figure; see `Recording.plot`.

        `signals` are names, patterns or groups ("q", "torque", "tool"); the robot's name may be
        omitted.  By default, the signals `plotted` are used.
        """
        recording = self.recording
        wanted = self.plotted if signals is None else signals
        names = [wanted] if isinstance(wanted, str) else list(wanted)
        known = [_full_name(recording, name) for name in names]
        return recording.plot(known, path, **options)

    def to_video(self, path: str | Path, **options: Any) -> Path:
        """Render an .mp4, .webm or .gif file without a browser; options as for `brazo.video`."""
        return self.recording.to_video(path, **options)

    def animate(self, **options: Any) -> Any:
        """Render a short video for display in a notebook; options as for `brazo.video`."""
        return self.recording.animate(**options)

    def to(self, path: str | Path) -> Path:
        """Write the recording to a file; the suffix sets the format, see `Recording.to`."""
        return self.recording.to(path)

    def to_csv(self, path: str | Path) -> Path:
        """Write CSV with two header rows, names and units."""
        return self.recording.to_csv(path)

    def to_parquet(self, path: str | Path) -> Path:
        """Write Parquet with units, events and description."""
        return self.recording.to_parquet(path)

    def to_xlsx(self, path: str | Path) -> Path:
        """Write an Excel workbook with data, charts and events."""
        return self.recording.to_xlsx(path)

    def to_mcap(self, path: str | Path) -> Path:
        """Write MCAP for robotics viewers."""
        return self.recording.to_mcap(path)


def _full_name(recording: Recording, name: str) -> str:
    """Return `name` if it matches a signal, otherwise `name` with the robot's name as prefix."""
    try:
        choose(recording.names, name)
        return name
    except BrazoError:
        return f"{recording.about.get('robot', '')}.{name}"
