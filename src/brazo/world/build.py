"""Compilation of a cell to one MuJoCo model.

In the model, the names of a robot's elements start with the robot's name and a slash.  Free bodies
and fixtures keep their own names.  There are two modes:

    contact   implicitfast integrator, contacts and joint limits enabled: manipulation
    exact     classic Runge–Kutta, contacts and limits disabled: open-loop studies of the dynamics

`brazo.world.contact_friction` states which friction acts between two geoms.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from brazo.formats.mjcf.engine import engine
from brazo.formats.mjcf.quaternion import quat_of
from brazo.model.description import Array
from brazo.world.assembly import Assembly, Drawn, Label, Surface
from brazo.world.cell import Cell, CellRobot, FreeBody, parts_of
from brazo.world.collision import primitives
from brazo.world.delta import add_delta
from brazo.world.excludes import near_neighbours
from brazo.world.robot_elements import FIXTURE_SURFACE, ROBOT_SURFACE, RobotElements
from brazo.world.sensors import add_hand_sensors
from brazo.world.solid_inertia import solid_inertia
from brazo.world.state import WELD
from brazo.world.tree import add_tree

Mode = Literal["contact", "exact"]
STIFFEST = 0.9999  # the engine's upper bound of the impedance
TOLERANCE = 1e-10  # of the solver; the loop constraints of a Delta need it


@dataclass(frozen=True, slots=True, eq=False)
class Built:
    """A compiled model, and the elements of the MuJoCo spec from which it was compiled."""

    model: Any
    robots: tuple[RobotElements, ...]
    objects: dict[str, Any]  # free bodies of the spec, by name
    labels: tuple[Label, ...]  # one per geom
    drawn: tuple[Drawn, ...]


def build(cell: Cell, mode: Mode, excluded: dict[str, tuple[tuple[str, str], ...]]) -> Built:
    """Compile a cell to a MuJoCo model.

    `excluded` maps robot names to pairs of body names.  Contacts between the two bodies of a pair
    are disabled, like those between neighbouring links of a robot.
    """
    assembly = Assembly(cell.contact)
    _settings(assembly.spec, cell, mode)
    _static(assembly, cell)
    robots = [_robot(assembly, cell, robot, mode) for robot in cell.robots]
    objects = {body.name: _free_body(assembly, body) for body in cell.bodies}
    for elements in robots:
        for first, second in (*near_neighbours(elements), *excluded.get(elements.robot.name, ())):
            assembly.exclude(first, second)
        _welds(assembly, elements, cell)
        _locks(assembly, elements, cell.step)
        add_hand_sensors(assembly, elements, cell.bodies)
    grippers = sum(elements.gripper is not None for elements in robots)
    assembly.spec.nuserdata = 2 * grippers
    return _finish(assembly, robots, objects)


def build_alone(cell: Cell, robot: CellRobot) -> Built:
    """Compile a MuJoCo model that contains one robot of a cell and nothing else."""
    assembly = Assembly(cell.contact)
    _settings(assembly.spec, cell, "contact")
    elements = _robot(assembly, cell, robot, "contact")
    for first, second in near_neighbours(elements):
        assembly.exclude(first, second)
    return _finish(assembly, [elements], {})


def _finish(assembly: Assembly, robots: list[RobotElements], objects: dict[str, Any]) -> Built:
    model = assembly.compile()
    labels: list[Label | None] = [None] * model.ngeom
    for geom, label in assembly.geoms:
        labels[geom.id] = label
    known = tuple(label for label in labels if label is not None)
    assert len(known) == model.ngeom
    return Built(model, tuple(robots), objects, known, tuple(assembly.drawn))


def _settings(spec: Any, cell: Cell, mode: Mode) -> None:
    mujoco = engine()
    spec.compiler.degree = False
    option = spec.option
    option.timestep = cell.step
    option.gravity = cell.gravity
    option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    option.impratio = cell.contact.impratio
    option.noslip_iterations = cell.contact.noslip
    option.tolerance = TOLERANCE
    # For the few dozen degrees of freedom of a cell, dense is faster than sparse.
    option.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
    option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    # A diverged run is stopped and reported; MuJoCo would otherwise reset the state silently.
    flags = int(mujoco.mjtDisableBit.mjDSBL_AUTORESET)
    if mode == "exact":
        option.integrator = mujoco.mjtIntegrator.mjINT_RK4
        flags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT | mujoco.mjtDisableBit.mjDSBL_LIMIT)
    option.disableflags |= flags
    option.enableflags |= int(mujoco.mjtEnableBit.mjENBL_ENERGY)


def _static(assembly: Assembly, cell: Cell) -> None:
    solref = cell.contact.surface_solref
    if cell.floor is not None:
        surface = Surface(cell.floor.friction, FIXTURE_SURFACE, solref=solref)
        assembly.plane(cell.floor.height, Label("fixture", "floor"), surface)
    for fixture in cell.static:
        surface = Surface(fixture.friction, FIXTURE_SURFACE, solref=solref)
        body = assembly.body(assembly.world, fixture.name, fixture.pose)
        for part in fixture.parts:
            label = Label("fixture", fixture.name, part.name if len(fixture.parts) > 1 else "")
            for solid in primitives(part):
                assembly.solid(body, solid, label, surface)
        assembly.drawn.append(
            Drawn(fixture.name, "fixture", fixture.parts, None, pose=fixture.pose)
        )


def _robot(assembly: Assembly, cell: Cell, robot: CellRobot, mode: Mode) -> RobotElements:
    in_engine = mode == "contact"
    if robot.model.closed_loops:
        return add_delta(assembly, robot, cell.gripper, cell.step, coulomb_in_engine=in_engine)
    return add_tree(assembly, robot, cell.gripper, coulomb_in_engine=in_engine)


def _free_body(assembly: Assembly, body: FreeBody) -> Any:
    element = assembly.body(assembly.world, body.name, body.pose)
    element.add_freejoint(name=body.name)
    assembly.inertia(element, solid_inertia(body.shape, body.mass))
    parts = parts_of(body.name, body.shape, body.color)
    label = Label("object", body.name)
    solref = assembly.contact.surface_solref
    surface = Surface(body.friction, ROBOT_SURFACE, solref=solref)
    for part in parts:
        for solid in primitives(part):
            assembly.solid(element, solid, label, surface)
    assembly.drawn.append(Drawn(body.name, "object", parts, element))
    return element


def _welds(assembly: Assembly, elements: RobotElements, cell: Cell) -> None:
    """Add inactive weld constraints between the link with the gripper and each free body."""
    if elements.gripper is None:
        return
    mujoco = engine()
    for body in cell.bodies:
        weld = assembly.spec.add_equality(
            name=f"{elements.robot.name}/{WELD}{body.name}",
            name1=elements.tip.name,
            name2=body.name,
            type=mujoco.mjtEq.mjEQ_WELD,
            objtype=mujoco.mjtObj.mjOBJ_BODY,
            active=False,
        )
        elements.gripper.welds.append((assembly.tie(weld), body.name))


def _locks(assembly: Assembly, elements: RobotElements, step: float) -> None:
    """Add an inactive equality constraint for each joint; activating it locks the joint."""
    mujoco = engine()
    for joint in elements.joints:
        lock = assembly.spec.add_equality(
            name=f"{joint.name} locked",
            name1=joint.name,
            type=mujoco.mjtEq.mjEQ_JOINT,
            objtype=mujoco.mjtObj.mjOBJ_JOINT,
            active=False,
        )
        lock.solref, lock.solimp = (2.0 * step, 1.0), (STIFFEST, STIFFEST, 0.001, 0.5, 2.0)
        elements.locks.append(lock)


def start_pose(body: FreeBody) -> Array:
    """Return the start position (m) and quaternion wxyz of a free body, shape (7,)."""
    return np.concatenate([body.pose[:3, 3], quat_of(body.pose[:3, :3])])
