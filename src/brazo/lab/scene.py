"""Draws one robot: a scene node for every body with its parts below it, the tool frame, the floor.

The scene knows nothing of time or of the user: it is told where the bodies are and sends those
that moved.  Nodes are placed in the base frame directly (no chain of parents), so what is drawn
is exactly what the kinematics says, to the last bit of a float.

Every robot shown gets a root node whose name was never used before: under a name used again
viser's page keeps the old node's pose, as a new node at the origin is sent without one.
"""

from __future__ import annotations

import math
import re
import secrets
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from brazo.kinematics.orientation import wxyz_from_matrix
from brazo.lab import hooks
from brazo.lab.figure import visible_parts
from brazo.model.shapes import Cylinder
from brazo.model.solids import mesh
from brazo.model.transforms import rot_x, rot_y, rot_z, translate

if TYPE_CHECKING:
    import viser

    from brazo.robot import Robot

LIGHT = "/light"
AXES = (
    ("x", (229, 72, 77), rot_y(math.pi / 2)),
    ("y", (70, 167, 88), rot_x(-math.pi / 2)),
    ("z", (62, 142, 247), rot_z(0.0)),
)
SEE_THROUGH = 0.35
FIELD_OF_VIEW_DEG = 35.0  # a longer lens than viser's: less distortion near the edges


class Scene:
    """What the pages see of a robot."""

    def __init__(self, server: viser.ViserServer) -> None:
        self._server = server
        self.root = ""  # the node all of the robot is below
        self.floor_height = 0.0  # m
        self._names: tuple[str, ...] = ()
        self._corners: list[np.ndarray] = []  # per body (c, 3): corners of its parts, body frame
        self._axes: list[viser.FrameHandle] = []
        self._solids: list[viser.MeshHandle] = []
        self._shown = np.empty((0, 4, 4))  # the poses last sent, in the order of the names
        self._axes_visible = False
        server.initial_camera.fov = math.radians(FIELD_OF_VIEW_DEG)
        # One soft sky and a key light over the robot's left shoulder, so that its front-right,
        # which the camera sees first, is lit and modelled.  A page drawn without a graphics card
        # turns the shadows off.
        server.scene.configure_default_lights(enabled=False)
        server.scene.configure_environment_map("city", environment_intensity=0.8)
        server.scene.add_light_directional(
            LIGHT, intensity=2.1, cast_shadow=True, position=(1.0, 0.6, 2.4)
        )

    def show(self, robot: Robot, frames: np.ndarray, tool: np.ndarray) -> None:
        """Replace whatever robot is drawn by this one, in this pose."""
        scene = self._server.scene
        hooks.sweep(self._server)
        with self._server.atomic():
            if self.root:
                scene.remove_by_name(self.root)
            self.root = f"/robot-{secrets.token_hex(6)}"
            scene.add_frame(self.root, show_axes=False)
            bodies = [f"{self.root}/{i}-{node_name(n)}" for i, n in enumerate(robot.body_names)]
            self._names = (*bodies, f"{self.root}/tool")
            self._shown = np.full((len(self._names), 4, 4), np.nan)
            self._corners, self._solids = [], []
            for name, parts in zip(bodies, visible_parts(robot), strict=True):
                scene.add_frame(name, show_axes=False)
                self._corners.append(self._add_parts(name, parts))
            low, high = self._bounds(frames)
            size = float(np.linalg.norm(high - low)) or 1.0
            self._axes = [self._add_axes(f"{name}/axes", 0.07 * size, False) for name in bodies]
            self._add_axes(self._names[-1], 0.08 * size, True)
            self._add_floor(frames, low, size)
            self.axes_visible = self._axes_visible
        self.place(frames, tool)

    def place(self, frames: np.ndarray, tool: np.ndarray) -> None:
        """Move the bodies (n, 4, 4) and the tool frame (4, 4); what stays costs nothing."""
        poses = np.concatenate([frames, tool[None]])
        changed = np.flatnonzero((poses != self._shown).any(axis=(1, 2)))
        if len(changed):
            hooks.move(self._server, _placed([self._names[i] for i in changed], poses[changed]))
            self._shown = poses

    def _bounds(self, frames: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Opposite corners (3,) of a box about the robot in the base frame."""
        clouds = [
            corners @ T[:3, :3].T + T[:3, 3]
            for corners, T in zip(self._corners, frames, strict=True)
            if len(corners)
        ]
        # A robot may consist of bodies with nothing to see; its frames still have a place.
        points = np.concatenate(clouds) if clouds else frames[:, :3, 3]
        return points.min(axis=0), points.max(axis=0)

    @property
    def part_count(self) -> int:
        """How many solids the robot is drawn with."""
        return len(self._solids)

    @property
    def axes_visible(self) -> bool:
        """Whether the frame of every body is drawn, and the bodies see-through to show them."""
        return self._axes_visible

    @axes_visible.setter
    def axes_visible(self, visible: bool) -> None:
        self._axes_visible = visible
        for handle in self._axes:
            handle.visible = visible
        for solid in self._solids:
            solid.opacity = SEE_THROUGH if visible else None

    def _add_parts(self, name: str, parts) -> np.ndarray:
        corners = [np.empty((0, 3))]
        for i, part in enumerate(parts):
            surface = mesh(part.shape)
            _, position, wxyz = _placed([""], part.pose[None])[0]
            solid = self._server.scene.add_mesh_simple(
                f"{name}/{i}-{node_name(part.name)}",
                surface.vertices,
                surface.faces,
                color=part.color,
                position=position,
                wxyz=wxyz,
            )
            self._solids.append(solid)
            ends = np.stack([surface.vertices.min(axis=0), surface.vertices.max(axis=0)])
            box = np.stack(np.meshgrid(*ends.T, indexing="ij"), axis=-1).reshape(-1, 3)
            corners.append(box @ part.pose[:3, :3].T + part.pose[:3, 3])
        return np.concatenate(corners)

    def _add_axes(self, name: str, length: float, visible: bool) -> viser.FrameHandle:
        # viser's own axes have colours that drown in a dark view.
        scene = self._server.scene
        handle = scene.add_frame(name, show_axes=False, visible=visible)
        rod = mesh(Cylinder(0.03 * length, length, 0.01 * length))
        for axis, color, turn in AXES:
            _, position, wxyz = _placed([""], (turn @ translate(z=length / 2))[None])[0]
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

    def _add_floor(self, frames: np.ndarray, low: np.ndarray, size: float) -> None:
        # The floor is what the base stands on; under a robot that hangs, some way below it.
        base = self._corners[0] @ frames[0, :3, :3].T + frames[0, :3, 3]
        foot = float(base[:, 2].min()) if len(base) else 0.0
        hangs = low[2] <= foot - 0.05 * size
        self.floor_height = float(low[2]) - 0.08 * size if hangs else foot
        cell = grid_cell(size)
        self._server.scene.add_grid(
            f"{self.root}/floor",
            position=(float(frames[0, 0, 3]), float(frames[0, 1, 3]), self.floor_height),
            infinite_grid=True,
            cell_size=cell,
            section_size=5 * cell,
            cell_thickness=0.6,
            section_thickness=1.0,
            fade_distance=3.2 * size,
            fade_strength=1.6,
            fade_from="origin",
            shadow_opacity=0.25,
        )


def grid_cell(size: float) -> float:
    """The 1-2-5 length that puts some fifteen cells beside a robot of this size."""
    exponent = math.floor(math.log10(size / 15))
    step = size / 15 / 10**exponent
    return (1 if step < 1.5 else 2 if step < 3.5 else 5 if step < 7.5 else 10) * 10.0**exponent


def node_name(name: str) -> str:
    """A name as it may stand in the scene tree, where a slash would start a child."""
    return re.sub(r"[^\w.-]+", "_", name)


def _placed(names: Sequence[str], T: np.ndarray) -> list[hooks.Pose]:
    positions = T[:, :3, 3].tolist()
    turns = wxyz_from_matrix(T[:, :3, :3]).tolist()
    return [(n, tuple(p), tuple(w)) for n, p, w in zip(names, positions, turns, strict=True)]
