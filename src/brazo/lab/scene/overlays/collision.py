"""Overlay of the collision geometry: red if in a contact that involves a robot, else green.

The shapes are read from the compiled physics model, so they are those used for collision detection.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from brazo.body.solids import mesh
from brazo.formats.mjcf.engine import engine
from brazo.kinematics.orientation import wxyz_from_matrix
from brazo.lab.scene.overlays.base import Overlay
from brazo.model.shapes import Box, Capsule, Cylinder, Sphere

if TYPE_CHECKING:
    from brazo.lab.scene.shown import Shown
    from brazo.lab.scene.snapshot import SceneSnapshot

FREE, HIT = (47, 158, 68), (224, 49, 49)
FREE_OPACITY, HIT_OPACITY = 0.22, 0.55
GROWN = 1.01  # scale that avoids z-fighting with the visual geometry


class CollisionSolids(Overlay):
    """Overlay of the collision geometry of the cell, without the ground."""

    id, title = "boxes", "Collision geometry"
    hint = "Shapes used for collision detection: green, or red in a contact with a robot."
    rate = 30.0

    def build(self, sim: Shown) -> None:
        world = sim.world
        model = world.mj_model
        nodes = {
            int(one.body.id): self.scene.names[i]
            for i, one in reversed(list(enumerate(world.drawn)))
            if one.body is not None
        }
        # A drawn ground would only cover the other solids.
        named = zip(self.scene.names, world.drawn, strict=True)
        ground = {one.name for name, one in named if name.startswith(f"{self.scene.root}/s")}
        self._solids: dict[int, Any] = {}
        self._red: set[int] = set()
        for geom, label in enumerate(world.labels):
            surface = solid_of(model, geom)
            if surface is None or label.owner in ground:
                continue
            body = int(model.geom_bodyid[geom])
            position, wxyz = model.geom_pos[geom], model.geom_quat[geom]
            if body not in nodes:  # static
                position, wxyz = still_pose(world.mj_data, geom)
            handle = self.scene.server.scene.add_mesh_simple(
                f"{nodes.get(body, self.scene.root)}/solid-{geom}",
                GROWN * surface[0],
                surface[1],
                color=FREE,
                opacity=FREE_OPACITY,
                position=position,
                wxyz=wxyz,
                cast_shadow=False,
                receive_shadow=False,
            )
            self._solids[geom] = handle
            self.handles.append(handle)

    def update(self, snapshot: SceneSnapshot) -> None:
        contacts = snapshot.contacts
        mine = contacts.depth >= 0.0
        # Only contacts that involve a robot (the first four classes) are marked.
        mine &= contacts.kind < 4
        red = set(contacts.geoms[mine].ravel().tolist()) & self._solids.keys()
        for geom in red ^ self._red:
            solid = self._solids[geom]
            solid.color = HIT if geom in red else FREE
            solid.opacity = HIT_OPACITY if geom in red else FREE_OPACITY
        self._red = red


def still_pose(data: Any, geom: int) -> tuple[np.ndarray, np.ndarray]:
    """World position (3,), in m, and wxyz quaternion (4,) of a geom that never moves."""
    return data.geom_xpos[geom].copy(), wxyz_from_matrix(data.geom_xmat[geom].reshape(3, 3))


def solid_of(model: Any, geom: int) -> tuple[np.ndarray, np.ndarray] | None:
    """Vertices (v, 3), in m, and faces (f, 3) of a MuJoCo geom, in the frame of the geom.

    None if the geom has no surface mesh, such as a plane.
    """
    kinds = engine().mjtGeom
    kind, size = int(model.geom_type[geom]), model.geom_size[geom]
    if kind == kinds.mjGEOM_BOX:
        shape = Box(tuple(2.0 * size))  # type: ignore[arg-type]
    elif kind == kinds.mjGEOM_CYLINDER:
        shape = Cylinder(size[0], 2.0 * size[1])
    elif kind == kinds.mjGEOM_CAPSULE:
        shape = Capsule(size[0], 2.0 * size[1])
    elif kind == kinds.mjGEOM_SPHERE:
        shape = Sphere(size[0])
    elif kind == kinds.mjGEOM_MESH:
        number = int(model.geom_dataid[geom])
        v, n = int(model.mesh_vertadr[number]), int(model.mesh_vertnum[number])
        f, m = int(model.mesh_faceadr[number]), int(model.mesh_facenum[number])
        return np.array(model.mesh_vert[v : v + n]), np.array(model.mesh_face[f : f + m])
    else:
        return None
    surface = mesh(shape)
    return surface.vertices, surface.faces
