"""A robot in closed loop with a controller, many steps in one native call.

Once per step the controller reads the state and computes torques, which are held constant during
one Runge–Kutta step of the robot (zero-order hold):

    PIDGains              s ← s + e dt,  τ = Kp e + Ki s + Kd ė               e = q_ref − q
    ComputedTorqueGains   s ← s + e dt,  τ = M(q) (q̈_ref + Kp e + Ki s + Kd ė) + h(q, q̇)
    HeldTorque            τ constant; zero is free motion

Torques are clipped to ±limit.  With anti-windup the integral s of a joint is frozen while its
torque is clipped and the error has the same sign.  Leading dimensions of any start, gain or
reference are independent robots: thousands run at once, each with results bit-identical to a run
on its own.

    run = closed_loop(arm, PIDGains(kp=200, ki=50, kd=30), q0=home, reference=Reference(q=goal))
    run.q[-1], run.tau.max()

Joint stops are not modelled here; see `brazo.dynamics.simulate`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from brazo.codegen import Graph, maximum, minimum, where
from brazo.codegen.loop import Loop, compile_loop
from brazo.deprecation import renamed_names
from brazo.dynamics.definite import doubt
from brazo.dynamics.integrators import held_torque_step
from brazo.errors import BrazoError, RunFailed

__all__ = [
    "ClosedLoop",
    "ComputedTorqueGains",
    "HeldTorque",
    "PIDGains",
    "ReferenceSamples",
    "closed_loop",
]

__getattr__ = renamed_names(
    __name__,
    {
        "ComputedTorque": "ComputedTorqueGains",
        "PID": "PIDGains",
        "Reference": "ReferenceSamples",
    },
)

Scalar = Any
Vector = list[Scalar]


@dataclass(frozen=True, slots=True, eq=False)
class PIDGains:
    """PID gains per joint: a number, (n,), or (..., n) for a batch of robots; limit in N m or N."""

    kp: Any
    ki: Any = 0.0
    kd: Any = 0.0
    limit: Any = math.inf
    anti_windup: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class ComputedTorqueGains(PIDGains):
    """As `PIDGains`, but the gains act on joint acceleration: kp in 1/s², kd in 1/s, ki in 1/s³."""


@dataclass(frozen=True, slots=True, eq=False)
class HeldTorque:
    """Constant torques (..., n)."""

    tau: Any = 0.0


ControllerGains = PIDGains | ComputedTorqueGains | HeldTorque


@dataclass(frozen=True, slots=True, eq=False)
class ReferenceSamples:
    """Joint reference: (n,) for all steps, (steps, n), or (..., steps, n) for a batch of robots;
    (..., 1, n) gives each robot its own set-point.  Velocity and acceleration default to zero."""

    q: Any
    qd: Any = 0.0
    qdd: Any = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class ClosedLoop:
    """Result of a run: the final state and every `every`-th step before it."""

    end_q: np.ndarray  # (..., n)
    end_qd: np.ndarray  # (..., n)
    t: np.ndarray  # (m,) s, of the rows of the arrays below
    q: np.ndarray  # (..., m, n)
    qd: np.ndarray  # (..., m, n)
    tau: np.ndarray  # (..., m, n) held during the step that ends at t


def closed_loop(
    arm: Any,
    controller: ControllerGains,
    q0: Any = None,
    qd0: Any = None,
    reference: ReferenceSamples | Any = None,
    dt: float = 1e-3,
    steps: int = 1000,
    every: int = 1,
    threads: int | None = None,
) -> ClosedLoop:
    """Run `steps` steps of `dt` seconds from `q0` (the file's first pose) and `qd0` (rest).

    `reference` is a `ReferenceSamples` or joint values; by default the start pose is held.
    With `every=0` only the final state is kept.
    """
    if not (math.isfinite(dt) and dt > 0.0):
        raise BrazoError(f"dt = {dt} s; it must be greater than 0")
    if steps < 1:
        raise BrazoError(f"steps = {steps}; it must be at least 1")
    n = arm.n
    q0 = next(iter(arm.poses.values()), np.zeros(n)) if q0 is None else q0
    q0, qd0 = np.asarray(q0, dtype=float), np.asarray(0.0 if qd0 is None else qd0, dtype=float)
    start = [q0, qd0]
    if isinstance(controller, HeldTorque):
        inputs: dict[str, Any] = {"tau": _rows(controller.tau, n)}
    else:
        start.append(np.zeros(n))
        inputs = {
            f.name: _rows(getattr(controller, f.name), n)
            for f in fields(controller)
            if f.name != "anti_windup"
        }
        inputs |= _reference(reference, q0, n)
    shapes = {"q0": q0.shape, "qd0": qd0.shape}
    if q0.shape[-1:] != (n,) or qd0.shape[-1:] not in ((), (n,)):
        raise BrazoError(f"closed loop: {shapes}; expected (..., {n}) each")
    lead = np.broadcast_shapes(*(x.shape[:-1] for x in start))
    x = np.concatenate([np.broadcast_to(part, (*lead, n)) for part in start], axis=-1)
    loop = controller_loop(
        arm.dynamics, type(controller), getattr(controller, "anti_windup", False)
    )
    run = loop(steps, every=every, threads=threads, x=x, dt=[dt], **inputs)
    if not np.isfinite(run.x).all():
        _raise_unstable(arm, run.x, steps * dt)
    rows = np.empty((*run.x.shape[:-1], 0, run.x.shape[-1] + n)) if not every else run.record
    assert rows is not None
    return ClosedLoop(
        end_q=run.x[..., :n],
        end_qd=run.x[..., n : 2 * n],
        t=dt * every * np.arange(1, rows.shape[-2] + 1),
        q=rows[..., :n],
        qd=rows[..., n : 2 * n],
        tau=rows[..., -n:],
    )


def controller_loop(dynamics: Any, kind: type[ControllerGains], anti_windup: bool) -> Loop:
    """The compiled closed loop of a robot and a kind of controller; cached."""
    known = _LOOPS.setdefault(dynamics, {})
    key = kind, anti_windup
    if key not in known:
        known[key] = _compile_controller_loop(dynamics, kind, anti_windup)
    return known[key]


_LOOPS: WeakKeyDictionary[Any, dict[tuple[type, bool], Loop]] = WeakKeyDictionary()


def _compile_controller_loop(dynamics: Any, kind: type[ControllerGains], anti_windup: bool) -> Loop:
    n = dynamics.n
    g = Graph()
    if kind is HeldTorque:
        x, (dt,), tau = g.inputs("x", 2 * n), g.inputs("dt", 1), g.inputs("tau", n)
        q1, qd1 = held_torque_step(g, dynamics.motion, x[:n], x[n:], tau, dt)
        return compile_loop("held_torque", g, {"x": [*q1, *qd1], "tau": tau})
    x, (dt,) = g.inputs("x", 3 * n), g.inputs("dt", 1)
    kp, ki, kd, limit = (g.inputs(name, n) for name in ("kp", "ki", "kd", "limit"))
    q_ref, qd_ref, qdd_ref = (g.inputs(name, n) for name in ("q_ref", "qd_ref", "qdd_ref"))
    q, qd, s = x[:n], x[n : 2 * n], x[2 * n :]
    e = [r - a for r, a in zip(q_ref, q, strict=True)]
    grown = [a + b * dt for a, b in zip(s, e, strict=True)]
    effort = [kp[i] * e[i] + ki[i] * grown[i] + kd[i] * (qd_ref[i] - qd[i]) for i in range(n)]
    if kind is ComputedTorqueGains:
        effort = dynamics.forces(q, qd, [a + b for a, b in zip(qdd_ref, effort, strict=True)])
    tau = [maximum(minimum(a, b), -b) for a, b in zip(effort, limit, strict=True)]
    if anti_windup:
        grown = [_anti_windup(*each) for each in zip(s, grown, e, effort, limit, strict=True)]
    q1, qd1 = held_torque_step(g, dynamics.motion, q, qd, tau, dt)
    name = "computed_torque" if kind is ComputedTorqueGains else "pid"
    streams = ("q_ref", "qd_ref", "qdd_ref")
    return compile_loop(name, g, {"x": [*q1, *qd1, *grown], "tau": tau}, streams)


def _anti_windup(s: Scalar, grown: Scalar, e: Scalar, effort: Scalar, limit: Scalar) -> Scalar:
    """The next integral: unchanged if the torque is clipped and the error has its sign."""
    above = where(effort - limit, where(e, s, grown), grown)
    return where(-limit - effort, where(-e, s, grown), above)


def _rows(value: Any, n: int) -> np.ndarray:
    """A gain as (..., n)."""
    array = np.asarray(value, dtype=float)
    return np.full(n, float(array)) if array.ndim == 0 else array


def _reference(reference: Any, q0: np.ndarray, n: int) -> dict[str, np.ndarray]:
    """Position, velocity and acceleration of a reference, by name."""
    if reference is None:
        reference = ReferenceSamples(q=q0[..., None, :])
    elif not isinstance(reference, ReferenceSamples):
        reference = ReferenceSamples(q=reference)
    streams = {}
    for key in ("q", "qd", "qdd"):
        array = _rows(getattr(reference, key), n)
        streams[f"{key}_ref"] = array[None, :] if array.ndim == 1 else array
    return streams


def _raise_unstable(arm: Any, x: np.ndarray, t_end: float) -> None:
    *run, joint = np.argwhere(~np.isfinite(x))[0].tolist()
    which = f" of run {run[0] if len(run) == 1 else tuple(run)}" if run else ""
    raise RunFailed(
        f"joint {joint % arm.n + 1} ({arm.joint_names[joint % arm.n]}){which} is not finite "
        f"before t = {t_end:g} s: the closed loop is unstable; use lower gains or a smaller dt"
        + doubt(arm.model)
    )
