"""`RecordingReplay`: shows a recording through the interface of a simulation.

A step advances by one row.  Joints, grippers and free bodies are placed as recorded; the engine
computes only the poses of the links and the contacts.  Forces are not computed: contacts have zero
force, and the recorded forces are in the signals.  If a recording has more than `MOST_ROWS` rows,
only every second, third, … row is shown.

Positions and references are read on opening (8 bytes per value and row).  Other signals are read on
first use and cached, so that only the signals in use take up memory.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from brazo.control import Reference
from brazo.errors import BrazoError
from brazo.lab.app.signal_groups import is_of_robot
from brazo.lab.scene.shown import ShownRobot
from brazo.recording.recording import Recording
from brazo.recording.source import ColumnSource, event_time, memory_source, open_source
from brazo.robot import Robot
from brazo.simulation.cell_arm import arm_of
from brazo.simulation.player import Player
from brazo.simulation.recorded_cell import recorded_cell
from brazo.simulation.step_lock import StepLock
from brazo.world import Cell, World, WorldRobot
from brazo.world.replay_world import ReplayWorld

MOST_ROWS = 1_000_000
NEAR = 1e-5  # m, max deviation of the tool from its recorded position before a note is added


class ReplayRobot(ShownRobot):
    """A robot of a replay, in the state of the current row; its drive torques are zero."""

    def __init__(self, name: str, arm: Robot, world: WorldRobot) -> None:
        self.name, self.arm, self.world = name, arm, world
        self.q_ref = world.q.copy()

    @property
    def reference(self) -> Reference:
        """Recorded reference position, with zero velocity and acceleration.

        If the reference was not recorded, it is the start position in the cell.
        """
        rest = np.zeros(self.n)
        return Reference(self.q_ref.copy(), rest, rest.copy())


class _ReplayRobots(dict[str, ReplayRobot]):
    def __missing__(self, name: str) -> ReplayRobot:
        known = ", ".join(self) or "none"
        raise BrazoError(f"no robot named '{name}' in this cell; robots: {known}")


class RecordingReplay:
    """Replay of a recording; `recording` is the path of a file or a `Recording`.

    `cell` replaces the recorded cell.  `notes` lists possible differences from the recorded run,
    such as a missing or changed cell file, or a robot with other dimensions.
    """

    recording = None  # a replay is not recorded

    def __init__(self, recording: str | Path | Recording, cell: Any = None) -> None:
        source, self.path = _source_of(recording)
        self._given = recording if isinstance(recording, Recording) else None
        self.title = self.path.name
        if source.rows < 2:
            raise BrazoError(
                f"{self.path}: a replay needs at least two rows; the recording has {source.rows}"
            )
        shown, notes = recorded_cell(source, self.path, cell)
        self.notes = [*source.notes, *notes]
        self.lock = StepLock()
        self.cell = shown
        self._world = World(shown)
        given = {robot.name: robot for robot in shown.robots}
        self.robots: dict[str, ReplayRobot] = _ReplayRobots(
            (name, ReplayRobot(name, arm_of(given[name], shown.gravity), robot))
            for name, robot in self._world.robots.items()
        )
        self.player = _Player(self)
        self._row = 0
        self.about: Mapping[str, str] = source.about
        self._source = source
        self._stride = -(-source.rows // MOST_ROWS)
        self._file_names = _file_names(source, shown)
        #: Names and units of all signals, time first; omitted robot names are added.
        self.columns = {name: source.units[at] for name, at in self._file_names.items()}
        self.recorded = sorted(source.events, key=event_time)  # events in order of time
        self._known: dict[str, np.ndarray] = {}
        self._ranges: dict[str, tuple[float, float]] = {}
        self._guard = threading.Lock()  # protects `_known`, which is filled from several threads
        t = self._read([source.time])[0]
        # Where the recorded time jumps backwards, it continues from its last value.
        self._t = t[0] + np.concatenate([[0.0], np.cumsum(np.maximum(np.diff(t), 0.0))])
        self._known[self.time_name] = self._t
        self._dt = max(float(np.median(np.diff(self._t))), 1e-6)
        self._shown_world = ReplayWorld(self._world, set(source.units), self.path)
        self._places = np.column_stack(self._read(self._shown_world.names))
        self._references = self._find_references()
        self._placed = -1
        self._check_robots()

    @property
    def world(self) -> World:
        """The world of the physics engine, in the state of the current row."""
        with self.lock:
            self._settle()
        return self._world

    @property
    def exported(self) -> Path | Recording:
        """The recording to export: the path of its file, or the `Recording` that was given."""
        if self._given is None:
            return self.path
        return self._given

    # ---- time ------------------------------------------------------------------------------

    @property
    def time(self) -> float:
        """Recorded time of the current row, s."""
        return float(self._t[self._row])

    @property
    def dt(self) -> float:
        """Median time between rows, s."""
        return self._dt

    @property
    def start(self) -> float:
        """Time of the first row, s."""
        return float(self._t[0])

    @property
    def end(self) -> float:
        """Time of the last row, s."""
        return float(self._t[-1])

    @property
    def row(self) -> int:
        """Index of the current row."""
        return self._row

    @property
    def rows(self) -> int:
        """Number of rows shown."""
        return len(self._t)

    @property
    def stride(self) -> int:
        """Number of recorded rows per row shown; 1 if all rows are shown."""
        return self._stride

    @property
    def moving(self) -> bool:
        """Always False: no motion is executed in a replay."""
        return False

    def seek(self, t: float) -> None:
        """Go to the row nearest to time t (s)."""
        after = int(np.searchsorted(self._t, t).clip(1, self.rows - 1))
        near = after - (t - self._t[after - 1] < self._t[after] - t)
        self.go_to(int(near))

    def go_to(self, row: int) -> None:
        """Go to the row with index `row`, limited to the valid range."""
        with self.lock:
            self._row = min(max(row, 0), self.rows - 1)
        self.player.speed = self.player.speed  # restarts the schedule of the player at this row

    def step(self, n: int = 1) -> None:
        """Advance by `n` rows."""
        for _ in range(n):
            with self.lock:
                self.step_locked()

    def step_locked(self, most: int = 1) -> int:
        """Advance by one row, and pause the player at the last row.

        The caller must hold the lock.  Returns the number of steps, which is always 1; `most` is
        ignored.
        """
        if self._row + 1 < self.rows:
            self._row += 1
        if self._row + 1 >= self.rows:
            self.player.pause()
        return 1

    def reset(self) -> None:
        """Return to the first row."""
        self.go_to(0)

    def log(self, kind: str, text: str) -> None:
        """Do nothing: events are not added to a replay."""

    def _settle(self) -> None:
        """Set the world to the state of the current row; the caller must hold the lock."""
        row = self._row
        if row == self._placed:
            return
        world = self._world
        self._shown_world.place(self._places[row])
        world.mj_data.time = self.time
        world.forward()
        world.mj_data.efc_force[:] = 0.0  # forces of a static world, not those of the run
        for robot, table in self._references:
            robot.q_ref = table[row]
        self._placed = row

    # ---- signals ---------------------------------------------------------------------------

    @property
    def time_name(self) -> str:
        """Name of the time signal."""
        return self._source.time

    def table(self, names: Sequence[str], rows: slice = slice(None)) -> np.ndarray:
        """Values of signals in all rows shown, or in the slice `rows` of these rows.

        The result has one row per sample and one column per name.
        """
        if not names:
            return np.empty((len(self._t[rows]), 0))
        return np.column_stack([column[rows] for column in self._columns(names)])

    def present(self, names: Sequence[str]) -> np.ndarray:
        """Values of signals in the current row, as an array with one value per name."""
        row = self._row
        return np.array([column[row] for column in self._columns(names)])

    def ranges(self, names: Sequence[str]) -> np.ndarray:
        """Minima (row 0) and maxima (row 1) of signals over all rows shown; one column per name.

        The results are cached.
        """
        for name, column in zip(names, self._columns(names), strict=True):
            if name not in self._ranges:
                self._ranges[name] = np.fmin.reduce(column), np.fmax.reduce(column)
        return np.array([self._ranges[name] for name in names]).reshape(-1, 2).T

    def _columns(self, names: Sequence[str]) -> list[np.ndarray]:
        with self._guard:
            missing = [name for name in names if name not in self._known]
            if missing:
                found = self._read([self._file_names[name] for name in missing])
                self._known |= dict(zip(missing, found, strict=True))
            return [self._known[name] for name in names]

    def _read(self, names: Sequence[str]) -> list[np.ndarray]:
        blocks: list[list[np.ndarray]] = []
        at = 0
        for block in self._source.read(names):
            first = -at % self._stride
            at += len(block[0])
            blocks.append([column[first :: self._stride] for column in block])
        return [np.concatenate(columns).astype(float) for columns in zip(*blocks, strict=True)]

    def _find_references(self) -> list[tuple[ReplayRobot, np.ndarray]]:
        found = []
        for name, robot in self.robots.items():
            names = [f"{name}.q_ref.{joint}" for joint in robot.arm.joint_names]
            if all(one in self.columns for one in names):
                found.append((robot, self.table(names)))
        return found

    def _check_robots(self) -> None:
        """Add a note to `notes` for each robot whose tool deviates from its recorded position."""
        for name, robot in self.robots.items():
            names = [f"{name}.tool.{axis}" for axis in "xyz"]
            if not all(one in self.columns for one in names):
                continue
            tool, far = self.table(names), 0.0
            for row in {0, self.rows // 2, self.rows - 1}:
                self._row = row
                self._settle()
                far = max(far, float(np.linalg.norm(robot.tool()[:3, 3] - tool[row])))
            if far > NEAR:
                self.notes.append(
                    f"{name} differs from the run: its tool is up to {1e3 * far:.3g} mm from the "
                    "recorded position. The robot file or the base pose was changed after the run, "
                    "or the robot was edited in the lab."
                )
        self._row = 0


class _Player(Player):
    """Player that restarts at the first row if it is started at the last row."""

    def __init__(self, replay: RecordingReplay) -> None:
        super().__init__(replay)
        self._replay = replay

    def play(self) -> None:
        if self._replay.row + 1 >= self._replay.rows:
            self._replay.go_to(0)
        super().play()


def _source_of(recording: str | Path | Recording) -> tuple[ColumnSource, Path]:
    if isinstance(recording, Recording):
        given = recording
        return memory_source(given.columns, given.events, given.about), Path("recording")
    path = Path(recording).expanduser()
    return open_source(path), path


def _file_names(source: ColumnSource, cell: Cell) -> dict[str, str]:
    """Return a dict from the names of signals in the lab to their names in the file.

    A recording of a single robot may omit the robot's name; the names in the lab include it.
    """
    names = list(source.units)
    if len(cell.robots) != 1 or any(one.startswith(f"{cell.robots[0].name}.") for one in names):
        return {name: name for name in names}
    robot = cell.robots[0].name
    return {f"{robot}.{name}" if is_of_robot(name) else name: name for name in names}
