"""Conversion of a robot model to a `Mechanism`.

The mechanism of a serial robot with a D-H table has symbols for the parameters of the robot.  The
mechanism of any other robot has numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from brazo.dynamics.symbolic.from_dh import DHReader
from brazo.dynamics.symbolic.mechanism import TENSOR, Mechanism, Pose, SymbolicLink
from brazo.dynamics.symbolic.symbols import SymbolTable, joint_symbols
from brazo.errors import BrazoError
from brazo.kinematics.forward import constant
from brazo.model.description import Model, TreeModel

Expr = Any


def mechanism_of(model: Model) -> Mechanism:
    """Mechanism of a robot, with symbols for its parameters.

    If the robot is not serial or has no D-H table, the mechanism has numbers instead of symbols.
    """
    model = model.require_tree("equations are derived for serial and tree robots only")
    if missing := model.missing_inertia:
        raise BrazoError(
            f"robot '{model.name}' is kinematic only: no inertia is given for "
            f"{', '.join(missing)}; add mass, com and inertia to the file"
        )
    if not (model.dh and model.is_serial):
        return _by_numbers(model)
    return DHReader(model).read()


def _by_numbers(model: TreeModel) -> Mechanism:
    """Mechanism of a general tree robot, in which every constant is a float."""
    table = SymbolTable()
    q, qd, qdd = joint_symbols(table, model.coordinates)
    links = []
    for body in model.bodies[1:]:
        joint, inertia = body.joint, body.inertia
        assert joint is not None and inertia is not None
        links.append(
            SymbolicLink(
                name=body.name,
                joint=joint.name,
                parent=body.parent - 1,
                kind=joint.kind,
                coordinate=joint.coordinate,
                before=_plain_pose(joint.before),
                axis=[_plain(x) for x in joint.axis],
                after=_plain_pose(joint.after),
                mass=float(inertia.mass),
                com=[_plain(x) for x in inertia.com],
                inertia=[float(inertia.tensor[a, b]) for a, b in TENSOR],
                armature=joint.drive.armature * joint.multiplier**2,
                viscous=joint.friction.viscous,
                coulomb=joint.friction.coulomb,
                multiplier=_whole(joint.multiplier),
                offset=_plain(joint.offset),
            )
        )
    return Mechanism(
        name=model.name,
        links=tuple(links),
        joint_names=tuple(joint.name for joint in model.coordinates),
        joint_kinds=tuple(joint.kind for joint in model.coordinates),
        tip=model.tip - 1,
        tool=_plain_pose(model.tool),
        gravity=[_plain(x) for x in model.gravity],
        q=q,
        qd=qd,
        qdd=qdd,
        symbols=table.entries,
    )


def _plain(x: float) -> Expr:
    """Return the integer 0, 1 or -1 if `x` has this value up to rounding, otherwise a float."""
    x = float(x)
    for whole in (0, 1, -1):
        if abs(x - whole) < 1e-15:
            return whole
    return x


def _plain_pose(T: np.ndarray) -> Pose:
    R, p = constant(T)
    return [_plain(x) for x in R], [_plain(x) for x in p]


def _whole(x: float) -> float:
    """Return an integral float as an int, because SymPy keeps a factor 1.0 but drops 1."""
    return int(x) if float(x).is_integer() else x
