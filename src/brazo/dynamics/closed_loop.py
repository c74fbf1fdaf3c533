"""A robot under a control law, many steps in one native call.

Once a step the law reads the state and chooses torques, which are held while one Runge–Kutta step
moves the robot (zero-order hold):

    PID               s ← s + e dt,   τ = Kp e + Ki s + Kd ė                 e = q_ref − q
    ComputedTorque    s ← s + e dt,   τ = M(q) (q̈_ref + Kp e + Ki s + Kd ė) + h(q, q̇)
    HeldTorque        τ constant; zero is free motion

Torques are cut at ±limit.  With anti-windup the integral s stands still while its own joint is cut
and the error would push it further.  Leading dimensions of any start, gain or reference are
independent robots: thousands run at once, each with the very bits it has alone.

    run = closed_loop(arm, PID(kp=200, ki=50, kd=30), q0=home, reference=Reference(q=goal))
    run.q[-1], run.tau.max()

Joints have no stops here; `brazo.dynamics.simulate` has them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from brazo.codegen import Graph, maximum, minimum, where
from brazo.codegen.loop import Loop, compile_loop
from brazo.dynamics.definite import doubt
from brazo.dynamics.integrators import held_torque_step
from brazo.errors import BrazoError, RunFailed

__all__ = ["PID", "ClosedLoop", "ComputedTorque", "HeldTorque", "Reference", "closed_loop"]

Scalar = Any
Vector = list[Scalar]


@dataclass(frozen=True, slots=True, eq=False)
class PID:
    """Gains of every joint: one number, (n,), or (..., n) for many robots; limit in N m or N."""

    kp: Any
    ki: Any = 0.0
    kd: Any = 0.0
    limit: Any = math.inf
    anti_windup: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class ComputedTorque:
    """As `PID`, but the gains act on the joint's acceleration: kp in 1/s², kd in 1/s."""

    kp: Any
    ki: Any = 0.0
    kd: Any = 0.0
    limit: Any = math.inf
    anti_windup: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class HeldTorque:
    """Torques (..., n) that do not change."""

    tau: Any = 0.0


Law = PID | ComputedTorque | HeldTorque


@dataclass(frozen=True, slots=True, eq=False)
class Reference:
    """Where the joints should be: (n,) for all steps, (steps, n), or (..., steps, n) for many
    robots; (..., 1, n) gives each robot its own set-point.  Speed and acceleration are zero unless
    given."""

    q: Any
    qd: Any = 0.0
    qdd: Any = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class ClosedLoop:
    """What came of a run: the last state and every `every`-th step before it."""

    end_q: np.ndarray  # (..., n)
    end_qd: np.ndarray  # (..., n)
    t: np.ndarray  # (m,) s; row k of the arrays below is the state then
    q: np.ndarray  # (..., m, n)
    qd: np.ndarray  # (..., m, n)
    tau: np.ndarray  # (..., m, n) held during the step that ended then


def closed_loop(
    arm: Any,
    law: Law,
    q0: Any = None,
    qd0: Any = None,
    reference: Reference | Any = None,
    dt: float = 1e-3,
    steps: int = 1000,
    every: int = 1,
    threads: int | None = None,
) -> ClosedLoop:
    """Run `steps` steps of `dt` seconds from `q0` (the file's first pose) and `qd0` (rest).

    `reference` is a `Reference` or joint values; by default the robot holds where it starts.
    `every` 0 keeps the last state only.
    """
    if not (math.isfinite(dt) and dt > 0.0):
        raise BrazoError(f"dt = {dt} s; it must be greater than 0")
    if steps < 1:
        raise BrazoError(f"steps = {steps}; it must be at least 1")
    n = arm.n
    q0 = next(iter(arm.poses.values()), np.zeros(n)) if q0 is None else q0
    q0, qd0 = np.asarray(q0, dtype=float), np.asarray(0.0 if qd0 is None else qd0, dtype=float)
    start = [q0, qd0]
    if isinstance(law, HeldTorque):
        inputs: dict[str, Any] = {"tau": _rows(law.tau, n)}
    else:
        start.append(np.zeros(n))
        inputs = {
            f.name: _rows(getattr(law, f.name), n) for f in fields(law) if f.name != "anti_windup"
        }
        inputs |= _reference(reference, q0, n)
    shapes = {"q0": q0.shape, "qd0": qd0.shape}
    if q0.shape[-1:] != (n,) or qd0.shape[-1:] not in ((), (n,)):
        raise BrazoError(f"closed loop: {shapes}; wanted (..., {n}) each")
    lead = np.broadcast_shapes(*(x.shape[:-1] for x in start))
    x = np.concatenate([np.broadcast_to(part, (*lead, n)) for part in start], axis=-1)
    loop = law_loop(arm.dynamics, type(law), getattr(law, "anti_windup", False))
    run = loop(steps, every=every, threads=threads, x=x, dt=[dt], **inputs)
    if not np.isfinite(run.x).all():
        _blown_up(arm, run.x, steps * dt)
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


def law_loop(dynamics: Any, law: type[Law], anti_windup: bool) -> Loop:
    """The compiled loop of a law around a robot; made once."""
    known = _LOOPS.setdefault(dynamics, {})
    key = law, anti_windup
    if key not in known:
        known[key] = _law_loop(dynamics, law, anti_windup)
    return known[key]


_LOOPS: WeakKeyDictionary[Any, dict[tuple[type, bool], Loop]] = WeakKeyDictionary()


def _law_loop(dynamics: Any, law: type[Law], anti_windup: bool) -> Loop:
    n = dynamics.n
    g = Graph()
    if law is HeldTorque:
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
    if law is ComputedTorque:
        effort = dynamics.forces(q, qd, [a + b for a, b in zip(qdd_ref, effort, strict=True)])
    tau = [maximum(minimum(a, b), -b) for a, b in zip(effort, limit, strict=True)]
    if anti_windup:
        grown = [_held_when_cut(*each) for each in zip(s, grown, e, effort, limit, strict=True)]
    q1, qd1 = held_torque_step(g, dynamics.motion, q, qd, tau, dt)
    name = "computed_torque" if law is ComputedTorque else "pid"
    streams = ("q_ref", "qd_ref", "qdd_ref")
    return compile_loop(name, g, {"x": [*q1, *qd1, *grown], "tau": tau}, streams)


def _held_when_cut(s: Scalar, grown: Scalar, e: Scalar, effort: Scalar, limit: Scalar) -> Scalar:
    """The integral: as it was when the torque is cut and the error has the torque's sign."""
    above = where(effort - limit, where(e, s, grown), grown)
    return where(-limit - effort, where(-e, s, grown), above)


def _rows(value: Any, n: int) -> np.ndarray:
    """A gain as (..., n)."""
    array = np.asarray(value, dtype=float)
    return np.full(n, float(array)) if array.ndim == 0 else array


def _reference(reference: Any, q0: np.ndarray, n: int) -> dict[str, np.ndarray]:
    """The three streams of a reference."""
    if reference is None:
        reference = Reference(q=q0[..., None, :])
    elif not isinstance(reference, Reference):
        reference = Reference(q=reference)
    streams = {}
    for key in ("q", "qd", "qdd"):
        array = _rows(getattr(reference, key), n)
        streams[f"{key}_ref"] = array[None, :] if array.ndim == 1 else array
    return streams


def _blown_up(arm: Any, x: np.ndarray, t_end: float) -> None:
    *run, joint = np.argwhere(~np.isfinite(x))[0].tolist()
    which = f" of run {run[0] if len(run) == 1 else tuple(run)}" if run else ""
    raise RunFailed(
        f"joint {joint % arm.n + 1} ({arm.joint_names[joint % arm.n]}){which} is no longer finite "
        f"before t = {t_end:g} s: the loop is unstable; take lower gains or a smaller dt"
        + doubt(arm.model)
    )
