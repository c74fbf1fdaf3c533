"""Replay panel: description, current time and events of an open recording.

The timeline (`panels/replay/replay.js`) is below the scene and visible even if this panel is not.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from brazo.errors import BrazoError
from brazo.lab.app.context import PanelContext
from brazo.lab.app.job_folders import JobFolders
from brazo.lab.app.panel import Panel, Values
from brazo.lab.app.replay import RecordingReplay
from brazo.lab.panels.common.html import button, buttons, escape, fixed, row, section, toggle
from brazo.recording.export_process import Export
from brazo.recording.source import Event, event_time

if TYPE_CHECKING:
    from brazo.lab.app.jobs import Job

RENDER = "Renders an MP4 file in the background, without this page's camera and overlays"
LISTED = 1000  # max number of listed events
CONTACTS = ("contact begin", "contact end")
NOT_LISTED = ("contact warning",)  # near contacts: too many to list
BAD = ("error", "diverged", "fault", "failed", "stop", "dropped")


class ReplayPanel(Panel):
    """Panel with the description and the events of the open recording."""

    id, title, icon, side, order = "replay", "Replay", "play", "left", 90
    used_for = ("replay",)
    rate = 10.0
    scripts = ("panels/replay/replay.js",)

    def __init__(self, context: PanelContext) -> None:
        super().__init__(context)
        self._contacts = False
        self._folders = JobFolders()  # of videos
        self.on("seek", self._seek, float)
        self.on("back", lambda: self._go_by(-1))
        self.on_setting("contacts", "_contacts", then=self._list_events)
        self.on("render", self._render)

    @property
    def _replay(self) -> RecordingReplay:
        sim = self.session.shown
        if not isinstance(sim, RecordingReplay):
            raise BrazoError("no recording is open")
        return sim

    def simulation_changed(self) -> None:
        replay = self._replay
        self._list_events()
        self.put({"span": [replay.start, replay.end]})
        self.follow()
        self.refresh()

    def html(self) -> str:
        replay = self._replay
        notes = "".join(f'<p class="caution">{escape(note)}</p>' for note in replay.notes)
        about = [
            ("Cell", ", ".join(filter(None, [replay.cell.name, _made_by(replay.about)]))),
            ("Duration", f"{fixed(replay.end - replay.start, 2)} s, {_rows(replay)}"),
            ("Robots", replay.about.get("robots") or ", ".join(replay.robots)),
        ]
        return section(
            "Recording",
            f'<p class="brazo-file" title="{escape(str(replay.path))}">{escape(replay.title)}</p>',
            notes,
            *(row(name, f'<span class="words">{escape(said)}</span>') for name, said in about),
            buttons(button("Render video", "render", icon="film", title=RENDER)),
            id="recording",
        ) + section(
            "Events",
            toggle("contacts", "Show contacts"),
            '<brazo-events name="events" at="now" event="seek" label="Events"></brazo-events>',
            id="events",
        )

    def values(self) -> Values:
        return {"contacts": self._contacts}

    def follow(self) -> None:
        # Sent with every frame: the timeline is visible even if this panel is not.
        self.put({"now": round(self._replay.time, 6), "rate": self._replay.player.speed})

    def _seek(self, t: float) -> None:
        self._replay.seek(t)

    def _go_by(self, rows: int) -> None:
        replay = self._replay
        replay.player.pause()
        replay.go_to(replay.row + rows)

    def _render(self) -> None:
        """Render the recording to MP4 in another process, then download it to the page."""
        replay = self._replay
        source = replay.exported
        name = f"{Path(replay.title).name.split('.')[0] or 'replay'}.mp4"

        def work(job: Job, folder: Path) -> Path:
            return Export(source, folder / "video.mp4").wait(progress=job.tell)

        self._folders.start(
            self.context.jobs, "Render video", work, lambda path: self.download(name, path)
        )

    def closed(self) -> None:
        self._folders.close()

    def _list_events(self) -> None:
        left_out = NOT_LISTED if self._contacts else (*NOT_LISTED, *CONTACTS)
        found = [e for e in self._replay.recorded if e.get("kind") not in left_out]
        self.put({"events": [_event_row(event) for event in found[:LISTED]]})


def _event_row(event: Event) -> list[Any]:
    kind = str(event.get("kind", ""))
    said = str(event.get("text", "")) or kind
    bad = any(word in kind for word in BAD) or "fail" in said
    return [round(event_time(event), 4), kind, said, bad]


def _rows(replay: RecordingReplay) -> str:
    if replay.stride == 1:
        return f"{replay.rows} rows"
    return f"{replay.rows} rows, one of {replay.stride} in the file"


def _made_by(about: Any) -> str:
    """Text with the brazo version and the random seed, if the recording contains them."""
    parts = [f"brazo {about['brazo']}" if about.get("brazo") else ""]
    if about.get("seed", "0") != "0":
        parts.append(f"seed {about['seed']}")
    return ", ".join(filter(None, parts))
