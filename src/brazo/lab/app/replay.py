"""`Replay`: a recording that is shown as a simulation is, its state taken from the file.

Time goes from row to row.  Where the joints, clamps and free bodies are is what the row says; the
engine is asked only where that leaves every link and which solids touch.  Forces are not computed:
contacts are shown without them, what was measured is in the signals.  A recording of more than
`MOST_ROWS` rows is shown with every second, third, … of them.

What places the robots and bodies, positions and references, is read at once: 8 bytes a number and
row.  Other signals are read when they are first asked for and kept, so that of an hour of two
hundred only those that somebody looks at take up memory.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from brazo.control import Reference
from brazo.errors import BrazoError
from brazo.lab.app.recorded_cell import recorded_cell
from brazo.lab.app.replay_world import ReplayWorld
from brazo.lab.app.signal_groups import is_of_robot
from brazo.recording.recording import Recording
from brazo.recording.source import Source, event_time, memory_source, open_source
from brazo.robot import Robot
from brazo.simulation.cell_arm import arm_of
from brazo.simulation.lock import StepLock
from brazo.simulation.player import Player
from brazo.world import Cell, World, WorldRobot

MOST_ROWS = 1_000_000
NEAR = 1e-5  # m; a tool farther than this from where it was recorded is another robot's


class ReplayRobot:
    """A robot of a recording: where the present row has it."""

    moving = False

    def __init__(self, name: str, arm: Robot, world: WorldRobot) -> None:
        self.name, self.arm, self.world = name, arm, world
        self.q_ref = world.q.copy()

    @property
    def n(self) -> int:
        """Number of joints."""
        return self.world.n

    @property
    def base(self) -> np.ndarray:
        """Pose of the base (4, 4), in the world."""
        return self.world.base

    @property
    def q(self) -> np.ndarray:
        """Joint positions (n,), rad and m; a copy."""
        return self.world.q.copy()

    @property
    def qd(self) -> np.ndarray:
        """Joint velocities (n,); a copy."""
        return self.world.qd.copy()

    @property
    def torque(self) -> np.ndarray:
        """Zero (n,): what the drives gave is in the signals."""
        return self.world.drive_torque.copy()

    @property
    def reference(self) -> Reference:
        """Where it was asked to be; where it started when that was not recorded."""
        rest = np.zeros(self.n)
        return Reference(self.q_ref.copy(), rest, rest.copy())

    def tool(self) -> np.ndarray:
        """Pose of the tool (4, 4), in the world."""
        return self.world.tool()


class _Robots(dict[str, ReplayRobot]):
    def __missing__(self, name: str) -> ReplayRobot:
        raise BrazoError(f"no robot named '{name}' in this cell; robots: {', '.join(self)}")


class Replay:
    """A recording, by path or in memory; `cell` stands in for the one it names.

    `notes` says in sentences what the picture may lack: a cell's file that is gone or was changed,
    a robot of other dimensions.
    """

    recorder = None  # a recording is not recorded again

    def __init__(self, recording: str | Path | Recording, cell: Any = None) -> None:
        source, self.path = _source_of(recording)
        self.title = self.path.name
        if source.rows < 2:
            raise BrazoError(
                f"{self.path}: a replay needs at least two rows; there are {source.rows}"
            )
        shown, notes = recorded_cell(source, self.path, cell)
        self.notes = [*source.notes, *notes]
        self.lock = StepLock()
        self.cell = shown
        self._world = World(shown)
        given = {robot.name: robot for robot in shown.robots}
        self.robots: dict[str, ReplayRobot] = _Robots(
            (name, ReplayRobot(name, arm_of(given[name], shown.gravity), robot))
            for name, robot in self._world.robots.items()
        )
        self.player = _Player(self)
        self._row = 0
        self.about: Mapping[str, str] = source.about
        self._source = source
        self._stride = -(-source.rows // MOST_ROWS)
        self._file_names = _file_names(source, shown)
        #: Names and units of all signals, the time first; a lone robot's carry its name.
        self.columns = {name: source.units[at] for name, at in self._file_names.items()}
        self.recorded = sorted(source.events, key=event_time)  # what happened
        self._known: dict[str, np.ndarray] = {}
        self._ranges: dict[str, tuple[float, float]] = {}
        self._guard = threading.Lock()  # of what is known: pages may ask while others read
        t = self._read([source.time])[0]
        # A clock that was set back goes on from where it was.
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
        """The world, placed where the present row says."""
        with self.lock:
            self._settle()
        return self._world

    def robot(self, name: str) -> ReplayRobot:
        """A robot by name."""
        return self.robots[name]

    # ---- time ------------------------------------------------------------------------------

    @property
    def time(self) -> float:
        """The moment on show, s, as the recording counts."""
        return float(self._t[self._row])

    @property
    def dt(self) -> float:
        """Time from row to row, s."""
        return self._dt

    @property
    def start(self) -> float:
        """The first moment, s."""
        return float(self._t[0])

    @property
    def end(self) -> float:
        """The last moment, s."""
        return float(self._t[-1])

    @property
    def row(self) -> int:
        """Number of the row on show."""
        return self._row

    @property
    def rows(self) -> int:
        """How many rows there are to show."""
        return len(self._t)

    @property
    def stride(self) -> int:
        """Every how many rows of the file one is shown."""
        return self._stride

    @property
    def moving(self) -> bool:
        """Nothing here moves by itself."""
        return False

    def seek(self, t: float) -> None:
        """Show the moment nearest to t (s)."""
        after = int(np.searchsorted(self._t, t).clip(1, self.rows - 1))
        near = after - (t - self._t[after - 1] < self._t[after] - t)
        self.go_to(int(near))

    def go_to(self, row: int) -> None:
        """Show a row; beyond the ends, the first or the last."""
        with self.lock:
            self._row = min(max(row, 0), self.rows - 1)
        self.player.speed = self.player.speed  # its schedule begins here

    def step(self, n: int = 1) -> None:
        """Let `n` rows pass."""
        for _ in range(n):
            with self.lock:
                self.step_locked()

    def step_locked(self, most: int = 1) -> int:
        """On to the next row; at the last one the player pauses."""
        if self._row + 1 < self.rows:
            self._row += 1
        if self._row + 1 >= self.rows:
            self.player.pause()
        return 1

    def reset(self) -> None:
        """Back to the first row."""
        self.go_to(0)

    def log(self, kind: str, text: str) -> None:
        """Nothing is added to a recording."""

    def _settle(self) -> None:
        """Place the world where the present row says; while the lock is held."""
        row = self._row
        if row == self._placed:
            return
        world = self._world
        self._shown_world.place(self._places[row])
        world.mj_data.time = self.time
        world.forward()
        world.mj_data.efc_force[:] = 0.0  # those of a world at rest, not of the run
        for robot, table in self._references:
            robot.q_ref = table[row]
        self._placed = row

    # ---- signals ---------------------------------------------------------------------------

    @property
    def time_name(self) -> str:
        """The name of the time axis."""
        return self._source.time

    def table(self, names: Sequence[str], rows: slice = slice(None)) -> np.ndarray:
        """Some signals over all rows on show, or some of these, (rows, names)."""
        if not names:
            return np.empty((len(self._t[rows]), 0))
        return np.column_stack([column[rows] for column in self._columns(names)])

    def present(self, names: Sequence[str]) -> np.ndarray:
        """Some signals at the moment on show."""
        row = self._row
        return np.array([column[row] for column in self._columns(names)])

    def ranges(self, names: Sequence[str]) -> np.ndarray:
        """Least and greatest value of some signals in all of it, (2, names); worked out once."""
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
        """Say where a robot's tool is not where the recording has it."""
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
                    f"{name} differs from the run: its tool is up to {1e3 * far:.3g} mm"
                    " from its recorded position. Its file or base has changed since, or it was "
                    "edited in the lab."
                )
        self._row = 0


class _Player(Player):
    """Plays from the start again when it is asked to at the end."""

    def __init__(self, replay: Replay) -> None:
        super().__init__(replay)
        self._replay = replay

    def play(self) -> None:
        if self._replay.row + 1 >= self._replay.rows:
            self._replay.go_to(0)
        super().play()


def _source_of(recording: str | Path | Recording) -> tuple[Source, Path]:
    if isinstance(recording, Recording):
        given = recording
        return memory_source(given.columns, given.events, given.about), Path("recording")
    path = Path(recording).expanduser()
    return open_source(path), path


def _file_names(source: Source, cell: Cell) -> dict[str, str]:
    """Names of signals as the lab has them -> as the file has them."""
    names = list(source.units)
    if len(cell.robots) != 1 or any(one.startswith(f"{cell.robots[0].name}.") for one in names):
        return {name: name for name in names}
    robot = cell.robots[0].name
    return {f"{robot}.{name}" if is_of_robot(name) else name: name for name in names}
