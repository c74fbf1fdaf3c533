"""Many closed loops at once: controller, robot and metrics in one compiled loop on SIMD lanes.

In every control period the controller reads the encoders and commands torques.  The torques are
constant while the motion is integrated by Runge–Kutta steps, as in `brazo.control.track`.  Gains,
payload, faults and noise are inputs with leading batch dimensions, so one call computes thousands
of runs.  The results of each run are bit-identical to those of the run alone, for any number of
threads.

    many = arm.closed_loop(PID(), sines(arm), t_end=1.0, gains={"kp": kp})     # kp (1000, n)
    many.metrics["rms_error"]                                                  # (1000, n)

The controller uses the masses of the robot that it is bound to.  `LoopConditions` describes how the
controlled robot differs from this model.  Contacts and joint stops are not simulated; use
`brazo.Simulation` to simulate them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from brazo.arrays import float_array
from brazo.codegen import Graph, GraphFunction, where
from brazo.codegen.loop import Loop, compile_loop
from brazo.control.base import torque_limits
from brazo.control.equations import ControlEquations, equations_of
from brazo.control.loop import REFERENCE
from brazo.control.loop_metrics import Accumulators, LoopSignals
from brazo.dynamics.integrators import held_torque_step
from brazo.dynamics.reading import Trajectory, sample_trajectory
from brazo.dynamics.simulate import sample_times
from brazo.errors import BrazoError
from brazo.robot import Robot

if TYPE_CHECKING:
    from brazo.control.compiled import CompiledController

MAX_DELAY = 50  # periods; each is part of the state of the loop
_ORIGIN = (0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True, eq=False)
class LoopConditions:
    """Conditions of closed-loop runs: model errors, faults, noise and delay.

    Model errors are differences between the controlled robot and the model in the controller.
    Arrays may have leading batch dimensions.  A fault is active from its start time on.
    """

    payload: Any = 0.0  # (...) kg, a point mass held by the tool
    payload_com: Any = _ORIGIN  # (3,) m, in the tool frame; the same for all runs
    payload_known: bool = False  # whether the controller knows the payload
    mass_scale: Any = 1.0  # (...) factor on the masses of the robot
    torque_loss: Any = 0.0  # (..., n) fraction of the torque that a drive loses
    torque_loss_time: Any = 0.0  # (..., n) s
    encoder_bias: Any = 0.0  # (..., n) rad and m
    encoder_bias_time: Any = 0.0  # (..., n) s
    position_noise: Any = 0.0  # (..., n) standard deviation of the encoders, rad and m
    velocity_noise: Any = 0.0  # (..., n) rad/s and m/s
    disturbance: Any = 0.0  # (..., n) torque on the joints, N m and N
    disturbance_start: Any = 0.0  # (...) s
    disturbance_stop: Any = math.inf  # (...) s
    delay: Any = 0.0  # (...) s until a torque reaches the drives, rounded to control periods
    seed: Any = 0  # (...) integers of the noise; each has its own stream of random numbers
    #: If not None: compile the code of all conditions, with delays up to this value (s, at most 50
    #: control periods), instead of only the conditions that differ from the defaults.  The loop is
    #: slower, but other conditions (except another `payload_com` or a longer delay) then need no
    #: compilation.
    general: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class ClosedLoopRuns:
    """Results of many closed-loop runs; the leading dimensions of the arrays are the runs."""

    metrics: dict[str, np.ndarray] = field(repr=False)  # (..., n), or (...) for `NAME.tool`
    failed_at: np.ndarray  # (...) time (s) at which a joint diverged; NaN if none did
    t: np.ndarray  # (m,) times (s) of the m recorded samples; m = 0 if `every` is 0
    q: np.ndarray  # (..., m, n)
    qd: np.ndarray  # (..., m, n)
    tau: np.ndarray  # (..., m, n) torque of the drives
    reference: np.ndarray  # (3, m, n)


def closed_loop(
    robot: Robot,
    controller: CompiledController,
    trajectory: Trajectory | np.ndarray,
    t_end: float,
    dt: float = 1e-3,
    substeps: int = 1,
    *,
    q0: Any = None,
    qd0: Any = None,
    gains: Mapping[str, Any] | None = None,
    conditions: LoopConditions | None = None,
    every: int = 0,
    threads: int | None = None,
) -> ClosedLoopRuns:
    """Simulate many closed loops in one call; see `brazo.Robot.closed_loop`."""
    t = sample_times(t_end, dt)
    if not isinstance(substeps, int) or substeps < 1:
        raise BrazoError(f"substeps = {substeps!r}; it must be an integer of at least 1")
    if not isinstance(every, int) or every < 0:
        raise BrazoError(f"every = {every!r}; it must be an integer of at least 0")
    if not controller.is_bound_to(robot, dt):
        controller.bind(robot, dt)
    n, conditions = robot.n, conditions or LoopConditions()
    if isinstance(trajectory, np.ndarray):
        reference = trajectory
        if reference.shape != (3, len(t), robot.n):
            raise BrazoError(
                f"closed_loop: trajectory has shape {reference.shape}; expected "
                f"(3, {len(t)}, {robot.n}): q, qd and qdd at every period"
            )
    else:
        reference = sample_trajectory(trajectory, t, robot)
    tool = robot.fk(reference[0])[:, :3, 3]
    sums = Accumulators(reference, tool, dt, torque_limits(robot))
    read = _Reader(n)
    q = read("q0", reference[0, 0] if q0 is None else q0, (n,))
    qd = read("qd0", reference[1, 0] if qd0 is None else qd0, (n,))
    plan = _Plan.of(conditions, dt)
    inputs, streams = _condition_inputs(conditions, plan, read, len(t), n)
    if plan.delay:
        inputs["delay"] = np.rint(read("delay", conditions.delay) / dt)
    inputs |= _controller_inputs(controller, gains or {}, conditions, read)
    lead = read.lead
    parts = [q, qd]
    if controller.compiled.state_sizes:
        parts.append(_initial_states(controller, q, qd))
    if plan.delay:
        held = robot.inverse_dynamics(*reference[:, 0])
        parts.append(np.tile(held, plan.delay))
    parts += [sums.start(), np.zeros(1)]
    x = np.concatenate([np.broadcast_to(p, (*lead, p.shape[-1])) for p in parts], axis=-1)
    loops, key = controller.compiled.loops, ("runs", robot.dynamics, substeps, plan)
    if key not in loops:
        loops[key] = _compile(controller, robot, substeps, plan, sums)
    run = loops[key](
        len(t),
        every=every,
        threads=threads,
        x=x,
        **dict(zip(REFERENCE, reference, strict=True)),
        reference_tool=tool,
        **streams,
        **sums.inputs,
        **inputs,
    )
    flat = run.x[..., -sums.size - 1 : -1]
    rows = run.record
    if rows is None:
        rows = np.empty((*lead, 0, x.shape[-1] + 3 * n))
    kept = slice(every - 1, None, every) if every else slice(0, 0)
    return ClosedLoopRuns(
        metrics=sums.results(flat),
        failed_at=sums.failed_at(flat),
        t=t[kept],
        q=rows[..., -3 * n : -2 * n],
        qd=rows[..., -2 * n : -n],
        tau=rows[..., -n:],
        reference=reference[:, kept],
    )


@dataclass(frozen=True, slots=True)
class _Plan:
    """Set of conditions for which the machine code of the loop is compiled.

    The values of the conditions are inputs of the loop, so new values need no recompilation.
    """

    payload: tuple[float, float, float] | None
    mass_scale: bool
    torque_loss: bool
    encoder_bias: bool
    noise: bool
    disturbance: bool
    delay: int  # longest delay, in control periods

    @classmethod
    def of(cls, c: LoopConditions, dt: float) -> _Plan:
        com = float_array(c.payload_com, "payload_com")
        if com.shape != (3,) or not np.isfinite(com).all():
            raise BrazoError(f"payload_com = {c.payload_com}; expected 3 finite numbers (m)")
        every = c.general is not None
        longest = 0.0
        general = c.general if every else 0.0
        for name, value in (("delay", c.delay), ("general (longest delay)", general)):
            delay = float_array(value, name)
            if not ((delay >= 0.0) & (delay <= MAX_DELAY * dt * (1 + 1e-9))).all():
                raise BrazoError(
                    f"{name} = {value} s; it must be from 0 to {MAX_DELAY * dt:g} s "
                    f"({MAX_DELAY} control periods)"
                )
            longest = max(longest, float(delay.max(initial=0.0)))
        return cls(
            tuple(com.tolist()) if every or np.any(c.payload) else None,
            every or bool(np.any(np.asarray(c.mass_scale) != 1.0)),
            every or bool(np.any(c.torque_loss)),
            every or bool(np.any(c.encoder_bias)),
            every or bool(np.any(c.position_noise) or np.any(c.velocity_noise)),
            every or bool(np.any(c.disturbance)),
            round(longest / dt),
        )


class _Reader:
    """Converts inputs to arrays and checks that their leading batch dimensions broadcast.

    `lead` is the broadcast batch shape of all inputs that have been read.
    """

    def __init__(self, n: int) -> None:
        self.n = n
        self.lead: tuple[int, ...] = ()

    def __call__(self, name: str, value: Any, tail: tuple[int, ...] = ()) -> np.ndarray:
        """Return `value` as an array (..., size), where `tail` is (size,).

        A single number, or a last dimension of 1, is repeated `size` times.  If `tail` is empty,
        `value` has one number per run, and the result has shape (..., 1).
        """
        array = float_array(value, name)
        if np.isnan(array).any():
            raise BrazoError(f"closed_loop: {name} has values that are not numbers (NaN)")
        if not tail:
            array = array[..., None]
        elif array.ndim == 0:
            array = np.full(tail, float(array))
        elif array.shape[-1] == 1:
            array = np.broadcast_to(array, (*array.shape[:-1], *tail))
        elif array.shape[-1] != tail[0]:
            raise BrazoError(
                f"closed_loop: {name} has shape {array.shape}; expected (..., {tail[0]}), "
                "or a single number"
            )
        try:
            self.lead = np.broadcast_shapes(self.lead, array.shape[:-1])
        except ValueError:
            raise BrazoError(
                f"closed_loop: {name} has batch dimensions {array.shape[:-1]}, which do not "
                f"broadcast with {self.lead}"
            ) from None
        return array


def _condition_inputs(
    c: LoopConditions, plan: _Plan, read: _Reader, rows: int, n: int
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    inputs: dict[str, np.ndarray] = {}
    streams: dict[str, np.ndarray] = {}
    mass = read("payload", c.payload)
    if (mass < 0.0).any() or not np.isfinite(mass).all():
        raise BrazoError("payload: every mass must be finite and at least 0 kg")
    scale = read("mass_scale", c.mass_scale)
    if not ((scale > 0.0) & np.isfinite(scale)).all():
        raise BrazoError("mass_scale: every factor must be finite and greater than 0")
    if plan.payload is not None:
        inputs["payload"] = mass
    if plan.mass_scale:
        inputs["mass_scale"] = scale
    if plan.torque_loss:
        inputs["torque_loss"] = read("torque_loss", c.torque_loss, (n,))
        inputs["torque_loss_time"] = read("torque_loss_time", c.torque_loss_time, (n,))
        if not ((inputs["torque_loss"] >= 0.0) & (inputs["torque_loss"] <= 1.0)).all():
            raise BrazoError("torque_loss: every fraction must be from 0 to 1")
    if plan.encoder_bias:
        inputs["encoder_bias"] = read("encoder_bias", c.encoder_bias, (n,))
        inputs["encoder_bias_time"] = read("encoder_bias_time", c.encoder_bias_time, (n,))
    if plan.disturbance:
        inputs["disturbance"] = read("disturbance", c.disturbance, (n,))
        inputs["disturbance_start"] = read("disturbance_start", c.disturbance_start)
        inputs["disturbance_stop"] = read("disturbance_stop", c.disturbance_stop)
    if plan.noise:
        inputs["position_noise"] = read("position_noise", c.position_noise, (n,))
        inputs["velocity_noise"] = read("velocity_noise", c.velocity_noise, (n,))
        if not (inputs["position_noise"].any() or inputs["velocity_noise"].any()):
            return inputs, {"noise": np.zeros((1, 2 * n))}
        seeds = read("seed", np.asarray(c.seed, dtype=float))[..., 0].astype(np.int64)
        unit = np.empty((*seeds.shape, rows, 2 * n))
        for index in np.ndindex(seeds.shape):
            unit[index] = np.random.default_rng(int(seeds[index])).standard_normal((rows, 2 * n))
        streams["noise"] = unit
    return inputs, streams


def _controller_inputs(
    controller: CompiledController,
    gains: Mapping[str, Any],
    conditions: LoopConditions,
    read: _Reader,
) -> dict[str, np.ndarray]:
    """Inputs of the compiled controller by name, each (..., size): gains, dt and tables.

    A table contains constants that follow from gains and load, such as the gain matrix of an LQR.
    """
    own = controller.gains
    given = {}
    for name, value in gains.items():
        size = len(own[name])  # raises for an unknown gain
        given[name] = read(f"gain {name}", value, (size,))
        own.check(name, given[name])
    found = dict(controller.fixed)
    masses = read("payload", conditions.payload) if conditions.payload_known else np.zeros(1)
    if not given and not masses.any():
        return found
    lead = np.broadcast_shapes(masses.shape[:-1], *(value.shape[:-1] for value in given.values()))
    vector = np.broadcast_to(own.vector, (*lead, len(own.vector))).copy()
    for name, value in given.items():
        vector[..., own.slice_of(name)] = value
    if not controller.tables() and not masses.any():
        return {**found, "gains": vector}
    # Tables such as the gain matrix of an LQR follow from gains and load, run by run.
    import copy

    work, rows = copy.deepcopy(controller), []
    for gain_row, mass in zip(
        vector.reshape(-1, vector.shape[-1]),
        np.broadcast_to(masses, (*lead, 1)).ravel(),
        strict=True,
    ):
        for name in own:
            work.gains[name] = gain_row[own.slice_of(name)]
        work.payload(float(mass), conditions.payload_com)
        rows.append(work.fixed)
    return {
        name: np.array([row[name] for row in rows]).reshape(*lead, -1) if name != "dt" else part
        for name, part in found.items()
    }


def _initial_states(controller: CompiledController, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
    lead = np.broadcast_shapes(q.shape[:-1], qd.shape[:-1])
    q, qd = (np.broadcast_to(v, (*lead, v.shape[-1])).reshape(-1, v.shape[-1]) for v in (q, qd))
    rows = [
        np.concatenate([np.ravel(v) for v in controller.initial_state(a, b).values()])
        for a, b in zip(q, qd, strict=True)
    ]
    return np.array(rows).reshape(*lead, -1)


def _compile(
    controller: CompiledController, robot: Robot, substeps: int, plan: _Plan, sums: Accumulators
) -> Loop:
    """Compile the closed loop of controller and robot under the conditions of `plan`.

    The state of the loop is (q, q̇, controller state, delayed torques, sums of the metrics, number
    of the control period).
    """
    compiled, n = controller.compiled, robot.n
    equations = equations_of(robot.model)
    g = Graph()
    size = compiled.inputs.get("state", 0)
    x = g.inputs("x", 2 * n + size + plan.delay * n + sums.size + 1)
    q, qd, rest = x[:n], x[n : 2 * n], x[2 * n :]
    state, queue, row = rest[:size], rest[size : size + plan.delay * n], x[-1]
    flat = x[-sums.size - 1 : -1]
    sizes = {k: v for k, v in compiled.inputs.items() if k not in ("q", "qd", "state")}
    inputs = {key: g.inputs(key, count) for key, count in sizes.items()}
    tool_goal = g.inputs("reference_tool", 3)
    dt = inputs["dt"][0]
    t = row * dt

    def since(start: Any) -> Any:
        """Return a value that is negative before the period nearest to time `start`, then ≥ 0."""
        return t - start + 0.5 * dt

    streams = [*REFERENCE, "reference_tool"]
    read_q, read_qd = q, qd
    if plan.encoder_bias:
        bias, start = g.inputs("encoder_bias", n), g.inputs("encoder_bias_time", n)
        read_q = [q[i] + where(since(start[i]), bias[i], 0.0) for i in range(n)]
    if plan.noise:
        noise = g.inputs("noise", 2 * n)
        streams.append("noise")
        std, rate = g.inputs("position_noise", n), g.inputs("velocity_noise", n)
        read_q = [read_q[i] + std[i] * noise[i] for i in range(n)]
        read_qd = [qd[i] + rate[i] * noise[n + i] for i in range(n)]
    tau, wanted, state = compiled.step(
        read_q, read_qd, *inputs.values(), *([state] if state else [])
    )
    if plan.delay:
        (delay,) = g.inputs("delay", 1)
        kept = [*queue, *tau]
        for k in range(plan.delay):  # the oldest last, so that the longest delay selects it
            older = queue[n * (plan.delay - 1 - k) :][:n]
            tau = [where(delay - (k + 0.5), a, b) for a, b in zip(older, tau, strict=True)]
        queue = kept[n:]
    if plan.torque_loss:
        loss, start = g.inputs("torque_loss", n), g.inputs("torque_loss_time", n)
        tau = [tau[i] * (1.0 - where(since(start[i]), loss[i], 0.0)) for i in range(n)]
    applied = tau
    if plan.disturbance:
        push = g.inputs("disturbance", n)
        (start,), (stop,) = g.inputs("disturbance_start", 1), g.inputs("disturbance_stop", 1)
        on = where(since(start), where(since(stop), 0.0, 1.0), 0.0)
        applied = [tau[i] + on * push[i] for i in range(n)]
    tool = equations.tool(q)[0][1]
    metric_inputs = {key: g.inputs(key, len(value)) for key, value in sums.inputs.items()}
    goal = inputs[REFERENCE[0]]
    signals = LoopSignals(
        row=row,
        dt=dt,
        error=[r - a for r, a in zip(goal, q, strict=True)],
        q=q,
        qd=qd,
        torque=tau,
        wanted=wanted,
        tool=tool,
        tool_error=[r - a for r, a in zip(tool_goal, tool, strict=True)],
    )
    flat = sums.step(flat, metric_inputs, signals)
    motion, more = _motion(equations, plan, robot, g)
    h = dt / float(substeps)
    before_q, before_qd = q, qd
    for _ in range(substeps):
        q, qd = held_torque_step(g, motion, q, qd, applied, h, *more)
    outputs = {
        "x": [*q, *qd, *state, *queue, *flat, row + 1.0],
        "q": before_q,
        "qd": before_qd,
        "tau": tau,
    }
    return compile_loop(f"runs_{compiled.name.lower()}", g, outputs, streams)


def _motion(
    equations: ControlEquations, plan: _Plan, robot: Robot, g: Graph
) -> tuple[Any, list[list[Any]]]:
    """Graph function of the joint accelerations, and its additional inputs.

    The additional inputs follow q, q̇ and τ: the payload and the mass scale, if the plan has them.
    """
    if plan.payload is None and not plan.mass_scale:
        return robot.dynamics.motion, []
    n, inner = robot.n, Graph()
    q, qd, tau = (inner.inputs(name, n) for name in ("q", "qd", "tau"))
    load = scale = None
    more = []
    if plan.payload is not None:
        unit = equations.load_vector(1.0, plan.payload, _ORIGIN).tolist()
        (mass,) = inner.inputs("payload", 1)
        load = [mass * u if u else 0.0 for u in unit]
        more.append(g.inputs("payload", 1))
    if plan.mass_scale:
        (scale,) = inner.inputs("mass_scale", 1)
        more.append(g.inputs("mass_scale", 1))
    qdd = equations.acceleration(q, qd, tau, load, scale)
    return GraphFunction("loaded_motion", inner, {"qdd": qdd}), more
