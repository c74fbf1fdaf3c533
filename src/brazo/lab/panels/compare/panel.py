"""Compare panel: compares runs and recordings in plots, in the scene and by metrics.

A trajectory, program or step response is added when it ends (`capture.py`).  The user adds
recordings from the folder of recordings or from a file.  In all runs, t = 0 is the start of the
motion.  The plots and the scene share a time cursor: the plots show the values at the cursor, and
the scene shows the robot of each run as a ghost (a transparent copy).  While a run is active, the
cursor follows its elapsed time.  In a replay, the cursor follows the replay time.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from brazo.control import controllers
from brazo.errors import BrazoError
from brazo.lab.app.context import PanelContext
from brazo.lab.app.panel import Panel, Values
from brazo.lab.app.replay import RecordingReplay
from brazo.lab.app.signal_groups import groups_of
from brazo.lab.panels.common.controller_names import titles
from brazo.lab.panels.common.html import fixed, note
from brazo.lab.panels.compare.capture import CapturedRun, RunCapture
from brazo.lab.panels.compare.files import needed, write_comparison
from brazo.lab.panels.compare.held_runs import HeldRun, HeldRuns, RunsState, read_run
from brazo.lab.panels.compare.layout import MODES, layout
from brazo.lab.panels.compare.plots import TimePlot, XYPlot
from brazo.lab.panels.compare.run_again import RunAgain
from brazo.lab.panels.compare.stored_runs import StoredRuns
from brazo.lab.scene.overlays.ghost import OPACITY
from brazo.lab.scene.robot_copy import RobotCopy
from brazo.operate.playing import require_free
from brazo.project.folder import COMPARE, Project
from brazo.project.history import Edit
from brazo.recording.colors import COLORS
from brazo.recording.comparison import TOOL_ERROR, ComparedRun, name_of_file
from brazo.recording.display import display_unit, number
from brazo.recording.metrics import ALL, TOOL, MotionMetrics
from brazo.recording.recording import Recording
from brazo.simulation.robot_control import IDEAL

if TYPE_CHECKING:
    from brazo.lab.app.jobs import Job
    from brazo.lab.app.runs import StoredRun
    from brazo.lab.server.transfers import Upload

MOST_GHOSTS = 6
LISTED = 100  # recordings to choose from, newest first
GROUP_TITLES = {TOOL_ERROR: "Tool error"}


class ComparePanel(Panel):
    """Panel that compares runs: overlaid plots, ghosts, metrics and export."""

    id, title, icon, side, order = "compare", "Compare", "compare", "right", 45
    used_for = ("cell", "replay")
    scripts = ("panels/common/plot.js", "panels/common/xy.js")

    def __init__(self, context: PanelContext) -> None:
        super().__init__(context)
        self.runs = HeldRuns()
        self._kept = StoredRuns(context.post, lambda why: self.say(why, "error"))
        self._capture = RunCapture(context, lambda run: context.post(lambda: self._captured(run)))
        self._plot, self._xy = TimePlot(self, "plot"), XYPlot(self, "xy")
        self._mode = "time"
        self._signal, self._x, self._y = "", "", ""
        self._part = TOOL
        self._drawn_robot = ""
        self._cursor = 0.0
        self._pointed = False  # whether the cursor was set, or a run is active: ghosts are shown
        self._moves = False  # the cursor moves with the simulation time
        self._with: object = None  # motion of the active run: ghosts of the same motion go along
        self._last_time = 0.0
        self._ghosts_on = True
        self._ghosts: dict[int, tuple[ComparedRun, RobotCopy]] = {}
        self._ghosts_of: tuple[Any, ...] = ()
        self._stored: dict[str, StoredRun] = {}
        self._stale = True
        self._files = count(1)
        self._folder: Path | None = None
        self._binding = 0
        self.on("rename", self._rename, int, str)
        self.on("remove", self._remove, int)
        self.on("clear", self._clear)
        self.on("keep", self._keep)
        self.on("run-again", self._run_again)
        self.on("run-with", self._run_with, str)
        self.on("add-recording", self._add_recording, str)
        self.on("save", self._save)
        self.on("robot", context.session.select, str)
        self.on_setting("mode", "_mode", MODES, then=self._renew)
        self.on("signal", self._choose_signal, str)
        self.on("x", self._choose_x, str)
        self.on("y", self._choose_y, str)
        self.on("part", self._choose_part, str)
        self.on("cursor", self._seek, float)
        self.on("play", self._play)
        self.on("pause", self._pause)
        self.on("ghosts", self._show_ghosts, bool)
        self.on("figure", self._figure, str)
        self.on("table", self._table)
        self.on_upload("open-file", self._open_file, ".parquet", ".csv")

    # ---- display ---------------------------------------------------------------------------------

    def simulation_changed(self) -> None:
        self._ghosts.clear()  # deleted with the scene
        self._ghosts_of = ()
        if self.session.replay is None:
            robots = self.sim.robots
            for run in self.runs:  # a run must not keep the simulation that is closed
                if run.playing and robots.get(run.playing.robot.name) is not run.playing.robot:
                    run.playing = None
        self._stale = True
        self._renew()

    def selection_changed(self) -> None:
        if self._drawn_robot != self._robot:
            self._renew()

    @property
    def _robot(self) -> str:
        """Name of the selected robot, whose runs are compared."""
        return self.session.selection.robot

    def html(self) -> str:
        robots = self.session.shown.robots
        if not robots:
            return note("There is no robot in this cell.")
        runs = {run.number: run.name for run in self.runs if run.compared(self._robot)}
        known = titles(robots[self._robot].arm.has_dynamics)
        return layout(list(robots), runs, known, self._mode, self.session.replay is not None)

    def values(self) -> Values:
        if self._stale:
            self._stale = False
            # On another thread: the first listing opens every file.
            threading.Thread(target=self._look_aside, name="brazo runs", daemon=True).start()
        found: Values = {
            "runs": [self._run_row(k, run) for k, run in enumerate(self.runs)],
            "any": bool(self._compared()),
            "any-held": bool(len(self.runs)),
            "may-run": self._last_played() is not None,
            "may-save": any(not run.saved for run in self.runs),
            "stored": [[name, _label(one)] for name, one in self._stored.items()],
            "robot": self._robot,
            "mode": self._mode,
            "signal": self._signal,
            "x": self._x,
            "y": self._y,
            "part": self._part,
            "cursor": fixed(self._cursor, 2),
            "cursor-moves": self._moves,
            "ghosts": self._ghosts_on,
        }
        shown = self._plot if self._mode == "time" else self._xy
        return found | shown.values(self._cursor)

    def _run_row(self, k: int, run: HeldRun) -> dict[str, Any]:
        compared = run.compared(self._robot)
        duration = "other robot" if compared is None else f"{compared.end(0.0):.1f} s"
        return {"id": run.number, "dot": "●", "name": run.name, "duration": duration}

    def _renew(self) -> None:
        """Rebuild fields, plot, table and ghosts after the runs or the selected robot changed."""
        self._drawn_robot = self._robot
        self.refresh()
        runs = self._compared()
        signals: dict[str, str] = {}
        for _, run in runs:
            signals = {**run.signals, **signals}
        self.put({"signals": _choices(signals), "parts": _parts(runs)})
        if self._signal not in signals:
            self._signal = _first(signals, TOOL_ERROR, "error.", "q.")
        if self._x not in signals or self._y not in signals:
            self._x, self._y = _plane(runs) or (_first(signals, "q."), _first(signals, "qd."))
        self._draw()

    def _draw(self) -> None:
        runs = self._compared()
        end = max((run.end() for _, run in runs), default=1.0)
        if self._mode == "time":
            self._plot.show(runs, self._signal, end)
        else:
            self._xy.show(runs, self._x, self._y, end)
        if self._part not in {one for one, _ in _parts(runs)}:
            self._part = TOOL
        self.put({"metrics": self._metric_rows()})
        self._place_ghosts()

    def _compared(self) -> list[tuple[int, ComparedRun]]:
        """Runs that contain the selected robot, as pairs of colour index and run."""
        found = ((k, run.compared(self._robot)) for k, run in enumerate(self.runs))
        return [(k, run) for k, run in found if run is not None]

    def _metric_rows(self) -> list[dict[str, Any]]:
        found = {run.number: _of_part(run.metrics(self._robot), self._part) for run in self.runs}
        found = {key: one for key, one in found.items() if one is not None}
        if not found:
            return []
        first = next(iter(found.values()))
        unit, factor = display_unit(first.unit)
        rows: list[tuple[str, str, Callable[[float], str]]] = [
            ("rms_error", f"RMS error, {unit}", lambda v: number(factor * v)),
            ("max_error", f"Max error, {unit}", lambda v: number(factor * v)),
            ("overshoot", "Overshoot, %", lambda v: _fixed(100.0 * v, 2)),
            ("settling_time", "Settling time, s", lambda v: _fixed(v, 3)),
            ("energy", "Energy, J", number),
            ("peak_torque", f"Peak torque, {first.torque_unit}", number),
        ]
        return [
            {"id": key, "name": label}
            | {f"run{k}": written(getattr(one, key)) for k, one in found.items()}
            for key, label, written in rows
            if not (key == "peak_torque" and self._part == TOOL)
        ]

    # ---- runs ------------------------------------------------------------------------------------

    def _captured(self, run: CapturedRun) -> None:
        held = self.runs.add(
            run.name, run.recording, began=run.began, motion=run.motion, playing=run.playing
        )
        self._cursor, self._pointed, self._with = 0.0, False, None
        self._renew()
        self.say(f"Run added to Compare: {held.name}")

    def _edit(self, label: str, change: Callable[[], None]) -> None:
        """Call `change`, which edits the runs, as an undoable edit.

        Undo keeps runs that were added after the edit.
        """

        def go(old: RunsState, new: RunsState) -> None:
            known = {run for run, _, _ in old}
            added = [one for one in self.runs.state if one[0] not in known]
            self.runs.restore((*new, *added))
            self._renew()

        before = self.runs.state
        change()
        after = self.runs.state
        if after != before:
            edit = Edit(label, lambda: go(before, after), lambda: go(after, before))
            self.context.history.add(edit)
        self._renew()

    def _rename(self, number_: int, name: str) -> None:
        self._edit(f"rename run {self.runs[number_].name}", lambda: self.runs.rename(number_, name))

    def _remove(self, number_: int) -> None:
        self._edit(f"remove run {self.runs[number_].name}", lambda: self.runs.remove(number_))

    def _clear(self) -> None:
        self._pointed = self._moves = False
        self._edit("remove all runs", self.runs.clear)

    def kept(self) -> Mapping[str, str]:
        project = self.context.saving.project
        return {} if project is None else {COMPARE: self._kept.text(project, self.runs)}

    def restore(self, project: Project) -> None:
        again = self._kept.folder == project.folder
        if again and len(self.runs) and project.text(COMPARE):
            return  # after a replay, or another controller: they are still here
        self.runs.clear()
        self._renew()

        def done(found: list[HeldRun]) -> None:
            for run in found:
                run.number = self.runs.next_number()
            self.runs.restore((*((r, r.name, r.named) for r in found), *self.runs.state))
            self._renew()

        self._kept.load(project, done)

    def _keep(self) -> None:
        replay = self.session.replay
        if replay is not None:
            self._keep_replayed(replay)
            return
        run = self._capture.last_motion(self._robot)
        same = next((one for one in self.runs if abs(one.began - run.began) < 0.1), None)
        if same is not None:
            raise BrazoError(f"this motion is already in the list: {same.name}")
        self._captured(run)

    def _keep_replayed(self, replay: RecordingReplay) -> None:
        path = replay.path
        if not path.is_file():
            raise BrazoError("this recording is not in a file: save it first")
        self._read(path, name_of_file(path))

    def _add_recording(self, name: str) -> None:
        # Only recordings of the list: a page must not open arbitrary files.
        stored = self._stored.get(name)
        if stored is None or not stored.path.exists():
            self._stale = True
            raise BrazoError("this recording no longer exists: choose another one")
        self._read(stored.path, name_of_file(stored.path))

    def _open_file(self, given: Upload) -> None:
        path = self._target(given.suffix)
        path.write_bytes(given.content)
        self._read(path, name_of_file(given.name), lambda: path.unlink(missing_ok=True))

    def _read(self, path: Path, name: str, after: Callable[[], None] | None = None) -> None:
        robot = self._robot

        def work(_: Job) -> tuple[HeldRun, Recording]:
            try:
                recording = read_run(path)
            except BrazoError as error:
                raise BrazoError(str(error).replace(str(path), name)) from None
            finally:
                if after is not None:
                    after()
            tried = HeldRun(0, name, recording)
            if tried.compared(robot) is None:
                has = f"no signals of {robot}" if len(recording) > 1 else "fewer than two rows"
                raise BrazoError(f"{name}: the recording has {has}: choose another one")
            tried.metrics(robot)  # may take a while
            return tried, recording

        def done(found: tuple[HeldRun, Recording]) -> None:
            tried, recording = found
            held = self.runs.add(name, recording, saved=True)
            held._metrics.update(tried._metrics)
            self._renew()
            self.context.post(lambda: self.context.jobs.cancel(job.number))

        job = self.context.jobs.start(f"Read {name}", work, done)

    def _save(self) -> None:
        unsaved = [run for run in self.runs if not run.saved]
        runs = self.context.runs
        cell = self.session.shown.cell.name
        paths = {}
        for run in unsaved:
            path = runs.new(f"{cell}-{run.name}")
            run.recording.to_parquet(path)
            paths[run.number] = path
            runs.add(path)
            run.saved = True
        self._stale = True
        self.context.each_panel(lambda panel: panel.recordings_changed())
        self.say(f"Saved {len(paths)} {'run' if len(paths) == 1 else 'runs'} in {runs.folder}")

    # ---- run again -------------------------------------------------------------------------------

    def _last_played(self) -> HeldRun | None:
        """Last run of a trajectory in the current simulation; None if there is none."""
        if self.session.replay is not None:
            return None
        robots = self.sim.robots
        for run in reversed(list(self.runs)):
            if run.playing is not None and robots.get(run.playing.robot.name) is run.playing.robot:
                return run
        return None

    def _run_again(self) -> None:
        run = self._last_played()
        if run is None or run.playing is None:
            raise BrazoError("no trajectory to repeat: run one in the Trajectory panel")
        self.session.require_running()
        with self.sim.lock:
            require_free(self.sim, run.playing.robot)
            self.sim.tasks.add(RunAgain(run.playing, lambda why: None))

    def _run_with(self, name: str) -> None:
        run = self._last_played()
        if run is None or run.playing is None:
            raise BrazoError("no trajectory to repeat: run one in the Trajectory panel")
        self.session.require_running()
        sim, robot = self.sim, run.playing.robot
        require_free(sim, robot)
        if name == robot.controller_name:
            self._run_again()
            return
        if name == IDEAL:
            robot.controller = IDEAL
            self._run_again()
            return
        if name not in controllers():
            raise BrazoError(f"no controller named '{name}': choose one from the list")
        controller, arm = controllers()[name](), robot.arm
        if not arm.has_dynamics:
            raise BrazoError(
                f"{robot.name} has no masses, so {name} cannot move it: choose Ideal positioning"
            )
        self._binding += 1
        binding = self._binding

        def done(_: Any) -> None:
            self.context.post(lambda: self.context.jobs.cancel(job.number))
            if binding == self._binding and self.session.shown is sim and robot.arm is arm:
                require_free(sim, robot)
                robot.controller = controller
                self._run_again()

        job = self.context.jobs.start(
            f"Compile {controller.name} for {robot.name}",
            lambda _: controller.bind(arm, sim.dt),
            done,
        )

    # ---- choices ---------------------------------------------------------------------------------

    def _choose_signal(self, signal: str) -> None:
        self._signal = signal
        self._draw()

    def _choose_x(self, signal: str) -> None:
        self._x = signal
        self._draw()

    def _choose_y(self, signal: str) -> None:
        self._y = signal
        self._draw()

    def _choose_part(self, part: str) -> None:
        self._part = part
        self.put({"metrics": self._metric_rows()})

    # ---- cursor and ghosts -----------------------------------------------------------------------

    def follow(self) -> None:
        replay = self.session.replay
        if replay is not None:
            if self.runs:
                self._cursor = max(replay.time - self._replay_start(replay), 0.0)
                self._pointed = True
                self._place_ghosts()
            return
        active = self._capture.elapsed is not None
        self._capture.follow()
        elapsed, now = self._capture.elapsed, self.sim.time
        if elapsed is not None:
            if now != self._last_time:  # else paused: the user may move the cursor
                self._cursor, self._pointed, self._moves = elapsed, True, False
                self._with = self._capture.motion
        elif active:
            self._pointed, self._with = False, None
        elif self._moves:
            end = max((run.end() for _, run in self._compared()), default=0.0)
            self._cursor += max(now - self._last_time, 0.0)
            if self._cursor > end:
                self._cursor = 0.0
        self._last_time = now
        self._place_ghosts()

    def _replay_start(self, replay: RecordingReplay) -> float:
        """Time (s) in the replayed recording at which the selected robot starts to move."""
        key = (replay, self._robot)
        if getattr(self, "_start_of", None) != key:
            robot = replay.robots[self._robot]
            names = [f"{self._robot}.q_ref.{joint}" for joint in robot.arm.joint_names]
            if not all(name in replay.columns for name in names):
                names = [f"{self._robot}.q.{joint}" for joint in robot.arm.joint_names]
            columns = dict(
                zip(
                    ["t", *names],
                    ((c, "") for c in replay.table([replay.time_name, *names]).T),
                    strict=True,
                )
            )
            columns |= {n.replace(".q_ref.", ".q."): c for n, c in list(columns.items())[1:]}
            run = HeldRun(0, "replay", Recording(columns)).compared(self._robot)
            self._start_of, self._start = key, 0.0 if run is None else run.start
        return self._start

    def _seek(self, t: float) -> None:
        if self.session.replay is not None:
            self.session.replay.seek(self._replay_start(self.session.replay) + t)
        self._cursor, self._pointed, self._moves = max(t, 0.0), True, False
        self._with = None
        self._place_ghosts()

    def _play(self) -> None:
        if self.session.replay is not None:
            self.session.replay.player.play()
            return
        self.session.require_running()
        self._with, self._moves, self._pointed = None, True, True
        self._last_time = self.sim.time

    def _pause(self) -> None:
        self._moves = False

    def reset(self) -> None:
        self._capture.drop()

    def stopped(self) -> None:
        self._binding += 1  # a controller that is being compiled starts nothing

    def _show_ghosts(self, on: bool) -> None:
        self._ghosts_on = on
        self._place_ghosts()

    def _place_ghosts(self) -> None:
        shown = self._compared() if self._ghosts_on and self._pointed else []
        if self._with is not None:
            same = {k for k, run in enumerate(self.runs) if run.motion == self._with}
            shown = [(k, run) for k, run in shown if k in same]
        shown = shown[-MOST_GHOSTS:]
        robot = self.session.shown.robots.get(self._robot)
        if robot is not None:
            shown = [(k, run) for k, run in shown if run.positions.shape[1] == robot.n]
        wanted = (self._robot, tuple((k, id(run)) for k, run in shown))
        if wanted != self._ghosts_of:
            self._ghosts_of = wanted
            for _, ghost in self._ghosts.values():
                ghost.remove()
            self._ghosts = {}
            if robot is not None:
                scene = self.context.scene
                for k, run in shown:
                    node = f"{scene.root}/run-{k}"
                    self._ghosts[k] = run, RobotCopy(scene, node, robot.arm, _rgb(k), OPACITY)
        if robot is not None:
            for run, ghost in self._ghosts.values():
                ghost.place(robot.base, run.positions_at(self._cursor))

    # ---- files -----------------------------------------------------------------------------------

    def _figure(self, kind: str) -> None:
        if kind in ("svg", "png", "pdf"):
            self._export(f".{kind}", "Draw the comparison")

    def _table(self) -> None:
        self._export(".csv", "Write the table")

    def _export(self, suffix: str, title: str) -> None:
        runs = {run.name: needed(run.recording, run.robot.name) for _, run in self._compared()}
        if not runs:
            raise BrazoError("no runs to compare: run a trajectory or add a recording")
        target = self._target(suffix)
        name = f"{self.session.shown.cell.name}-comparison{suffix}"

        def done(_: Any) -> None:
            self.download(name, target)
            target.unlink(missing_ok=True)
            self.context.post(lambda: self.context.jobs.cancel(job.number))

        job = self.context.jobs.start_process(
            title, write_comparison, (runs, self._robot, str(target)), done
        )

    def _target(self, suffix: str) -> Path:
        """Path for a new temporary file with this suffix; the name contains no user input."""
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="brazo-lab-"))
        return self._folder / f"compare-{next(self._files)}{suffix}"

    def recordings_changed(self) -> None:
        self._stale = True

    def _look_aside(self) -> None:
        try:
            found = self.context.runs.list()
        except (BrazoError, OSError):
            found = []  # the Data panel reports why
        usable = [one for one in found if not one.written and not one.problem and one.rows > 1]
        self.context.post(lambda: self._list({one.name: one for one in usable[:LISTED]}))

    def _list(self, stored: dict[str, StoredRun]) -> None:
        self._stored = stored

    def closed(self) -> None:
        self._kept.close()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)


def _choices(signals: dict[str, str]) -> dict[str, list[list[str]]]:
    """Options of a drop-down list of signals: pairs of name and label, by group title."""
    groups = groups_of(["t", *(f"robot.{name}" for name in signals)], ["robot"])
    found = {}
    for group in groups.values():
        names = [name.removeprefix("robot.") for name in group.signals]
        title = GROUP_TITLES.get(group.title, group.title)
        found[title] = [[name, _signal_label(name, title)] for name in names]
    first = [GROUP_TITLES[TOOL_ERROR], "Tracking error", "Position", "Torque", "Tool position"]
    order = [title for title in first if title in found]
    return {title: found[title] for title in [*order, *(t for t in found if t not in order)]}


def _signal_label(name: str, title: str) -> str:
    if name == TOOL_ERROR:
        return "Tool: tracking error"
    return f"{title}: {name.partition('.')[2].replace('.', ' ')}"


def _parts(runs: list[tuple[int, ComparedRun]]) -> list[list[str]]:
    joints = dict.fromkeys(joint for _, run in runs for joint in run.robot.joints)
    return [[TOOL, "Tool and total"], *([joint, joint] for joint in joints)]


def _of_part(metrics: list[MotionMetrics], part: str) -> MotionMetrics | None:
    """Metrics of `part`, which is a joint or the tool; None if there are none.

    For the tool, the energy is the sum over all joints, and the peak torque is omitted.
    """
    found = next((one for one in metrics if one.part == part), None)
    if found is None or part != TOOL:
        return found
    total = next(one for one in metrics if one.part == ALL)
    return MotionMetrics(
        found.robot, TOOL, found.unit, "", found.rms_error, found.max_error, found.overshoot,
        found.settling_time, total.energy,
    )  # fmt: skip


def _fixed(value: float, digits: int) -> str:
    return "–" if np.isnan(value) else fixed(value, digits)


def _first(signals: dict[str, str], *wanted: str) -> str:
    """First signal that starts with one of the prefixes `wanted`, tried in order; '' if none."""
    return next((n for want in wanted for n in signals if n == want or n.startswith(want)), "")


def _plane(runs: list[tuple[int, ComparedRun]]) -> tuple[str, str] | None:
    """The two tool coordinates with the largest range, e.g. `("tool.x", "tool.z")`.

    Uses the first run that has the tool position; None if there is none.
    """
    for _, run in runs:
        names = [f"tool.{axis}" for axis in "xyz"]
        if all(name in run.signals for name in names):
            extent = {name: float(np.ptp(run.values(name))) for name in names}
            x, y = sorted(sorted(names, key=lambda name: extent[name])[1:])
            return x, y
    return None


def _label(run: StoredRun) -> str:
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(run.started))
    return f"{when}, {run.cell or run.name}, {run.seconds:.1f} s"


def _rgb(k: int) -> tuple[int, int, int]:
    color = COLORS[k % len(COLORS)]
    return int(color[1:3], 16), int(color[3:5], 16), int(color[5:7], 16)
