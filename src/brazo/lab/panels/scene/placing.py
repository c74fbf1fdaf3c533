"""Creation of new elements of a cell at default size, and search for a free place for them.

`below` computes the pose of an existing element on the surface below it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np

from brazo.body.solids import mesh, triangles
from brazo.errors import BrazoError
from brazo.formats.mjcf.engine import engine
from brazo.lab.app.opening import floor_under
from brazo.model.description import IDENTITY, Array, Part, frozen
from brazo.model.shapes import Box, Cylinder, Mesh
from brazo.simulation import Simulation
from brazo.simulation.cell_arm import arm_of
from brazo.world import Cell, CellRobot, Chute, Fixture, FreeBody
from brazo.world.cell import BinShape, Frame, TableShape, parts_of
from brazo.world.cell_edits import Element, element, elements, free_name, moved, pose_of
from brazo.world.robot_source import RobotSource

GAP = 0.05  # m, clearance between a new element and the others
ROBOT_GAP = 0.3  # m, the same beside a robot
STANDING = 0.02  # m, largest gap between an element and the fixture on which it stands
STEP = 0.05  # m, between the places that are tried
MAX_TRIES = 4000
LARGE_MESH = 20.0  # m; a larger mesh is assumed to be in millimetres
WOOD = (0.72, 0.58, 0.42)
GREY = (0.55, 0.57, 0.60)
BLUE = (0.20, 0.45, 0.72)

#: Elements that can be added, with the label of their button.
KINDS = {
    "box": "Box",
    "cylinder": "Cylinder",
    "table": "Table",
    "bin": "Bin",
    "chute": "Chute",
    "frame": "Frame",
}


def new_element(kind: str, name: str) -> Element:
    """Return a new element of a cell, of default size at the origin.

    `kind` is a key of `KINDS`.
    """
    match kind:
        case "box":
            return FreeBody(name, Box((0.06, 0.06, 0.06)), 0.2, IDENTITY)
        case "cylinder":
            return FreeBody(name, Cylinder(0.025, 0.08), 0.2, IDENTITY, color=BLUE)
        case "table":
            return Fixture.of(name, TableShape((0.8, 0.6, 0.5)), color=WOOD)
        case "bin":
            return Fixture.of(name, BinShape((0.3, 0.2, 0.12)), color=GREY)
        case "chute":
            return Chute(name, (0.08, 0.08), 0.4, math.radians(30.0), (0.0, 0.0, 0.0), 0.0)
        case "frame":
            return Frame(name, IDENTITY)
    raise BrazoError(f"no element kind '{kind}': choose one of {', '.join(KINDS)}")


def mesh_fixture(name: str, path: Any) -> Fixture:
    """Return a fixture with the shape of a mesh file.

    A mesh larger than `LARGE_MESH` is assumed to be in millimetres.
    """
    shape = Mesh(path=path)
    size = float(np.ptp(triangles(shape)[0], axis=0).max())
    if size > LARGE_MESH:
        shape = Mesh(path=path, scale=(1e-3, 1e-3, 1e-3))
    return Fixture.of(name, shape, color=GREY)


def new_robot(name: str, source: RobotSource) -> CellRobot:
    """Return a new robot in its default start pose."""
    return CellRobot(name, source)


def placed(cell: Cell, new: Element, on: str = "") -> Element:
    """Return a copy of the new element at a free place in the cell, with an unused name.

    The place is on the fixture named `on`; on the floor if `on` is empty or the fixture has no
    free place.  A robot is always placed beside the other robots.  If no free place is found, the
    element may overlap others.
    """
    new = cast(Element, replace(cast(Any, new), name=free_name(cell, new.name)))
    if isinstance(new, CellRobot):
        return moved(new, _beside(cell, new))
    others = [_box(cell, one) for one in _solid(cell)]
    low, high = extent(new)
    ground = 0.0 if cell.floor is None else cell.floor.height
    centre, limits = np.array([0.45, 0.0]), None
    if on and isinstance(support := element(cell, on), Fixture):
        bottom, top = _box(cell, support)
        centre = (bottom[:2] + top[:2]) / 2
        # Only tables and bins carry fixtures; others are placed on the floor, beside the support.
        if not isinstance(new, Fixture | Chute) or isinstance(support.shape, BinShape | TableShape):
            ground = float(top[2])
            if isinstance(support.shape, BinShape):
                ground = float(support.pose[2, 3])
                bottom, top = bottom + 0.01, top - 0.01
            limits = bottom[:2], top[:2]
            free = zip(others, _solid(cell), strict=True)
            others = [box for box, one in free if one is not support]
    T = np.array(pose_of(new))
    for xy in _spiral(centre):
        at = np.array([*xy, ground - low[2]])
        a, b = low + at, high + at
        if limits is not None and ((a[:2] < limits[0]).any() or (b[:2] > limits[1]).any()):
            if np.abs(xy - centre).max() > 3.0:
                break
            continue
        if all((b + GAP < c).any() or (a - GAP > d).any() for c, d in others):
            T[:3, 3] = at
            return moved(new, T)
    if limits is not None:
        return placed(cell, new)
    T[:3, 3] = [*centre, ground - low[2]]
    return moved(new, T)


def support_of(cell: Cell, one: Element) -> str:
    """Name of the fixture on which an element of the cell stands at the start; empty if none."""
    low, high = _box(cell, one)
    if isinstance(one, CellRobot):  # its base, not the arm beside it
        low = high = np.array(one.base[:3, 3])
    middle = (low[:2] + high[:2]) / 2
    for fixture in cell.fixtures:
        bottom, top = _box(cell, fixture)
        inside = (bottom[:2] <= middle).all() and (middle <= top[:2]).all()
        if fixture is not one and inside and abs(top[2] - low[2]) < STANDING:
            return fixture.name
    return ""


def below(sim: Simulation, name: str) -> Array:
    """Return the pose (4, 4) of an element of the cell, lowered onto the surface below it.

    The surface is found with downward rays from the vertices of the element; for a robot, of its
    base link.  Raises `BrazoError` if there is no surface below.
    """
    mujoco, world = engine(), sim.world
    model, data = world.mj_model, world.mj_data
    own = np.array([label.owner == name for label in world.labels], bool)
    one = element(sim.cell, name)
    pose = np.array(world.pose(name) if isinstance(one, FreeBody) else pose_of(one))
    points = _points(sim.cell, one) @ pose[:3, :3].T + pose[:3, 3]
    bodies = set(model.geom_bodyid[own].tolist())
    hidden = [g for g in range(model.ngeom) if model.geom_bodyid[g] in bodies]
    group = model.geom_group.copy()
    model.geom_group[:] = 0
    model.geom_group[hidden] = 1
    found = math.inf
    hit = np.zeros(1, np.int32)
    shown = np.array([1, 0, 0, 0, 0, 0], np.uint8)
    try:
        for point in np.unique(np.round(points, 5), axis=0):
            start = point + (0.0, 0.0, 1e-4)  # a point that touches a surface is above it
            distance = mujoco.mj_ray(
                model, data, start, np.array([0.0, 0.0, -1.0]), shown, 1, -1, hit
            )
            if distance >= 0.0:
                found = min(found, distance - 1e-4)
    finally:
        model.geom_group[:] = group
    if not math.isfinite(found):
        raise BrazoError(f"no surface below {name}: move it above the floor or a fixture")
    pose[2, 3] -= found
    return frozen(pose)


def _solid(cell: Cell) -> list[Element]:
    return [one for one in elements(cell) if not isinstance(one, Frame)]


def _spiral(centre: Array) -> Iterator[Array]:
    """Yield points (2,) of a grid around a centre, in squares of increasing size."""
    yield centre
    for ring in range(1, math.ceil(math.sqrt(MAX_TRIES) / 2)):
        side = range(-ring, ring + 1)
        edge = [(x, y) for x in side for y in side if max(abs(x), abs(y)) == ring]
        for x, y in sorted(edge, key=lambda one: one[0] ** 2 + one[1] ** 2):
            yield centre + STEP * np.array([x, y])


def _beside(cell: Cell, robot: CellRobot) -> Array:
    """Return a base pose (4, 4) for a new robot, beside the other robots in +y, at a free place."""
    arm = arm_of(robot, cell.gravity)
    base = np.eye(4)
    if cell.floor is not None:
        base[2, 3] = cell.floor.height - floor_under(arm, robot.start)
    if cell.robots:
        ends = [one.base[1, 3] + _reach(one, cell) for one in cell.robots]
        base[1, 3] = round(max(ends) + ROBOT_GAP + _reach(robot, cell), 1)
    low, high = _robot_extent(cell, robot)
    others = [_box(cell, one) for one in (*cell.bodies, *cell.static)]
    for _ in range(200):  # away from tables and other things
        a, b = low + base[:3, 3], high + base[:3, 3]
        blocks = [d for c, d in others if not ((b + GAP < c).any() or (a - GAP > d).any())]
        if not blocks:
            break
        base[1, 3] = round(max(d[1] for d in blocks) + GAP - low[1] + 0.05, 1)
    return base


def _reach(robot: CellRobot, cell: Cell) -> float:
    """Approximate horizontal extent (m) of a robot in its start pose, from its base axis."""
    arm = arm_of(robot, cell.gravity)
    points = np.vstack([arm.frames(robot.start)[:, :2, 3], arm.fk(robot.start)[:2, 3]])
    return float(np.linalg.norm(points, axis=1).max())


def _points(cell: Cell, one: Element) -> Array:
    """Vertices (k, 3) of an element in its own frame; for a robot, vertices of its base link."""
    if isinstance(one, CellRobot):
        arm = arm_of(one, cell.gravity)
        return _corners(arm.parts[0]) if len(arm.parts[0]) else np.zeros((1, 3))
    return _corners(_parts(one)) if not isinstance(one, Frame) else np.zeros((1, 3))


def _parts(one: Element) -> Sequence[Part]:
    if isinstance(one, FreeBody):
        return parts_of(one.name, one.shape, one.color)
    if isinstance(one, Chute):
        return one.fixture.parts
    return one.parts if isinstance(one, Fixture) else ()


def _corners(parts: Sequence[Part]) -> Array:
    """Vertices (k, 3) of parts, reduced to some hundreds per part."""
    clouds = []
    for part in parts:
        V = mesh(part.shape).vertices
        V = V[:: max(1, len(V) // 400)]
        clouds.append(V @ part.pose[:3, :3].T + part.pose[:3, 3])
    return np.concatenate(clouds)


def extent(one: Element) -> tuple[Array, Array]:
    """Axis-aligned bounding box of an element: min and max corner (3,), relative to its origin.

    The axes are those of the world.
    """
    if isinstance(one, Frame):
        return np.zeros(3), np.zeros(3)
    V = _corners(_parts(one)) @ pose_of(one)[:3, :3].T
    return V.min(axis=0), V.max(axis=0)


def _robot_extent(cell: Cell, robot: CellRobot) -> tuple[Array, Array]:
    arm = arm_of(robot, cell.gravity)
    frames = arm.frames(robot.start)
    clouds = [frames[:, :3, 3], arm.fk(robot.start)[None, :3, 3]]
    for T, parts in zip(frames, arm.parts, strict=True):
        if len(parts):
            clouds.append(_corners(parts) @ T[:3, :3].T + T[:3, 3])
    V = np.concatenate(clouds) @ robot.base[:3, :3].T
    return V.min(axis=0), V.max(axis=0)


def _box(cell: Cell, one: Element) -> tuple[Array, Array]:
    """Axis-aligned bounding box of an element in the start state: min and max corner (3,).

    The corners are in the world frame.
    """
    low, high = _robot_extent(cell, one) if isinstance(one, CellRobot) else extent(one)
    at = pose_of(one)[:3, 3]
    return low + at, high + at
