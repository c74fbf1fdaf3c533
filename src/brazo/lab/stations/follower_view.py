"""The follower in the scene of the master's page: its robot and cell, drawn beside the master arm.

If the follower's cell or robot is shipped with brazo, the follower reports the name of that cell or
robot.  Any other cell must be passed to the master's page as a file or object.  The robot is drawn
at the joint positions that the follower reports, and is not drawn before the first report.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from brazo.body.solids import mesh
from brazo.body.stick_figure import visible_parts
from brazo.errors import BrazoError
from brazo.lab.app.opening import as_cell
from brazo.lab.scene.robot_copy import RobotCopy
from brazo.lab.scene.scene import Scene, node_name, placed
from brazo.model.description import Part
from brazo.model.transforms import translate
from brazo.robot import Robot
from brazo.simulation.cell_arm import arm_of
from brazo.teleop.stations.scene_name import is_scene_name
from brazo.world import Cell

GAP = 0.15  # between master and follower, over the sum of their sizes
UNKNOWN = "the follower's cell is unknown: start the master with --follower FILE"


class FollowerView:
    """Drawing of the follower's robot and cell.  Use only on the lab's thread.

    `source` is the follower's cell or robot; None to use the one that the follower reports.
    `drawn(parts)` is called after the follower was added to the scene; `parts` is the number of
    parts of its robot.
    """

    def __init__(
        self,
        scene: Scene,
        post: Callable[[Callable[[], None]], None],
        drawn: Callable[[int], None],
        source: Any = None,
    ) -> None:
        self._scene, self._post, self._drawn = scene, post, drawn
        self._asked: Any = None  # source that is loaded or being loaded
        self._cell: Cell | None = None
        self._robot = ""
        self._copy: RobotCopy | None = None
        self._root = ""  # root node of the scene that it is drawn in
        self._offset = np.eye(4)
        self.arm: Robot | None = None
        self.problem = ""  # why the follower is not drawn
        if source is not None:
            self.load(source, "")

    @property
    def base(self) -> np.ndarray:
        """Pose (4, 4) of the base of the follower's robot in the frame of the follower's cell."""
        assert self._cell is not None
        return next(one.base for one in self._cell.robots if one.name == self._robot)

    @property
    def visible(self) -> bool:
        """Whether the follower is drawn."""
        return self._copy is not None and self._root == self._scene.root

    def follow(self, scene: Any, q: tuple[float, ...] | None) -> None:
        """Draw the follower at the reported joint positions q (n,); None keeps the last drawing.

        `scene` is what the follower reports about its cell: a mapping with the keys `name` and
        `robot`, or None before the report.
        """
        if self._asked is None and isinstance(scene, dict):
            name, robot = scene.get("name"), scene.get("robot")
            if is_scene_name(name) and isinstance(robot, str):
                self.load(name, robot)
            else:
                self._asked, self.problem = "", UNKNOWN
        if self.arm is None or q is None:
            return
        if len(q) != self.arm.n:
            self.problem = (
                f"the follower reports {len(q)} joint values; the robot to draw has {self.arm.n}"
            )
            return
        if not self.visible:
            self._draw(np.array(q))
        assert self._copy is not None
        self._copy.place(self._offset @ self.base, np.array(q))

    def load(self, source: Any, robot: str) -> None:
        """Load the follower's cell in the background.

        `source` is a name, a path, a `Cell` or a `Robot`.  `robot` is the name of the follower's
        robot; if the cell has no such robot, its first robot is used.
        """
        self._asked, self.problem = source, ""

        def work() -> None:
            try:
                cell = as_cell(source)
                chosen = next((one for one in cell.robots if one.name == robot), cell.robots[0])
                arm = arm_of(chosen, cell.gravity)
                arm.frames(chosen.start)  # compiles
            except (BrazoError, IndexError) as error:
                text = str(error) if isinstance(error, BrazoError) else "the cell has no robot"
                self._post(lambda: self._failed(text))
                return
            self._post(lambda: self._loaded(cell, chosen.name, arm))

        threading.Thread(target=work, name="brazo follower view", daemon=True).start()

    def _failed(self, text: str) -> None:
        self.problem = text

    def _loaded(self, cell: Cell, robot: str, arm: Robot) -> None:
        self._cell, self._robot, self.arm = cell, robot, arm

    def _draw(self, q: np.ndarray) -> None:
        assert self._cell is not None and self.arm is not None
        scene, cell = self._scene, self._cell
        self._root = scene.root
        low, high = scene.low, scene.high
        solids = [*_solids(cell)]
        links = zip(
            visible_parts(self.arm.model, self.arm.parts),
            self.base @ self.arm.frames(q),
            strict=True,
        )
        robot = np.concatenate(
            [_corners(part, T @ part.pose) for parts, T in links for part in parts]
        )
        points = np.concatenate([robot, *(_corners(part, T) for _, part, T in solids)])
        size = float(np.linalg.norm(np.ptp(points, axis=0)))
        # Beside the master along y, on the same floor.
        gap = GAP * (size + scene.size)
        floor = 0.0 if cell.floor is None else cell.floor.height
        middle = (low + high) / 2 - sum(_box(points)) / 2
        y = high[1] + gap - points[:, 1].min()
        self._offset = translate(middle[0], y, scene.floor_height - floor)
        name = f"{self._root}/beside-follower"
        with scene.server.atomic():
            self._copy = RobotCopy(scene, name, self.arm)
            self._copy.place(self._offset @ self.base, q)
            for k, (thing, part, T) in enumerate(solids):
                surface = mesh(part.shape)
                _, position, wxyz = placed([""], (self._offset @ T)[None])[0]
                scene.server.scene.add_mesh_simple(
                    f"{name}/s/{k}-{node_name(thing)}",
                    surface.vertices,
                    surface.faces,
                    color=part.color,
                    position=position,
                    wxyz=wxyz,
                )
            self._label("follower", "Follower", self._offset[:3, 3] + _above(*_box(robot), size))
            self._label("master", "Master", _above(low, high, scene.size))
        self._drawn(self._copy.part_count)

    def _label(self, name: str, text: str, at: np.ndarray) -> None:
        self._scene.server.scene.add_label(f"{self._root}/label-{name}", text, position=at)


def _solids(cell: Cell) -> list[tuple[str, Part, np.ndarray]]:
    """Name, part and pose (4, 4) of each part of the fixtures and chutes of a cell."""
    fixtures = [*cell.fixtures, *(chute.fixture for chute in cell.chutes)]
    return [(one.name, part, one.pose @ part.pose) for one in fixtures for part in one.parts]


def _box(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return points.min(axis=0), points.max(axis=0)


def _above(low: np.ndarray, high: np.ndarray, size: float) -> np.ndarray:
    """Return the position (3,), in m, of a label above the box with corners `low` and `high`.

    The distance to the box is proportional to `size` (m).
    """
    return np.array([*(low + high)[:2] / 2, high[2] + 0.05 * size])


def _corners(part: Part, T: np.ndarray) -> np.ndarray:
    vertices = np.asarray(mesh(part.shape).vertices)
    return vertices @ T[:3, :3].T + T[:3, 3]
