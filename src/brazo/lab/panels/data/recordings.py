"""Recordings section of the data panel: record, list, open, export and delete.

While recording, every simulation step is written to a file in the runs folder
(`brazo.lab.app.runs`).  Exports of this file run in separate processes, so that they do not delay
the simulation loop.

If a write fails, for example because the disk is full, the simulation pauses and the recording
ends.  The pages show the reason.  The recorded part stays in the list, and a new recording can be
started.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
import time
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brazo.errors import BrazoError
from brazo.lab.app.panel import Panel, Values
from brazo.lab.app.replay import RecordingReplay
from brazo.lab.app.runs import LIMIT, StoredRun, in_bytes
from brazo.lab.app.unsaved import Files, Work
from brazo.lab.panels.common.html import (
    button,
    buttons,
    caution,
    column,
    note,
    row,
    section,
    table,
    text,
)
from brazo.lab.panels.data.report import write_report_of
from brazo.recording.part_file import PART, part_of

if TYPE_CHECKING:
    from brazo.lab.app.jobs import Job
    from brazo.simulation import Simulation
    from brazo.simulation.recorder import RunRecorder
    from brazo.simulation.run_events import Event, Listening

FORMATS = {"csv": "CSV", "xlsx": "XLSX", "parquet": "Parquet", "mcap": "MCAP"}
SCENES = {"html": "Export 3D replay", "mp4": "Render video"}  # formats that show the cell
LISTED = 200  # max number of listed recordings, newest first


class Recordings:
    """Recordings section: starts, lists, exports and deletes recordings.

    Use on the lab's thread only.
    """

    def __init__(self, panel: Panel) -> None:
        self._panel, self._context = panel, panel.context
        self._exports = count(1)
        self.folder: Path | None = None  # of exports; deleted when the lab closes
        self._sim: Simulation | None = None  # being recorded
        self._recorder: RunRecorder | None = None
        self._listening: Listening | None = None
        self._path = Path("none.parquet")  # of the current or last recording
        self._since = 0.0
        self._restarts = False  # a new recording starts with the next reset
        self._runs: dict[str, StoredRun] = {}  # by name, newest first
        self._stale = True  # list the folder again when the panel is next in view
        self._chosen = ""
        self._rows: list[dict[str, Any]] | None = None  # of the table; None: outdated
        self._problem = ""  # why the last recording failed, or the folder is not usable
        panel.on("record", self._record)
        panel.on("record-stop", self._stop, still=True)
        panel.on("choose-run", self._choose, str)
        panel.on("open-run", self._open)
        panel.on("delete-run", self._delete)
        panel.on("export", self._export, str)

    # ---- display -----------------------------------------------------------------------------

    def html(self, replayed: bool) -> str:
        """HTML of the section.  If `replayed`, the record buttons are omitted."""
        record = (
            row("Recorded", text("recorded", wide=True)),
            buttons(
                button("Record", "record", look="primary", enabled="may-record"),
                button("Stop", "record-stop", icon="stop", enabled="recording"),
            ),
            note("Records every signal at every simulation step, and all events."),
        )
        return section(
            "Recordings",
            *(() if replayed else record),
            caution("recording-problem"),
            table(
                "runs",
                [
                    column("when", "Date", event="choose-run", kind="choice"),
                    column("cell", "Cell"),
                    column("duration", "Duration", digits=2),
                    column("size", "Size", digits=3),
                ],
                label="Recordings",
                empty="No recordings yet.",
            ),
            buttons(
                button("Open replay", "open-run", icon="play", enabled="may-export"),
                button("Delete…", "delete-run", enabled="may-export"),
            ),
            buttons(
                *(
                    button(name, "export", kind, enabled="may-export")
                    for kind, name in FORMATS.items()
                )
            ),
            buttons(
                button("Report", "export", "report", icon="file", enabled="may-export"),
                button("3D replay", "export", "html", icon="file", enabled="may-export"),
                button("Video", "export", "mp4", icon="film", enabled="may-export"),
            ),
            f'<p class="brazo-note">{text("runs-about", wide=True)}</p>',
            id="recording",
        )

    def values(self) -> Values:
        """Page values of the section, as a part of the result of `Panel.values`."""
        if self._stale:
            self._stale = False
            # On another thread: the first listing opens every file, which can take a second.
            threading.Thread(target=self._look_aside, name="brazo runs", daemon=True).start()
        sim, run = self._context.session.shown, self._runs.get(self._chosen)
        if self._sim is not None:
            seconds = max(self._sim.time - self._since, 0.0)
            recorded = f"{seconds:.2f} s, {round(seconds / sim.dt)} steps"
        else:
            last = self._runs.get(part_of(self._path).name)
            recorded = "nothing" if last is None else f"{last.seconds:.2f} s, {last.rows} steps"
        runs = list(self._runs.values())
        if self._rows is None:
            self._rows = [self._row(one) for one in runs[:LISTED]]
        size = sum(one.size for one in runs)
        named = f"{len(runs)} {'recording' if len(runs) == 1 else 'recordings'}"
        more = f"; the newest {LISTED} are listed" if len(runs) > LISTED else ""
        return {
            "recording": self._sim is not None,
            "may-record": not sim.recording,
            "may-export": run is not None and not run.written and not run.problem,
            "recorded": recorded,
            "recording-problem": self._problem or self._over_limit(size),
            "runs": self._rows,
            "runs-about": f"{named}, {in_bytes(size)}{more}. Folder: {self._folder_name()}",
        }

    def _row(self, run: StoredRun) -> dict[str, Any]:
        duration = f"{run.seconds:.2f} s"
        return {
            "id": run.name,
            "title": run.name,
            "when": _date(run.started),
            "cell": run.cell or run.name,
            "duration": "recording" if run.written else "unreadable" if run.problem else duration,
            "size": "" if run.written else in_bytes(run.size),
            "mark": run.name == self._chosen,
        }

    def _over_limit(self, size: int) -> str:
        if size <= LIMIT:
            return ""
        return (
            f"Recordings use {in_bytes(size)}, more than {in_bytes(LIMIT)}. Delete recordings that "
            "you no longer need; none are deleted automatically."
        )

    def _folder_name(self) -> str:
        try:
            return str(self._context.runs.folder)
        except BrazoError as error:
            return str(error)

    # ---- recording ---------------------------------------------------------------------------

    def simulation_changed(self) -> None:
        """Stop the recording if another cell was opened or the robots or bodies changed."""
        if self._sim is not None and self._sim is not self._context.session.shown and self._stop():
            self._panel.say(
                "The recording ended, because its cell was closed. The recording is kept.", "warn"
            )
        elif self._is_over() and self._end():
            what = "robots or bodies of the cell changed"
            self._panel.say(f"The recording ended, because {what}. The recording is kept.", "warn")
        self._stale = True

    def _is_over(self) -> bool:
        """Whether the simulation itself has ended the recording."""
        return self._sim is not None and self._sim.recording.recorder is not self._recorder

    def changed(self) -> None:
        """Mark the list as outdated, after another panel wrote to the runs folder."""
        self._stale = True

    def restart_with_run(self) -> None:
        """Request a new recording at the next reset, if a recording is in progress now."""
        self._restarts = self._sim is not None

    def reset(self) -> None:
        """Add the recording to the list after a reset of the simulation has ended it.

        If `restart_with_run` was called before the reset, start a new recording.
        """
        restarts, self._restarts = self._restarts, False
        kept = self._end()
        if restarts:
            self._record()
            before = "The recording before the reset is kept. " if kept else ""
            self._panel.say(f"{before}A new recording starts with the run.")
        elif kept:
            self._panel.say("The recording ended with the reset and is kept.", "warn")

    def close(self) -> None:
        """Stop recording and delete temporary files; called when the lab closes."""
        self._stop()
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)

    def _record(self) -> None:
        sim, runs = self._context.session.sim, self._context.runs
        path = runs.new(sim.cell.name)
        sim.recording.start(path)
        runs.add(path)
        self._sim, self._recorder, self._path, self._since = (
            sim,
            sim.recording.recorder,
            path,
            sim.time,
        )
        self._listening = sim.on_event(self._heard)
        self._problem = ""
        self._look()

    def _stop(self) -> bool:
        """Stop the recording in progress, if any.  Return whether it contains samples."""
        sim = self._sim
        if sim is not None and sim.recording.recorder is self._recorder:
            # The part file is not converted, so that the simulation does not wait for that.
            sim.recording.abandon()
        return self._end()

    def _end(self) -> bool:
        """Add the finished recording to the list.  Return whether it contains samples.

        A recording without samples is deleted.
        """
        sim, recorder, self._sim, self._recorder = self._sim, self._recorder, None, None
        if sim is None or recorder is None:
            return False
        if self._listening is not None:
            self._listening.cancel()
        kept = not self._context.runs.drop_empty(self._path)
        self._look()
        if kept:
            self._mark(part_of(self._path).name)
        if recorder.failure:
            self._say_failure(recorder.reason)
        return kept

    def _heard(self, event: Event) -> None:  # called on any thread, holding the simulation's lock
        if event.kind == "recording":
            self._context.post(self._check)

    def _check(self) -> None:
        if self._recorder is not None and self._recorder.failure:
            self._stop()

    def _say_failure(self, reason: str) -> None:
        run = self._runs.get(part_of(self._path).name)
        kept = (
            "Nothing was recorded."
            if run is None
            else f"The first {run.seconds:.2f} s are kept and can be exported."
        )
        self._problem = (
            f"Recording stopped, simulation paused: {reason}. {kept} Free disk space, then press "
            "Record to start a new recording; Play continues without recording."
        )
        self._context.runs.problems.append(f"a recording is not complete: {reason}")
        self._panel.say(self._problem, "error")

    # ---- saved recordings --------------------------------------------------------------------

    def _look(self) -> None:
        """Update the list of recordings from the runs folder.

        Only new and changed files are opened.
        """
        runs, problem = self._listed()
        self._runs = {run.name: run for run in runs}
        self._rows = None
        self._problem = problem or self._problem

    def _look_aside(self) -> None:
        self._listed()
        self._context.post(self._look)  # lists again: the folder may have changed

    def _listed(self) -> tuple[list[StoredRun], str]:
        try:
            return self._context.runs.list(), ""
        except BrazoError as error:
            return [], f"Saved recordings cannot be listed: {error}"
        except OSError as error:
            return [], f"Saved recordings cannot be listed: {error.strerror}: {error.filename}"

    def _choose(self, name: str) -> None:
        if name in self._runs:
            self._mark(name)
            if problem := self._runs[name].problem:
                raise BrazoError(problem)

    def _mark(self, name: str) -> None:
        self._chosen, self._rows = name, None

    def _chosen_run(self) -> StoredRun:
        """Return the selected recording.

        Raises `BrazoError` if no recording is selected, or if the recording is unreadable, missing
        or still being recorded.  A page can select only recordings in the list, not other files.
        """
        run = self._runs.get(self._chosen)
        if run is None:
            raise BrazoError("no recording selected: select one in the list, or record one first")
        if run.problem:
            raise BrazoError(run.problem)
        if run.written or not run.path.exists():
            self._look()
            raise BrazoError(
                f"{run.name} is still being recorded: stop the recording first"
                if run.written
                else f"{run.name} no longer exists"
            )
        return run

    def _open(self) -> None:
        run, context = self._chosen_run(), self._context
        context.jobs.start(
            "Open replay", lambda job: context.open(run.path, job.settle, run.name), lambda _: None
        )

    def _delete(self) -> None:
        run, sim = self._chosen_run(), self._context.session.shown
        if isinstance(sim, RecordingReplay) and sim.path == run.path:
            raise BrazoError(f"{run.name} is open as a replay: open another recording first")

        def files(job: Job) -> Files:
            target = self._target(".parquet")
            _convert(job, run.path, target)
            content = target.read_bytes()
            target.unlink()
            return {f"{_stem(run)}.parquet": content}

        def delete() -> None:
            self._context.runs.delete(run)
            self._mark("")
            self._look()

        self._context.unsaved.ask(
            f"This deletes the recording in {run.path.parent}:",
            [Work(run.title, files)],
            delete,
            title="Delete recording",
            save="Save and delete",
            discard="Delete",
        )

    def _export(self, kind: str) -> None:
        run = self._chosen_run()
        source, stem, jobs = run.path, _stem(run), self._context.jobs
        if kind == "report":
            target = self._target(".html")
            jobs.start_process(
                "Report",
                write_report_of,
                (str(source), str(target)),
                lambda _: self._hand_over(target, f"{stem}-report.html"),
            )
        elif kind in (*FORMATS, *SCENES):
            target = self._target(f".{kind}")
            jobs.start(
                SCENES.get(kind) or f"Export {FORMATS[kind]}",
                lambda job: _convert(job, source, target),
                lambda _: self._hand_over(target, f"{stem}.{kind}"),
            )

    def _target(self, suffix: str) -> Path:
        """Path for a new temporary file with this suffix; the name contains no user input."""
        if self.folder is None:
            self.folder = Path(tempfile.mkdtemp(prefix="brazo-lab-"))
        return self.folder / f"export-{next(self._exports)}{suffix}"

    def _hand_over(self, target: Path, name: str) -> None:
        self._panel.download(name, target)
        target.unlink(missing_ok=True)


def _date(started: float) -> str:
    """Format a start time (s since the epoch) as local time.

    The text is the time of day if the date is today; day, month and time if the date is in the
    current year; otherwise the date.
    """
    at, now = time.localtime(started), time.localtime()
    if at[:3] == now[:3]:
        return time.strftime("%H:%M:%S", at)
    if at.tm_year == now.tm_year:
        return f"{at.tm_mday} {time.strftime('%b %H:%M', at)}"
    return time.strftime("%Y-%m-%d", at)


def _stem(run: StoredRun) -> str:
    return run.name.removesuffix(PART).removesuffix(".parquet")


def _convert(job: Job, source: Path, target: Path) -> None:
    from brazo.recording.export_process import Export

    Export(source, target).wait(progress=job.tell)
