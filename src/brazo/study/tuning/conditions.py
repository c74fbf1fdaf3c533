"""Conditions under which candidate gains are simulated, and harder ones for the final check."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from brazo.control import LoopConditions
from brazo.control.loop_stability import PlantVariant
from brazo.errors import BrazoError
from brazo.robot import Robot
from brazo.study.scenario import COMPILED, Case, joint_index

PAYLOAD = 0.1  # of the mass of the robot
MASS_ERROR = 0.2
START_ERROR = 0.02  # rad and m
HARDER = 1.5  # payload, mass error and start error of the final check, as a multiple


def tuning_cases(robot: Robot, dt: float = 1e-3, delay: float | None = None) -> list[Case]:
    """Return the default cases: nominal, payload, mass errors of ±20 %, start error, delay.

    The payload is a tenth of the mass of the robot.  The start error is 0.02 rad or 0.02 m.
    `delay` (s) is one control period by default.
    """
    return [
        Case(),
        Case("payload", payload=PAYLOAD * _mass(robot)),
        Case("heavier", mass_error=MASS_ERROR),
        Case("lighter", mass_error=-MASS_ERROR),
        Case("start error", start_error=START_ERROR),
        Case("delay", delay=dt if delay is None else delay),
    ]


def harder(cases: Sequence[Case], dt: float) -> list[Case]:
    """Return the cases of the final check, which deviate more from the nominal conditions.

    Payload, mass error and start error are 1.5 times as large, with a mass error of at least −0.9.
    A delay that is not 0 is one control period longer.
    """
    return [
        replace(
            case,
            payload=HARDER * case.payload,
            mass_error=max(HARDER * case.mass_error, -0.9),
            start_error=HARDER * case.start_error,
            delay=case.delay + dt if case.delay else 0.0,
        )
        for case in cases
    ]


def plant_variants(cases: Sequence[Case], dt: float) -> list[PlantVariant]:
    """Return the different combinations of payload, mass and delay of the cases.

    They are used for linear models.
    """
    found: dict[tuple[float, float, int], PlantVariant] = {}
    for case in cases:
        delay = round(case.delay / dt)
        key = case.payload, 1.0 + case.mass_error, delay
        found.setdefault(key, PlantVariant(case.name, *key))
    return list(found.values())


def loop_conditions(robot: Robot, cases: Sequence[Case], dt: float) -> LoopConditions:
    """Return the cases as conditions for one batch of closed loops, with one entry per case."""
    for name in ("payload_com", "payload_known"):
        if len({getattr(case, name) for case in cases}) > 1:
            raise BrazoError(f"tune: all cases must have the same {name}")
    n, count = robot.n, len(cases)
    loss, loss_time, bias, bias_time, push = np.zeros((5, count, n))
    for k, case in enumerate(cases):
        if case.disturbance:
            push[k, joint_index(robot, case.disturbance_joint, "disturbance")] = case.disturbance
        for fault in case.faults:
            i = fault.index(robot)
            if fault.kind not in COMPILED:
                raise BrazoError(
                    f"tune: case '{case.name}': fault '{fault.kind}' is not available; "
                    f"use {', '.join(COMPILED)}"
                )
            if fault.kind == "encoder bias":
                bias[k, i], bias_time[k, i] = fault.value, fault.at
            else:
                loss[k, i] = 1.0 if fault.kind == "unpowered" else fault.value
                loss_time[k, i] = fault.at

    def each(name: str) -> np.ndarray:
        return np.array([getattr(case, name) for case in cases], dtype=float)

    return LoopConditions(
        payload=each("payload"),
        payload_com=cases[0].payload_com,
        payload_known=cases[0].payload_known,
        mass_scale=1.0 + each("mass_error"),
        torque_loss=loss,
        torque_loss_time=loss_time,
        encoder_bias=bias,
        encoder_bias_time=bias_time,
        position_noise=each("position_noise")[:, None],
        velocity_noise=each("velocity_noise")[:, None],
        disturbance=push,
        disturbance_start=each("disturbance_start"),
        disturbance_stop=each("disturbance_stop"),
        delay=each("delay"),
        seed=np.arange(count),
    )


def starts(robot: Robot, cases: Sequence[Case], q: np.ndarray) -> np.ndarray:
    """Return the start positions (cases, n): the reference q plus or minus the start error.

    The sign alternates between joints.
    """
    signs = np.where(np.arange(robot.n) % 2, -1.0, 1.0)
    return q + np.array([case.start_error for case in cases])[:, None] * signs


def _mass(robot: Robot) -> float:
    """Return the mass (kg) of the links of a robot."""
    model: Any = robot.model
    if model.closed_loops:
        from brazo.dynamics.delta import DeltaDynamics

        d = DeltaDynamics(model)
        return float(3.0 * (d.arm_mass + d.rod_mass) + d.platform_mass)
    from brazo.dynamics.links import links_of

    return float(sum(link.inertia.mass for link in links_of(model.require_tree()).links))
