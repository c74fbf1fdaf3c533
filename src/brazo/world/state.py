"""State of a world: saving, bit-exact restoring, and copying to an edited model.

A saved state consists of the engine's integration state (positions, velocities, controls, applied
forces, active equalities, user data, the solver's warm start), the data of all equalities (such as
the relative poses of welded bodies), and two flags for each robot: whether its contact response is
on, and whether its gripper uses the weld rule.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from brazo.errors import BrazoError
from brazo.formats.mjcf.engine import engine
from brazo.model.description import Array

WELD = "weld "  # in the names of the equalities between hands and bodies
_NONE: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """Saved state of a world at one time."""

    time: float
    engine: Array
    welds: Array  # `eq_data` of all equalities
    switches: tuple[tuple[bool, bool], ...]  # per robot: contact response, weld rule
    layout: tuple[str, ...]  # names of the joints that the values belong to


def layout_of(model: Any) -> tuple[str, ...]:
    """Return the names of the joints of a compiled model, in order."""
    return tuple(model.joint(i).name for i in range(model.njnt))


def save(
    model: Any, data: Any, switches: tuple[tuple[bool, bool], ...], layout: tuple[str, ...]
) -> State:
    mujoco = engine()
    kind = mujoco.mjtState.mjSTATE_INTEGRATION
    numbers = np.zeros(mujoco.mj_stateSize(model, kind))
    mujoco.mj_getState(model, data, numbers, kind)
    for array in (numbers, welds := np.array(model.eq_data)):
        array.flags.writeable = False
    return State(float(data.time), numbers, welds, switches, layout)


def check(model: Any, state: State, layout: tuple[str, ...]) -> None:
    """Raise `BrazoError` if a state was saved from a model with other joints.

    `layout` are the joint names of the current model.
    """
    mujoco = engine()
    size = mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_INTEGRATION)
    if state.layout != layout or len(state.engine) != size:
        raise BrazoError(
            "the state was saved from another world, with other robots or bodies; restore it in "
            "a world of the same cell"
        )


def restore(model: Any, data: Any, state: State) -> None:
    """Set the engine to a saved state and compute all derived quantities."""
    mujoco = engine()
    kind = mujoco.mjtState.mjSTATE_INTEGRATION
    model.eq_data[:] = state.welds
    mujoco.mj_setState(model, data, state.engine, kind)
    mujoco.mj_forward(model, data)
    # `mj_forward` has changed the warm start.
    mujoco.mj_setState(model, data, state.engine, kind)


def carry_over(
    old_model: Any, old: Any, model: Any, data: Any, renamed: Mapping[str, str] = _NONE
) -> None:
    """Copy the state `old` of `old_model` to `data` of an edited `model`.

    Joints, drives, bodies and equalities are matched by name.  `renamed` maps old names of robots
    and bodies to new ones.  The commands of grippers are not copied, because their indices in the
    user data may differ between the two models.
    """
    mujoco = engine()
    data.time = old.time

    def now(name: str) -> str:
        return renamed_element(name, renamed)

    joints = {now(old_model.joint(i).name): i for i in range(old_model.njnt)}
    for i in range(model.njnt):
        k = joints.get(model.joint(i).name)
        if k is None or old_model.jnt_type[k] != model.jnt_type[i]:
            continue
        width, rates = _widths(mujoco, int(model.jnt_type[i]))
        to, at = int(model.jnt_qposadr[i]), int(old_model.jnt_qposadr[k])
        data.qpos[to : to + width] = old.qpos[at : at + width]
        to, at = int(model.jnt_dofadr[i]), int(old_model.jnt_dofadr[k])
        data.qvel[to : to + rates] = old.qvel[at : at + rates]
        data.qacc_warmstart[to : to + rates] = old.qacc_warmstart[at : at + rates]
    drives = {now(old_model.actuator(i).name): i for i in range(old_model.nu)}
    for i in range(model.nu):
        k = drives.get(model.actuator(i).name)
        if k is not None:
            data.ctrl[i] = old.ctrl[k]
    kinds = int(mujoco.mjtEq.mjEQ_WELD), int(mujoco.mjtEq.mjEQ_JOINT)
    equalities = {now(old_model.equality(i).name): i for i in range(old_model.neq)}
    for i in range(model.neq):
        k = equalities.get(name) if (name := model.equality(i).name) else None
        if k is not None and int(model.eq_type[i]) in kinds:
            data.eq_active[i] = old.eq_active[k]
            model.eq_data[i] = old_model.eq_data[k]
    bodies = {now(old_model.body(i).name): i for i in range(1, old_model.nbody)}
    for i in range(1, model.nbody):
        k = bodies.get(model.body(i).name)
        if k is not None:
            data.xfrc_applied[i] = old.xfrc_applied[k]


def renamed_element(name: str, renamed: Mapping[str, str]) -> str:
    """Return the new name of a joint, drive, body or weld of the engine after a renaming.

    `name` has the form `body`, `robot/joint` or `robot/weld body`.  `renamed` maps old names of
    robots and bodies to new ones.
    """
    if not renamed or not name:
        return name
    owner, slash, rest = name.partition("/")
    if rest.startswith(WELD):
        body = rest.removeprefix(WELD)
        rest = WELD + renamed.get(body, body)
    return renamed.get(owner, owner) + slash + rest


def _widths(mujoco: Any, kind: int) -> tuple[int, int]:
    """Return how many position and velocity coordinates a joint of MuJoCo type `kind` has."""
    if kind == mujoco.mjtJoint.mjJNT_FREE:
        return 7, 6
    return (4, 3) if kind == mujoco.mjtJoint.mjJNT_BALL else (1, 1)
