"""Poses of all bodies of a robot with many joints, by a compiled loop over a table of bodies.

Unrolled code grows with the number of bodies; for a hundred bodies it takes seconds to compile.
Here the step of one body is compiled once and run in a loop (`brazo.codegen.sweep`):

    T_body = T_parent · before · Rz(θ) Tz(d) · after

A revolute joint has θ = multiplier · q + offset and d = 0. A prismatic joint has θ = 0 and
d = multiplier · q + offset. The constants `before` and `after` include the rotation of the joint
axis to z.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from brazo.codegen import Expr, Graph
from brazo.codegen.ring import sincos
from brazo.codegen.sweep import Pass, Sweep
from brazo.kinematics.forward import Pose, Posture, compose
from brazo.model.description import Joint, TreeModel
from brazo.model.transforms import align_z, invert

_BASE = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]


def looped_posture(model: TreeModel, q: Sequence[Expr]) -> Posture:
    """Return the poses of all bodies and the axes and origins of all joints as expressions in q."""
    joints = [joint for body in model.bodies[1:] if (joint := body.joint) is not None]
    sweep = _sweep(model, joints)
    values = [joint.multiplier * q[joint.coordinate] + joint.offset for joint in joints]
    inputs = {"value": values, "base_pose": _BASE}
    results = q[0].graph.call(sweep, *(inputs[key] for key in sweep.inputs))
    found = dict(zip(sweep.outputs, results, strict=True))
    poses = [_unpacked(found["frame"][12 * i : 12 * i + 12]) for i in range(len(joints))]
    axes = [list(found["axis"][3 * i : 3 * i + 3]) for i in range(len(joints))]
    origins = [list(found["origin"][3 * i : 3 * i + 3]) for i in range(len(joints))]
    return Posture([_unpacked(_BASE), *poses], axes, origins)


def _sweep(model: TreeModel, joints: Sequence[Joint]) -> Sweep:
    turned = [align_z(joint.axis) for joint in joints]
    constants = {
        "before": _rows(joint.before @ A for joint, A in zip(joints, turned, strict=True)),
        "turning": np.array([joint.kind == "revolute" for joint in joints], dtype=float),
        "after": _rows(invert(A) @ joint.after for joint, A in zip(joints, turned, strict=True)),
    }
    g = Graph()
    (value,), (turning,) = g.inputs("in_value", 1), g.inputs("link_turning", 1)
    s, c = sincos(turning * value)
    d = (1.0 - turning) * value
    parent = _unpacked(g.inputs("up_pose", 12))
    frame = compose(parent, _unpacked(g.inputs("link_before", 12)))
    motion: Pose = ([c, -s, 0.0, s, c, 0.0, 0.0, 0.0, 1.0], [0.0, 0.0, d])
    body = compose(compose(frame, motion), _unpacked(g.inputs("link_after", 12)))
    pose = [*body[0], *body[1]]
    outputs = {
        "own_pose": pose,
        "out_frame": pose,
        "out_axis": [frame[0][2], frame[0][5], frame[0][8]],
        "out_origin": frame[1],
    }
    parents = [body.parent - 1 for body in model.bodies[1:]]  # -1 is the base
    return Sweep("poses", parents, constants, [Pass(g, outputs)], base=("pose",))


def _rows(transforms) -> np.ndarray:
    """Convert transforms to an array (bodies, 12): rotation row by row, then position."""
    return np.array([[*T[:3, :3].ravel(), *T[:3, 3]] for T in transforms])


def _unpacked(values: Sequence) -> Pose:
    return list(values[:9]), list(values[9:12])
