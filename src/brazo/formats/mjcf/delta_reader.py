"""Reader of Delta robots in MJCF files written by `brazo.formats.mjcf.delta`.

A Delta robot is recognised by its bodies (base, platform, arm 1–3, rod 1a–3b) and its three
`connect` equalities.  Lengths, masses, limits and drives are read from the compiled model, so edits
of the file are respected.  Any other closed mechanism is read as a tree by
`brazo.formats.mjcf.reader`, with a warning for each loop that stays open.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from brazo.formats.mjcf.quaternion import pose_of
from brazo.model.description import DeltaModel, Drive, Friction, Inertia, Part, frozen
from brazo.model.transforms import rot_z

_LEGS = (1, 2, 3)
_NAMES = ("base", "platform", *(f"arm {k}" for k in _LEGS)) + tuple(
    f"rod {k}{side}" for k in _LEGS for side in "ab"
)
_EQUAL = 1e-9  # m and rad, between legs that must be alike


def is_delta(m: Any, mujoco: Any) -> bool:
    """Return whether a compiled model has the bodies and loops of an exported Delta robot."""
    closed = sum(int(kind) == mujoco.mjtEq.mjEQ_CONNECT for kind in m.eq_type)
    return (
        closed == 3
        and m.nbody == 1 + len(_NAMES)
        and all(mujoco.mj_name2id(m, mujoco.mjtObj.mjOBJ_BODY, name) >= 0 for name in _NAMES)
    )


def delta_from(
    m: Any,
    mujoco: Any,
    *,
    name: str,
    inertia: Callable[[int], Inertia | None],
    parts: Callable[[int], Sequence[Part]],
    limits: Callable[[int], tuple[float, float]],
    max_torque: Callable[[int], float],
    tool: str | None,
    fail: Callable[[Any, str], Any],
    **common: Any,
) -> DeltaModel:
    """Return the Delta robot of a compiled MuJoCo model `m`.

    The functions `inertia` and `parts` take the index of a body, `limits` and `max_torque` the
    index of a joint.  `tool` is the name of the tool site; if it is None, the tool frame is the
    platform frame.  `fail(element, text)` raises an error.  `common` are further fields of the
    `DeltaModel`.
    """

    def index(kind: str, wanted: str) -> int:
        found = mujoco.mj_name2id(m, getattr(mujoco.mjtObj, f"mjOBJ_{kind}"), wanted)
        if found < 0:
            fail(wanted, f"this {kind.lower()} is missing; an exported Delta must have it")
        return found

    bodies = {wanted: index("BODY", wanted) for wanted in _NAMES}
    base = pose_of(m.body_pos[bodies["base"]], m.body_quat[bodies["base"]])
    if np.abs(base - np.eye(4)).max() > _EQUAL:
        fail("base", "the base of a Delta must be at the origin; remove the pose of this body")
    legs = []
    for k in _LEGS:
        x, y, z = m.body_pos[bodies[f"arm {k}"]]
        azimuth = math.atan2(y, x)
        elbow = m.body_pos[bodies[f"rod {k}a"]]
        end = m.site_pos[index("SITE", f"rod {k}a end")]
        socket = rot_z(-azimuth)[:3, :3] @ m.site_pos[index("SITE", f"platform socket {k}")]
        sizes = (math.hypot(x, y), socket[0], elbow[0], float(np.linalg.norm(end)), 2.0 * elbow[1])
        legs.append((azimuth, np.array([*sizes, z, socket[2], socket[1] - elbow[1]])))
    (R, r, L1, L2, spacing, *off) = legs[0][1]
    if (
        max(np.abs(leg - legs[0][1]).max() for _, leg in legs) > _EQUAL
        or np.abs(off).max() > _EQUAL
    ):
        fail(None, "the arms of the Delta differ; all three must have the same lengths and rods")
    joints = [int(m.body_jntadr[bodies[f"arm {k}"]]) for k in _LEGS]
    friction, drive = _drive(m, joints[0], max_torque)
    if any(_drive(m, j, max_torque) != (friction, drive) for j in joints[1:]):
        fail(
            None,
            "the drives of the Delta differ; damping, frictionloss, armature and torque limit of "
            "its three arms must be equal",
        )
    arm, rod, platform = (inertia(bodies[key]) for key in ("arm 1", "rod 1a", "platform"))
    for key, i in bodies.items():
        alike = {"arm": arm, "rod": rod}.get(key[:3])
        if alike is not None and not _equal(alike, inertia(i)):
            first = "rod 1a" if key.startswith("rod") else "arm 1"
            fail(key, f"the inertia differs from that of '{first}'; they must be equal")
    T = np.eye(4)
    if tool is not None:
        site = index("SITE", tool)
        T = pose_of(m.site_pos[site], m.site_quat[site])
    joint_names = [mujoco.mj_id2name(m, mujoco.mjtObj.mjOBJ_JOINT, j) for j in joints]
    return DeltaModel(
        name=name,
        R=float(R),
        r=float(r),
        L1=float(L1),
        L2=float(L2),
        rod_spacing=float(spacing),
        azimuths=(legs[0][0], legs[1][0], legs[2][0]),
        joint_names=(joint_names[0], joint_names[1], joint_names[2]),
        limits=frozen([limits(j) for j in joints]),
        tool=frozen(T),
        arm_inertia=arm,
        rod_mass=None if rod is None else 2.0 * rod.mass,
        platform_mass=None if platform is None else platform.mass,
        friction=friction,
        drive=drive,
        parts={wanted: parts(i) for wanted, i in bodies.items()},
        **common,
    )


def _drive(m: Any, joint: int, max_torque: Callable[[int], float]) -> tuple[Friction, Drive]:
    dof = int(m.jnt_dofadr[joint])
    loss = float(m.dof_frictionloss[dof])
    drive = Drive(max_torque=max_torque(joint), motor_inertia=float(m.dof_armature[dof]))
    return Friction(float(m.dof_damping[dof]), (loss, loss)), drive


def _equal(one: Inertia, other: Inertia | None) -> bool:
    return other is not None and all(
        np.allclose(a, b, rtol=_EQUAL, atol=1e-12)
        for a, b in ((one.mass, other.mass), (one.com, other.com), (one.tensor, other.tensor))
    )
