"""Draws a world: a scene node for every body of the cell with its parts below it, and the floor.

The scene knows nothing of time or of the user: it is told where the bodies are and sends those
that moved.  Nodes are placed in the world frame directly (no chain of parents), so what is drawn
is what the physics says.  A body that moved less than `STILL` since it was last sent is left where
it is drawn: at rest nothing is sent at all.

Every cell shown gets a root node whose name was never used before: under a name used again viser's
page keeps the old node's pose, as a new node at the origin is sent without one.
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
from brazo.lab.scene.figure import visible_parts
from brazo.lab.server import hooks
from brazo.model.description import Part
from brazo.model.shapes import Cylinder
from brazo.model.transforms import rot_x, rot_y, rot_z, translate

if TYPE_CHECKING:
    import viser

    from brazo.lab.scene.shown import Shown

LIGHT = "/light"
PLAIN_SKY = "/plain-sky"  # viewer.js
AXES = (
    ("x", (229, 72, 77), rot_y(math.pi / 2)),
    ("y", (70, 167, 88), rot_x(-math.pi / 2)),
    ("z", (62, 142, 247), rot_z(0.0)),
)
FIELD_OF_VIEW_DEG = 35.0  # a longer lens than viser's: less distortion near the edges
STILL = 2e-6  # m, and of the numbers of a rotation
GROUND = 0.6  # a fixture wider than this share of the whole is ground, not something to look at


class Scene:
    """What the pages see of a cell."""

    def __init__(self, server: viser.ViserServer, clicked: Callable[[int, bool], Any]) -> None:
        self.server = server
        self._clicked = clicked
        self.root = ""  # the node all of the cell is below
        self.size = 1.0  # m, across everything that is not ground
        self.floor_height = 0.0  # m
        self.names: tuple[str, ...] = ()  # node of each drawn body, in the order of world.drawn
        self.colors = Colors(())
        self.tools: dict[str, str] = {}  # node of each robot's tool frame
        self._floor: Any = None
        self._shown = np.empty((0, 4, 4))  # the poses last sent
        server.initial_camera.fov = math.radians(FIELD_OF_VIEW_DEG)
        # One soft sky and a key light over the robot's left shoulder, so that its front-right,
        # which the camera sees first, is lit and modelled.  The sky is a picture of one; where that
        # is too much work, in a page drawn without a graphics card, a plain one takes its place.
        server.scene.configure_default_lights(enabled=False)
        server.scene.configure_environment_map("city", environment_intensity=0.8)
        server.scene.add_light_hemisphere(
            PLAIN_SKY,
            sky_color=(255, 255, 255),
            ground_color=(150, 150, 155),
            intensity=2.0,
            position=(0.0, 0.0, 1.0),  # where the sky is
        )
        server.scene.add_light_directional(
            LIGHT, intensity=2.1, cast_shadow=True, position=(1.0, 0.6, 2.4)
        )

    def show(self, sim: Shown) -> None:
        """Replace whatever cell is drawn by this one, as it is now."""
        world = sim.world
        with sim.lock:  # the world has one workspace for poses, which programs use as well
            poses = world.poses()
        bodies = drawn_parts(sim)
        boxes = [
            _box(parts) @ T[:3, :3].T + T[:3, 3] for parts, T in zip(bodies, poses, strict=True)
        ]
        ground = _ground([one.kind == "fixture" for one in world.drawn], boxes)
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
            solids = [
                self._add_body(i, world.drawn[i].kind, parts) for i, parts in enumerate(bodies)
            ]
            self.colors = Colors(solids)
            seen = [box for box, flat in zip(boxes, ground, strict=True) if len(box) and not flat]
            points = np.concatenate(seen or [poses[:, :3, 3]])
            self.size = float(np.linalg.norm(np.ptp(points, axis=0))) or 1.0
            self._add_tools(sim)
            self._add_floor(sim, points)
        self.place(poses)

    def place(self, poses: np.ndarray) -> bool:
        """Move the bodies (k, 4, 4), in the order of `world.drawn`; whether any moved."""
        far = np.abs(poses - self._shown).max(axis=(1, 2))
        changed = np.flatnonzero(~(far <= STILL))  # nan: never sent
        if len(changed):
            hooks.move(self.server, placed([self.names[i] for i in changed], poses[changed]))
            self._shown[changed] = poses[changed]
        return bool(len(changed))

    @property
    def part_count(self) -> int:
        """How many solids are drawn that a view is to show whole."""
        ground = f"{self.root}/s"
        return sum(
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
        """Three rods, red, green and blue; viser's own have colours that drown in a dark view."""
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

    def _add_body(self, i: int, kind: str, parts: Sequence[Part]) -> list[viser.MeshHandle]:
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
            if kind == "robot":
                solid.on_click(self._click_of(i, False))
                solid.on_click(modifier="shift")(self._click_of(i, True))
            solids.append(solid)
        return solids

    def _click_of(self, i: int, shift: bool) -> Callable[[Any], Any]:
        async def click(_event: Any) -> None:  # on the network's thread: only posts
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


def drawn_parts(sim: Shown) -> list[Sequence[Part]]:
    """What is drawn of each body of `world.drawn`; a stick figure where a file gives nothing."""
    world = sim.world
    found: list[Sequence[Part]] = [one.parts for one in world.drawn]
    for name, robot in sim.robots.items():
        if not any(robot.arm.parts):
            for i, parts in zip(world.drawn_of(name), visible_parts(robot.arm), strict=True):
                found[i] = parts
        elif not all(robot.arm.parts):
            for i, parts in zip(world.drawn_of(name), visible_parts(robot.arm), strict=True):
                found[i] = found[i] or parts
    return found


def tip_of(sim: Shown, robot: str) -> int:
    """Which of `world.drawn` carries the robot's tool."""
    tip = sim.world.robots[robot].tip_id
    own = sim.world.drawn_of(robot)
    return next((int(i) for i in own if int(sim.world.drawn[i].body.id) == tip), int(own[-1]))


def grid_cell(size: float) -> float:
    """The 1-2-5 length that puts some fifteen cells beside something of this size."""
    exponent = math.floor(math.log10(size / 15))
    step = size / 15 / 10**exponent
    return (1 if step < 1.5 else 2 if step < 3.5 else 5 if step < 7.5 else 10) * 10.0**exponent


def node_name(name: str) -> str:
    """A name as it may stand in the scene tree, where a slash would start a child."""
    return re.sub(r"[^\w.-]+", "_", name)


def placed(names: Sequence[str], T: np.ndarray) -> list[hooks.Pose]:
    """Poses (k, 4, 4) as viser wants them."""
    positions = T[:, :3, 3].tolist()
    turns = wxyz_from_matrix(T[:, :3, :3]).tolist()
    return [(n, tuple(p), tuple(w)) for n, p, w in zip(names, positions, turns, strict=True)]


def _box(parts: Sequence[Part]) -> np.ndarray:
    """Corners (8 p, 3) of the parts' boxes in the body's frame."""
    corners = [np.empty((0, 3))]
    for part in parts:
        vertices = mesh(part.shape).vertices
        ends = np.stack([vertices.min(axis=0), vertices.max(axis=0)])
        box = np.stack(np.meshgrid(*ends.T, indexing="ij"), axis=-1).reshape(-1, 3)
        corners.append(box @ part.pose[:3, :3].T + part.pose[:3, 3])
    return np.concatenate(corners)


def _ground(fixtures: Sequence[bool], boxes: Sequence[np.ndarray]) -> list[bool]:
    """Which bodies are ground: fixtures about as wide as everything together."""
    filled = [box for box in boxes if len(box)]
    if not filled:
        return [False] * len(boxes)
    whole = np.ptp(np.concatenate(filled), axis=0)[:2].max()
    return [
        bool(fixed and len(box) and np.ptp(box, axis=0)[:2].max() > GROUND * whole)
        for fixed, box in zip(fixtures, boxes, strict=True)
    ]
