"""The state of a world: saved, restored to the last bit, and carried over into an edited model.

A saved state is all that the engine integrates from (positions, speeds, controls, applied forces,
active equalities, user data, the solver's warm start) plus the little that this layer adds: the
poses welded bodies are kept in, and which robots feel forces and use the weld rule.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from brazo.errors import BrazoError
from brazo.formats.mjcf.engine import engine
from brazo.model.description import Array


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """A moment of a world."""

    time: float
    engine: Array
    welds: Array  # the engine's data of every equality
    switches: tuple[tuple[bool, bool], ...]  # per robot: force feedback, weld rule
    layout: tuple[str, ...]  # names of the joints the numbers belong to


def layout_of(model: Any) -> tuple[str, ...]:
    """Names of a model's joints, in order."""
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
    """Refuse a state of another world."""
    mujoco = engine()
    size = mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_INTEGRATION)
    if state.layout != layout or len(state.engine) != size:
        raise BrazoError("the state was saved from another world: its robots or bodies differ")


def restore(model: Any, data: Any, state: State) -> None:
    """Put the engine into a saved state and compute all that follows from it."""
    mujoco = engine()
    kind = mujoco.mjtState.mjSTATE_INTEGRATION
    model.eq_data[:] = state.welds
    mujoco.mj_setState(model, data, state.engine, kind)
    mujoco.mj_forward(model, data)
    # Solving once more has moved the warm start.
    mujoco.mj_setState(model, data, state.engine, kind)


def carry_over(old_model: Any, old: Any, model: Any, data: Any) -> None:
    """Bring the state of a model into an edited one; joints, drives, welds, locks go by name."""
    mujoco = engine()
    data.time = old.time
    joints = {old_model.joint(i).name: i for i in range(old_model.njnt)}
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
    drives = {old_model.actuator(i).name: i for i in range(old_model.nu)}
    for i in range(model.nu):
        k = drives.get(model.actuator(i).name)
        if k is not None:
            data.ctrl[i] = old.ctrl[k]
    kinds = int(mujoco.mjtEq.mjEQ_WELD), int(mujoco.mjtEq.mjEQ_JOINT)
    equalities = {old_model.equality(i).name: i for i in range(old_model.neq)}
    for i in range(model.neq):
        k = equalities.get(name) if (name := model.equality(i).name) else None
        if k is not None and int(model.eq_type[i]) in kinds:
            data.eq_active[i] = old.eq_active[k]
            model.eq_data[i] = old_model.eq_data[k]
    if model.nuserdata == old_model.nuserdata:
        data.userdata[:] = old.userdata
    bodies = {old_model.body(i).name: i for i in range(1, old_model.nbody)}
    for i in range(1, model.nbody):
        k = bodies.get(model.body(i).name)
        if k is not None:
            data.xfrc_applied[i] = old.xfrc_applied[k]


def _widths(mujoco: Any, kind: int) -> tuple[int, int]:
    """How many positions and rates a joint has."""
    if kind == mujoco.mjtJoint.mjJNT_FREE:
        return 7, 6
    return (4, 3) if kind == mujoco.mjtJoint.mjJNT_BALL else (1, 1)
