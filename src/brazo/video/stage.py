"""`Stage`: a cell as a MuJoCo model for images only: solids, floor, light and background.

Every drawn body of a world becomes a `mocap` body, whose pose is set directly.  A body has one mesh
for each of its colours.  The poses come from a `World`; nothing is simulated here.  The background
is light, the floor fades into it, and one soft light casts a shadow.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from brazo.body.solids import mesh
from brazo.formats.mjcf.engine import caught_warnings, engine
from brazo.kinematics.orientation import wxyz_from_matrix
from brazo.model.description import Part
from brazo.video.extent import Extent
from brazo.video.offscreen import Renderer, backend

BACKGROUND = (0.965, 0.972, 0.98)
FLOOR = (0.965, 0.972, 0.982)
GRID = (0.86, 0.88, 0.905)
TRAIL = (0.0, 0.22, 0.52, 1.0)  # emitted, and lit in addition
TRAIL_POINTS = 1500  # of one robot; a longer trail loses every second point
TRAIL_WIDTH = 3.0  # px
SHADOW_SIZE = 1024  # px of the shadow map; larger ones are slow without a graphics card
FIELD_OF_VIEW_DEG = 35.0  # as in the lab

Array = np.ndarray


class Stage:
    """MuJoCo model of a cell that draws images; a context manager that frees its OpenGL context.

    `bodies` are the parts of each body, and `size` is (width, height) in px.  `far` is the largest
    distance (m) from the camera to its target.  `samples` is the number of samples per pixel for
    antialiasing, and `tools` the number of tools with a trail.
    """

    def __init__(
        self,
        bodies: Sequence[Sequence[Part]],
        extent: Extent,
        size: tuple[int, int],
        *,
        far: float,
        shadows: bool = True,
        samples: int = 4,
        tools: int = 0,
    ) -> None:
        mujoco = engine()
        self._mujoco = mujoco
        spec = mujoco.MjSpec()
        _light(mujoco, spec, extent, size, far, shadows, samples)
        _floor(mujoco, spec, extent)
        for i, parts in enumerate(bodies):
            _add_body(mujoco, spec, i, parts)
        with caught_warnings():
            self._model = spec.compile()
        self._data = mujoco.MjData(self._model)
        self._camera = mujoco.MjvCamera()
        lines = tools * (TRAIL_POINTS + 1)
        self._renderer = Renderer(self._model, *size, backend(), lines=lines)
        self._renderer.flag("shadow", shadows)
        self._renderer.flag("reflection", False)
        self._renderer.flag("fog", True)
        self._trails: list[list[Array]] = [[] for _ in range(tools)]
        self._strides = [1] * tools
        self._seen = 0

    def __enter__(self) -> Stage:
        return self

    def __exit__(self, *error: Any) -> None:
        self._renderer.__exit__(*error)

    def draw(self, poses: Array, camera: Any, tools: Array | None = None) -> Array:
        """Return an image (height, width, 3), 8-bit RGB, with the bodies at poses (k, 4, 4).

        The image is valid until the next call.  `camera` is a `CameraView`.  `tools` (robots, 3)
        are tool positions (m), which are added to the trails.
        """
        mujoco, data = self._mujoco, self._data
        data.mocap_pos[:] = poses[:, :3, 3]
        data.mocap_quat[:] = wxyz_from_matrix(poses[:, :3, :3])
        mujoco.mj_kinematics(self._model, data)
        mujoco.mj_camlight(self._model, data)
        view = self._camera
        view.azimuth, view.elevation = camera.azimuth + 180.0, -camera.elevation
        view.distance, view.lookat[:] = camera.distance, camera.look_at
        if tools is not None:
            self._follow(tools)
        return self._renderer.render(data, view, self._draw_trails if self._trails else None)

    def _follow(self, tools: Array) -> None:
        for i, point in enumerate(tools):
            if self._seen % self._strides[i] == 0:
                self._trails[i].append(point.copy())
            if len(self._trails[i]) > TRAIL_POINTS:
                del self._trails[i][1::2]
                self._strides[i] *= 2
        self._seen += 1

    def _draw_trails(self, scene: Any) -> None:
        mujoco = self._mujoco
        line = mujoco.mjtGeom.mjGEOM_LINE
        color = np.array(TRAIL, np.float32)
        for trail in self._trails:
            for start, end in pairwise(trail):
                if scene.ngeom >= scene.maxgeom:
                    return
                geom = scene.geoms[scene.ngeom]
                mujoco.mjv_initGeom(geom, line, np.zeros(3), np.zeros(3), np.zeros(9), color)
                mujoco.mjv_connector(geom, line, TRAIL_WIDTH, start, end)
                # A uniform colour: the light on a line depends on its direction.
                geom.emission, geom.specular, geom.shininess = 1.0, 0.0, 0.0
                scene.ngeom += 1


def _light(
    mujoco: Any,
    spec: Any,
    extent: Extent,
    size: tuple[int, int],
    far: float,
    shadows: bool,
    samples: int,
) -> None:
    visual = spec.visual
    visual.global_.offwidth, visual.global_.offheight = size
    visual.global_.fovy = FIELD_OF_VIEW_DEG
    visual.quality.shadowsize, visual.quality.offsamples = SHADOW_SIZE, samples
    # A light sky, which the headlight stands for, and a key light from above, front and left.
    visual.headlight.ambient, visual.headlight.diffuse = [0.42] * 3, [0.26] * 3
    visual.headlight.specular = [0.06] * 3
    spec.worldbody.add_light(
        type=mujoco.mjtLightType.mjLIGHT_DIRECTIONAL,
        pos=extent.middle + extent.size * np.array([0.5, -0.6, 1.6]),
        dir=[-0.5, 0.6, -1.6],
        castshadow=shadows,
        diffuse=[0.40] * 3,
        specular=[0.14] * 3,
    )
    spec.stat.extent, spec.stat.center = extent.size, extent.middle
    # Relative to the extent.  Only the floor behind the cell fades, however far the camera is.
    away = far / extent.size
    visual.map.fogstart, visual.map.fogend = away + 0.6, away + 4.0
    visual.map.znear, visual.map.zfar = 0.02, away + 12.0
    # The floor beyond this region would have specks of shadow.
    visual.map.shadowclip = 2.0
    visual.rgba.fog = visual.rgba.haze = [*BACKGROUND, 1.0]
    spec.add_texture(
        name="background",
        type=mujoco.mjtTexture.mjTEXTURE_SKYBOX,
        builtin=mujoco.mjtBuiltin.mjBUILTIN_FLAT,
        rgb1=BACKGROUND,
        rgb2=BACKGROUND,
        width=4,
        height=24,
    )


def _floor(mujoco: Any, spec: Any, extent: Extent) -> None:
    spec.add_texture(
        name="floor",
        type=mujoco.mjtTexture.mjTEXTURE_2D,
        builtin=mujoco.mjtBuiltin.mjBUILTIN_FLAT,
        mark=mujoco.mjtMark.mjMARK_EDGE,
        rgb1=FLOOR,
        rgb2=FLOOR,
        markrgb=GRID,
        width=128,
        height=128,
    )
    cell = 1.0 / extent.grid
    material = spec.add_material(
        name="floor", texrepeat=[cell, cell], texuniform=True, specular=0.0, shininess=0.0
    )
    material.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = "floor"
    half = extent.grid * np.ceil(6.0 * extent.size / extent.grid)
    place = extent.grid * np.round(extent.middle / extent.grid)
    spec.worldbody.add_geom(
        type=mujoco.mjtGeom.mjGEOM_PLANE,
        size=[half, half, 0.5 * extent.size],  # the last is the spacing of its squares
        pos=[place[0], place[1], extent.floor],
        material="floor",
        contype=0,
        conaffinity=0,
    )


def _add_body(mujoco: Any, spec: Any, i: int, parts: Sequence[Part]) -> None:
    body = spec.worldbody.add_body(name=f"body {i}", mocap=True)
    groups: dict[tuple[float, ...], list[Part]] = {}
    for part in parts:
        groups.setdefault(tuple(part.color), []).append(part)
    for j, (color, same) in enumerate(groups.items()):
        vertices, normals, faces, count = [], [], [], 0
        for part in same:
            surface, turn = mesh(part.shape), part.pose[:3, :3]
            vertices.append(surface.vertices @ turn.T + part.pose[:3, 3])
            normals.append(surface.normals @ turn.T)
            faces.append(surface.faces + count)
            count += len(surface.vertices)
        corners = np.concatenate(faces).ravel().astype(int).tolist()
        name = f"mesh {i} {j}"
        spec.add_mesh(
            name=name,
            uservert=np.concatenate(vertices).ravel().tolist(),
            usernormal=np.concatenate(normals).ravel().tolist(),
            userface=corners,
            userfacenormal=corners,
            inertia=mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL,  # also of open surfaces
            maxhullvert=8,
        )
        body.add_geom(
            type=mujoco.mjtGeom.mjGEOM_MESH,
            meshname=name,
            rgba=[*color[:3], 1.0],
            contype=0,
            conaffinity=0,
            mass=0.0,
        )
