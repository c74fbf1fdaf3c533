"""`Scene`: draws the floor and the bodies of a world; each body is one scene node.

The scene has no clock of its own: it is given poses, and sends those that changed to the pages.
Nodes are placed directly in the world frame, without a chain of parents, so that the drawn poses
are those of the physics.  A pose that changed by no more than `STILL` since it was last sent is not
sent, so a cell at rest causes no traffic.

Each cell gets a root node with a new, unique name.  If a name were reused, viser's client would
keep the pose of the old node, because a new node at the origin is sent without a pose.
"""

from __future__ import annotations

import math
import re
import secrets
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from brazo.body.solids import mesh
from brazo.kinematics.orientation import wxyz_from_matrix
from brazo.lab.scene.colors import Colors
from brazo.lab.scene.target_ghost import TargetGhost
from brazo.lab.server import hooks
from brazo.model.description import Part
from brazo.model.shapes import Cylinder
from brazo.model.transforms import rot_x, rot_y, rot_z, translate
from brazo.video.extent import EMPTY, box_of, grid_cell, ground_of
from brazo.world.drawn_parts import drawn_parts

if TYPE_CHECKING:
    import viser

    from brazo.lab.scene.shown import Shown

LIGHT = "/light"
PLAIN_SKY = "/plain-sky"  # also in viewer.js
AXES = (
    ("x", (229, 72, 77), rot_y(math.pi / 2)),
    ("y", (70, 167, 88), rot_x(-math.pi / 2)),
    ("z", (62, 142, 247), rot_z(0.0)),
)
FIELD_OF_VIEW_DEG = 35.0  # narrower than viser's, for less distortion at the edges
STILL = 2e-6  # min change of a pose that is sent: m, or an element of the rotation matrix


class Scene:
    """The 3D scene of a cell on the browser pages.

    `clicked(body, shift)` is called when the user clicks a body.  `body` is its index in
    `world.drawn`; `shift` is whether the Shift key was pressed.
    """

    def __init__(self, server: viser.ViserServer, clicked: Callable[[int, bool], Any]) -> None:
        self.server = server
        self._clicked = clicked
        self.root = ""  # root node of the cell
        self.size = 1.0  # m, diagonal of the bounding box without the ground
        self.floor_height = 0.0  # m
        self.low, self.high = np.zeros(3), np.zeros(3)  # m, corners of that box
        self.parts_beside = 0  # number of solids of a robot drawn beside the cell
        self.names: tuple[str, ...] = ()  # node of each drawn body, in the order of world.drawn
        self.colors = Colors(())
        self.tools: dict[str, str] = {}  # node of each robot's tool frame
        self.frames: dict[str, str] = {}  # node of each frame of the cell
        self.target = TargetGhost(self)
        self._floor: Any = None
        self._shown = np.empty((0, 4, 4))  # poses last sent
        self._displaced: tuple[np.ndarray, np.ndarray] | None = None
        server.initial_camera.fov = math.radians(FIELD_OF_VIEW_DEG)
        # A soft sky and a key light from above, front and left, so that the side that the initial
        # camera shows is well lit.  The sky is an environment map; with software rendering, where
        # it is too slow, the page replaces it by the hemisphere light.
        server.scene.configure_default_lights(enabled=False)
        server.scene.configure_environment_map("city", environment_intensity=0.8)
        server.scene.add_light_hemisphere(
            PLAIN_SKY,
            sky_color=(255, 255, 255),
            ground_color=(150, 150, 155),
            intensity=2.0,
            position=(0.0, 0.0, 1.0),  # direction of the sky
        )
        server.scene.add_light_directional(
            LIGHT, intensity=2.1, cast_shadow=True, position=(1.0, 0.6, 2.4)
        )

    def show(self, sim: Shown) -> None:
        """Draw the cell of `sim` in its current state, and remove the cell drawn before."""
        world = sim.world
        with sim.lock:  # `poses` uses a shared workspace of the world
            poses = world.poses()
        bodies = drawn_parts(world)
        boxes = [
            box_of(parts) @ T[:3, :3].T + T[:3, 3] for parts, T in zip(bodies, poses, strict=True)
        ]
        # Without robots, fixtures are what the user looks at, not ground.
        ground = ground_of(
            [one.kind == "fixture" and bool(sim.robots) for one in world.drawn], boxes
        )
        scene = self.server.scene
        hooks.sweep(self.server)
        with self.server.atomic():
            if self.root:
                scene.remove_by_name(self.root)
            self.root = f"/cell-{secrets.token_hex(6)}"
            scene.add_frame(self.root, show_axes=False)
            self.names = tuple(
                f"{self.root}/{'s' if flat else ''}{i}-{node_name(one.name)}"
                for i, (one, flat) in enumerate(zip(world.drawn, ground, strict=True))
            )
            self._shown = np.full((len(self.names), 4, 4), np.nan)
            solids = [self._add_body(i, parts) for i, parts in enumerate(bodies)]
            self.colors = Colors(solids)
            above_floor = [
                box for box, flat in zip(boxes, ground, strict=True) if len(box) and not flat
            ]
            points = np.concatenate([*above_floor, *([] if above_floor else [poses[:, :3, 3]])])
            if not len(points):
                points = EMPTY
            self.size = float(np.linalg.norm(np.ptp(points, axis=0))) or 1.0
            self.low, self.high = points.min(axis=0), points.max(axis=0)
            self.parts_beside = 0
            self._add_tools(sim)
            self._add_frames(sim)
            self._add_floor(sim, points)
        self._displaced = None
        self.place(poses)

    def place(self, poses: np.ndarray) -> bool:
        """Set the poses (k, 4, 4) of all bodies in `world.drawn`, and send those that changed.

        Returns whether any pose was sent.
        """
        if self._displaced is not None:
            which, T = self._displaced
            poses = poses.copy()
            poses[which] = T @ poses[which]
        far = np.abs(poses - self._shown).max(axis=(1, 2))
        changed = np.flatnonzero(~(far <= STILL))  # nan: never sent
        if len(changed):
            hooks.move(self.server, placed([self.names[i] for i in changed], poses[changed]))
            self._shown[changed] = poses[changed]
        return bool(len(changed))

    def displace(self, bodies: Sequence[int], T: np.ndarray | None) -> None:
        """Draw some bodies displaced by T (4, 4) in the world frame; None ends the displacement.

        `bodies` are indices in `world.drawn`.  The displacement is drawn by the next call of
        `place`.  It is used while the user drags a robot, body or fixture, whose physical pose
        changes only when the user releases the mouse button.
        """
        which = np.array([i for i in bodies if i < len(self.names)], int)
        self._displaced = None if T is None or not len(which) else (which, np.array(T))

    @property
    def part_count(self) -> int:
        """Number of drawn solids without the ground; a page fits its camera view to them."""
        ground = f"{self.root}/s"
        return self.parts_beside + sum(
            len(solids)
            for name, solids in zip(self.names, self.colors.solids, strict=True)
            if not name.startswith(ground)
        )

    @property
    def floor_visible(self) -> bool:
        """Whether the floor's grid is drawn."""
        return self._floor.visible

    @floor_visible.setter
    def floor_visible(self, visible: bool) -> None:
        self._floor.visible = visible

    def add_axes(self, name: str, length: float, visible: bool = True) -> viser.FrameHandle:
        """Add the scene node `name`, drawn as red, green and blue axes of this length (m).

        viser's own frames are not used, because their colours have too little contrast in a dark
        theme.
        """
        scene = self.server.scene
        handle = scene.add_frame(name, show_axes=False, visible=visible)
        rod = mesh(Cylinder(0.03 * length, length, 0.01 * length))
        for axis, color, turn in AXES:
            _, position, wxyz = placed([""], (turn @ translate(z=length / 2))[None])[0]
            scene.add_mesh_simple(
                f"{name}/{axis}",
                rod.vertices,
                rod.faces,
                color=color,
                position=position,
                wxyz=wxyz,
                cast_shadow=False,
                receive_shadow=False,
            )
        return handle

    def _add_body(self, i: int, parts: Sequence[Part]) -> list[viser.MeshHandle]:
        scene, name = self.server.scene, self.names[i]
        scene.add_frame(name, show_axes=False)
        solids = []
        for j, part in enumerate(parts):
            surface = mesh(part.shape)
            _, position, wxyz = placed([""], part.pose[None])[0]
            solid = scene.add_mesh_simple(
                f"{name}/{j}-{node_name(part.name)}",
                surface.vertices,
                surface.faces,
                color=part.color,
                position=position,
                wxyz=wxyz,
            )
            solid.on_click(self._click_of(i, False))
            solid.on_click(modifier="shift")(self._click_of(i, True))
            solids.append(solid)
        return solids

    def _click_of(self, i: int, shift: bool) -> Callable[[Any], Any]:
        async def click(_event: Any) -> None:  # on the network thread: must not block
            self._clicked(i, shift)

        return click

    def _add_tools(self, sim: Shown) -> None:
        self.tools = {}
        for name, robot in sim.robots.items():
            tip = tip_of(sim, name)
            frames = robot.arm.frames(robot.world.start)[:, :3, 3]
            reach = float(np.linalg.norm(np.ptp(frames, axis=0))) or self.size
            node = f"{self.names[tip]}/tool"
            _, position, wxyz = placed([""], np.asarray(robot.arm.model.tool)[None])[0]  # type: ignore[attr-defined]
            handle = self.add_axes(node, 0.12 * reach)
            handle.position, handle.wxyz = position, wxyz
            self.tools[name] = node

    def _add_frames(self, sim: Shown) -> None:
        """Draw the user frames of the cell with their names."""
        self.frames = {}
        for i, frame in enumerate(sim.cell.frames):
            name = f"{self.root}/frame-{i}-{node_name(frame.name)}"
            handle = self.add_axes(name, 0.1 * self.size)
            _, handle.position, handle.wxyz = placed([""], frame.pose[None])[0]
            self.server.scene.add_label(f"{name}/name", frame.name, anchor="bottom-center")
            self.frames[frame.name] = name

    def _add_floor(self, sim: Shown, points: np.ndarray) -> None:
        floor = sim.cell.floor
        low, high = points.min(axis=0), points.max(axis=0)
        below = float(low[2]) - 0.08 * self.size
        self.floor_height = below if floor is None else floor.height
        cell = grid_cell(self.size)
        middle = cell * np.round((low + high)[:2] / 2 / cell)
        self._floor = self.server.scene.add_grid(
            f"{self.root}/floor",
            position=(float(middle[0]), float(middle[1]), self.floor_height),
            infinite_grid=True,
            cell_size=cell,
            section_size=5 * cell,
            cell_thickness=0.6,
            section_thickness=1.0,
            fade_distance=3.2 * self.size,
            fade_strength=1.6,
            fade_from="origin",
            shadow_opacity=0.25,
        )


def tip_of(sim: Shown, robot: str) -> int:
    """Index in `world.drawn` of the body that carries the robot's tool."""
    tip = sim.world.robots[robot].tip_id
    own = sim.world.robots[robot].drawn
    return next((int(i) for i in own if int(sim.world.drawn[i].body.id) == tip), int(own[-1]))


def node_name(name: str) -> str:
    """Replace characters that are special in names of scene nodes, such as a slash, by `_`."""
    return re.sub(r"[^\w.-]+", "_", name)


def placed(names: Sequence[str], T: np.ndarray) -> list[hooks.Pose]:
    """Convert poses (k, 4, 4) to viser's tuples of node name, position and wxyz quaternion."""
    positions = T[:, :3, 3].tolist()
    turns = wxyz_from_matrix(T[:, :3, :3]).tolist()
    return [(n, tuple(p), tuple(w)) for n, p, w in zip(names, positions, turns, strict=True)]
