"""Drive model: motor, supply, gear and servo of every joint in one compiled step.

A motor with current i drives a joint of speed w through a gear.  All values are referred to the
joint side: K = N k for gear ratio N and torque constant k, B is the viscous friction of the motor,
A the inertia of rotor and joint, V the voltage, and r the sum of all other torques.  R and L are
the resistance and inductance of the motor:

    L di/dt = V − R i − K w
    A dw/dt = K i − B w + r

V, B and r are constant during a step, so z = (i, w) has an exact solution: z₁ = z∞ + e^X (z₀ − z∞).
X is the matrix of the equations times the step.  The exponential is computed by a Padé
approximation with squaring, as e^X = α 1 + β X.  Every function of a 2 × 2 matrix has this form.

The joints of an arm accelerate each other: r_i = −h_i − Σ_{j≠i} M_ij δ_j/dt, with δ = w₁ − w₀ and
h = C q̇ + G + friction of the joints.  By the exact solution, δ_i is a linear function
p_i + s_i r_i of the torque r_i.  The changes δ of the speeds therefore follow from one symmetric
positive definite system:

    δ_i/s_i + Σ_{j≠i} M_ij δ_j/dt = p_i/s_i − h_i

The simulation then applies the mean torque of the step, τ = M δ/dt + h.  The result is exact for
one joint or a diagonal M, and stable for any step.

*Friction.*  Coulomb friction of the motor and the gear loss are one dry friction torque of at most
F.  For a gear of efficiency η, the gear loss is 1 − η of the motor torque if the motor drives the
joint, and 1/η − 1 of the motor torque if the joint drives the motor.  If less than F is needed to
stop the joint within the step, the joint sticks: B is set so high that the joint is at rest after
the step, whatever torque the other joints exert.  Otherwise the joint slides against a constant
torque F.  Hence friction never adds energy, and never exceeds F while the joint slides.

*Backlash.*  The rotor has a position and speed of its own.  Inside the gap the rotor turns
alone, and the joint receives no torque.  When the rotor reaches a tooth flank, the impact is
inelastic.  Rotor and joint then move together until the flank would have to pull.

*Command.*  The current command is i* = τ/K, clipped to the max current of the motor.  τ is the
torque of the controller, or the torque τ* of the servo if the joint has one:

    w* = q̇_ref + k_p e + k_i ∫e          e = q_ref − q̂,  q̂: encoder reading,  ŵ: its rate
    τ* = k_v (w* − ŵ) + k_vi ∫(w* − ŵ)

The amplifier drives i to i* with the bandwidth of its current loop.  An amplifier without a current
loop applies V = R i* + K w.  The duty cycle is rounded to the PWM resolution and clipped to ±1.  It
is reduced if the current at the end of the step would exceed the limit.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from brazo.codegen import Graph, Kernel, absolute, compile_kernel, maximum, minimum, where
from brazo.codegen.linear import dot, ldl_solve
from brazo.codegen.ring import rint, sign
from brazo.control.equations import ControlEquations, equations_of
from brazo.errors import BrazoError
from brazo.model.actuators import Actuator
from brazo.robot import Robot

__all__ = ["Drives", "MotorStep", "motor_step"]

Scalar = Any
Vector = list[Scalar]
STUCK = 100.0  # the speed of a stuck joint decays by e^−STUCK in a step
_NUMERATOR, _DENOMINATOR = (
    [
        s**j
        * math.factorial(13 - j)
        * math.factorial(m)
        / (math.factorial(13) * math.factorial(j) * math.factorial(m - j))
        for j in range(m + 1)
    ]
    for m, s in ((6, 1.0), (7, -1.0))
)  # Padé approximation of exp, decaying for stiff X; relative error 1e-18 for |X| < 0.5


# ---- one motor ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class MotorStep:
    """Changes Δi of the motor current and Δw of the joint speed in one step.

    Both changes are linear in the voltage V and the load torque r.  The last four fields are their
    derivatives with respect to V and r.
    """

    current: Scalar  # Δi at V and r, A
    speed: Scalar  # Δw at V and r, rad/s or m/s
    current_by_voltage: Scalar  # ∂Δi/∂V
    speed_by_voltage: Scalar
    current_by_load: Scalar  # ∂Δi/∂r
    speed_by_load: Scalar  # ∂Δw/∂r, positive

    def more(self, voltage: Scalar, load: Scalar = 0.0) -> MotorStep:
        """Return the same step with the given voltage and load torque added."""
        return MotorStep(
            self.current + self.current_by_voltage * voltage + self.current_by_load * load,
            self.speed + self.speed_by_voltage * voltage + self.speed_by_load * load,
            self.current_by_voltage,
            self.speed_by_voltage,
            self.current_by_load,
            self.speed_by_load,
        )


def motor_step(
    resistance: Scalar,
    inductance: Scalar,
    constant: Scalar,
    friction: Scalar,
    inertia: Scalar,
    i: Scalar,
    w: Scalar,
    voltage: Scalar,
    load: Scalar,
    dt: float,
    squarings: int = 6,
) -> MotorStep:
    """Exact change of current `i` (A) and joint speed `w` (rad/s) in `dt` (s), for any scalar type.

    All values are referred to the joint: `constant` K (N m/A), `friction` B (N m s/rad), `inertia`
    A (kg m²).  `voltage` (V) and `load` torque (N m) are constant during the step.  `squarings` is
    the number of squarings with which the matrix exponential is computed.
    """
    R, K, B = resistance, constant, friction
    a, b = -R * dt / inductance, -K * dt / inductance
    c, d = K * dt / inertia, -B * dt / inertia
    alpha, beta = _exponential(a + d, a * d - b * c, squarings)
    e11, e12, e21, e22 = alpha + beta * a, beta * b, beta * c, alpha + beta * d
    det = R * B + K * K
    off_i = i - (voltage * B - K * load) / det
    off_w = w - (K * voltage + R * load) / det
    return MotorStep(
        e11 * off_i + e12 * off_w,
        e21 * off_i + e22 * off_w,
        -(e11 * B + e12 * K) / det,
        -(e21 * B + e22 * K) / det,
        (e11 * K - e12 * R) / det,
        (e21 * K - e22 * R) / det,
    )


def _exponential(trace: Scalar, det: Scalar, squarings: int) -> tuple[Scalar, Scalar]:
    """Return (α − 1, β) with e^X = α 1 + β X, for a 2 × 2 matrix X given by trace and determinant.

    D = e^X − 1 is squared instead of e^X, by (1 + D)² − 1 = 2D + D², which avoids cancellation in
    small steps.
    """
    scale = 0.5**squarings
    t, d = trace * scale, det * (scale * scale)
    power: tuple[Scalar, Scalar] = (1.0, 0.0)
    over, under = (0.0, 0.0), (0.0, 0.0)  # numerator − denominator, denominator
    for j, below in enumerate(_DENOMINATOR):
        above = _NUMERATOR[j] if j < len(_NUMERATOR) else 0.0
        over = _added(over, power, above - below)
        under = _added(under, power, below)
        power = (-(power[1] * d), power[0] + power[1] * t)
    p, q = under
    norm = p * p + p * q * t + q * q * d
    inverse = ((p + q * t) / norm, -q / norm)
    x, y = _times(over, inverse, t, d)
    for _ in range(squarings):
        u, v = _times((x, y), (x, y), t, d)
        x, y = 2.0 * x + u, 2.0 * y + v
    return x, y * scale


def _added(
    sum: tuple[Scalar, Scalar], term: tuple[Scalar, Scalar], factor: float
) -> tuple[Scalar, Scalar]:
    return sum[0] + factor * term[0], sum[1] + factor * term[1]


def _times(
    a: tuple[Scalar, Scalar], b: tuple[Scalar, Scalar], trace: Scalar, det: Scalar
) -> tuple[Scalar, Scalar]:
    """Return (α, β) of the product of two matrices of the form α 1 + β X.

    `trace` and `det` are those of X.  They replace X² in the product: X² = trace X − det 1.
    """
    square = a[1] * b[1]
    return a[0] * b[0] - square * det, a[0] * b[1] + a[1] * b[0] + square * trace


# ---- one actuator ------------------------------------------------------------------------------


class JointActuator:
    """Actuator of one joint: motor, gear, amplifier and optional servo.

    In each step, `begin` is called before the coupled equations of all joints are solved, and `end`
    is called after they are solved.
    """

    def __init__(self, actuator: Actuator, dt: float, squarings: int) -> None:
        motor, gear, pwm = actuator.motor, actuator.gear, actuator.pwm
        self.actuator, self.dt, self.squarings = actuator, dt, squarings
        self.R, self.L = motor.resistance, motor.inductance
        self.K = gear.ratio * motor.torque_constant
        self.N = abs(gear.ratio)
        self.rotor = actuator.armature
        self.half = 0.5 * gear.backlash
        self.holds = pwm.frequency * dt < 1.0  # the duty cycle changes in some steps only
        self.count = 0.0  # joint value of an encoder count
        names = ["current"]
        if self.half:
            names += ["rotor", "rotor speed", "side"]
        if self.holds:
            names += ["held duty", "phase"]
        if actuator.servo is not None:
            names += ["position integral", "speed integral", "encoder"]
            if actuator.servo.encoder:
                self.count = 2.0 * math.pi / (actuator.servo.encoder * self.N)
        self.names = tuple(names)

    def start(self, q: float, qd: float, holding: float) -> list[float]:
        """Return the initial state, in the order of `names`, at a joint position and speed.

        The motor exerts the torque `holding` (N m).  With backlash, the rotor touches the flank
        that transmits this torque, or is in the middle of the gap if the torque is 0.
        """
        side = float(np.sign(holding)) if self.half else 0.0
        values = {
            "current": holding / self.K,
            "rotor": q + side * self.half,
            "rotor speed": qd,
            "side": side,
            "held duty": 0.0,
            "phase": 1.0,
            "position integral": 0.0,
            "speed integral": 0.0,
        }
        values["encoder"] = self._counted(values["rotor"] if self.half else q)
        servo = self.actuator.servo
        if servo is not None and servo.speed_integral:
            values["speed integral"] = holding / servo.speed_integral
        return [values[name] for name in self.names]

    def begin(
        self, q: Scalar, w: Scalar, r: Scalar, rd: Scalar, tau: Scalar, M: Scalar, h: Scalar,
        state: dict[str, Scalar],
    ) -> None:  # fmt: skip
        """Choose voltage and tooth flank, and compute the response to a load torque.

        `q` and `w` are the position and speed of the joint, `r` and `rd` the reference position and
        velocity of the servo, and `tau` is the torque of the controller.  `M` is the diagonal
        element M_ii of the mass matrix, and `h` the torque of gravity, Coriolis terms and joint
        friction at the joint.  `state` is the state of the actuator by name.

        Sets `push` and `ease`: with a load torque T, which includes −h, the joint speed changes by
        push + ease·T in this step.  The voltage and the motor step are stored for `end`.
        """
        self.i, self.next = state["current"], dict(state)
        position, speed = q, w
        if self.half:
            position, speed = self._meet(q, w, state)
        duty = self._duty(position, speed, r, rd, tau, state)
        voltage = self.actuator.pwm.supply * duty
        if self.half:
            both = (M * w + self.rotor * speed) / (M + self.rotor)
            engaged = self._motor(M + self.rotor, both, voltage, -h)
            moved = engaged.more(voltage, -h)
            start = (M * w + self.rotor * speed) / (M + self.rotor) - w
            pushed = (start + moved.speed) * M / self.dt + h
            # A flank cannot pull: the rotor leaves it.
            side = self.side = self._left(self.side, pushed)
            free = self._motor(self.rotor, speed, voltage, 0.0)
            self.touch = absolute(side)
            one = self._either(engaged, free)
        else:
            one, start = self._motor(M, w, voltage, -h), 0.0
        load = -h if not self.half else -h * self.touch
        voltage, one = self._limited(voltage, one, load)
        self.voltage, self.step = voltage, one
        self.load_share = 1.0 if not self.half else self.touch
        if self.half:
            # In the gap the joint moves as without a drive: δ = (dt/M) r.
            t = self.touch
            self.push = t * (start + one.speed)
            self.ease = t * one.speed_by_load + (1.0 - t) * (self.dt / M)
            self._speed = speed
        else:
            self.push, self.ease = one.speed, one.speed_by_load

    def end(self, w: Scalar, delta: Scalar, load: Scalar) -> None:
        """Set the next state from the solution of the coupled equations.

        `w` is the joint speed before the step, `delta` its change in the step, and `load` the load
        torque on the joint (N m).
        """
        after = self.step.more(0.0, load * self.load_share)
        self.next["current"] = self.i + after.current
        if self.half:
            together, alone = w + delta, self._speed + after.speed
            speed = self.touch * together + (1.0 - self.touch) * alone
            self.next["rotor speed"] = speed
            self.next["rotor"] = self._rotor + self.dt * speed
            self.next["side"] = self.side

    # ---- parts -----------------------------------------------------------------------------

    def _motor(self, inertia: Scalar, speed: Scalar, voltage: Scalar, load: Scalar) -> MotorStep:
        """Return the motor step at zero voltage and zero load torque, with friction.

        The arguments `voltage` and `load` are those of the step, but `load` does not include the
        torques due to accelerations of other joints.  Both determine only the dry friction: whether
        the joint sticks, and otherwise the direction of the friction and the gear loss.
        """
        motor, eta = self.actuator.motor, self.actuator.gear.efficiency
        viscous = self.N**2 * motor.viscous
        sliding = self._step(inertia, speed, viscous)
        if not motor.coulomb and eta == 1.0:
            return sliding
        end = speed + sliding.more(voltage, load).speed  # without dry friction
        most: Scalar = self.N * motor.coulomb
        if eta < 1.0:
            share = where(self.K * self.i * end, 1.0 - eta, 1.0 / eta - 1.0)
            most = most + share * absolute(self.K * self.i)
        beyond = absolute(end) - most * sliding.speed_by_load
        sliding = sliding.more(0.0, -sign(end) * most)
        stuck = self._step(inertia, speed, viscous + STUCK * inertia / self.dt)
        return _chosen(beyond, sliding, stuck)

    def _step(self, inertia: Scalar, speed: Scalar, friction: Scalar) -> MotorStep:
        return motor_step(
            self.R, self.L, self.K, friction, inertia, self.i, speed, 0.0, 0.0, self.dt,
            self.squarings,
        )  # fmt: skip

    def _duty(
        self,
        position: Scalar,
        speed: Scalar,
        r: Scalar,
        rd: Scalar,
        tau: Scalar,
        state: dict[str, Scalar],
    ) -> Scalar:
        motor, pwm, servo = self.actuator.motor, self.actuator.pwm, self.actuator.servo
        measured, integrals = speed, None
        if servo is not None:
            tau, measured, integrals = self._servo(servo, position, speed, r, rd, state)
        wanted = tau / self.K
        i = wanted
        if math.isfinite(motor.max_current):
            i = minimum(maximum(wanted, -motor.max_current), motor.max_current)
        # Voltage that brings the current to p i₀ + (1 − p) i* at the end of the step.
        gain = self.R
        if self.actuator.current_bandwidth is not None:
            p = math.exp(-self.actuator.current_bandwidth * self.dt)
            e = math.exp(-self.R * self.dt / self.L)
            gain = self.R * (1.0 - p) / (1.0 - e)
        voltage = self.R * self.i + gain * (i - self.i) + self.K * measured
        duty = voltage / pwm.supply
        if integrals is not None:
            self._integrate(integrals, wanted, duty)
        if pwm.steps:
            duty = rint(duty * pwm.steps) / pwm.steps
        duty = minimum(maximum(duty, -1.0), 1.0)
        if not self.holds:
            return duty
        due = state["phase"] - 1.0
        duty = where(due, duty, state["held duty"])
        self.next["held duty"] = duty
        self.next["phase"] = where(due, due, state["phase"]) + pwm.frequency * self.dt
        return duty

    def _servo(
        self,
        servo: Any,
        position: Scalar,
        speed: Scalar,
        r: Scalar,
        rd: Scalar,
        state: dict[str, Scalar],
    ) -> tuple[Scalar, Scalar, dict[str, tuple[Scalar, Scalar]]]:
        """Return torque command, measured speed, and the integrals of the servo.

        The integrals are a mapping from name to (value before, value after) this step.
        """
        measured = self._counted(position)
        rate = (measured - state["encoder"]) / self.dt if self.count else speed
        self.next["encoder"] = measured
        e = r - measured
        summed = state["position integral"] + e * self.dt
        ahead = rd + servo.position * e + servo.position_integral * summed
        lag = ahead - rate
        grown = state["speed integral"] + lag * self.dt
        tau = servo.speed * lag + servo.speed_integral * grown
        found = {
            "position integral": (state["position integral"], summed),
            "speed integral": (state["speed integral"], grown),
        }
        return tau, rate, found

    def _integrate(
        self, integrals: dict[str, tuple[Scalar, Scalar]], wanted: Scalar, duty: Scalar
    ) -> None:
        """Advance the integrals of the servo unless current or duty cycle is saturated.

        `integrals` are those of `_servo`.  `wanted` (A) is the current command before its limit.
        """
        room = 1.0 - absolute(duty)
        if math.isfinite(self.actuator.motor.max_current):
            room = minimum(room, self.actuator.motor.max_current - absolute(wanted))
        for name, (before, after) in integrals.items():
            self.next[name] = where(room, after, before)

    def _counted(self, position: Scalar) -> Scalar:
        """Return the position rounded to encoder counts, or unchanged without a resolution."""
        return rint(position / self.count) * self.count if self.count else position

    def _limited(self, voltage: Scalar, one: MotorStep, load: Scalar) -> tuple[Scalar, MotorStep]:
        """Return the voltage, changed to limit the current, and the motor step with this voltage.

        The limit applies to the current at the end of the step.  The argument `voltage` is the
        unchanged voltage, and `one` is the motor step at zero voltage.
        """
        most, supply = self.actuator.motor.max_current, self.actuator.pwm.supply
        if math.isfinite(most):
            i = self.i + one.more(voltage, load).current
            excess = i - minimum(maximum(i, -most), most)
            voltage = voltage - excess / one.current_by_voltage
            voltage = minimum(maximum(voltage, -supply), supply)
        return voltage, one.more(voltage)

    def _meet(self, q: Scalar, w: Scalar, state: dict[str, Scalar]) -> tuple[Scalar, Scalar]:
        """Position and speed of the rotor, after its contact with the flanks was updated.

        In contact, the position follows from the joint position `q` and the backlash.
        """
        gap = state["rotor"] - q
        reached = absolute(gap) - self.half
        side = where(absolute(state["side"]) - 0.5, state["side"], where(reached, sign(gap), 0.0))
        self.side = side
        touch = absolute(side)
        self._rotor = touch * (q + side * self.half) + (1.0 - touch) * state["rotor"]
        return self._rotor, state["rotor speed"]

    def _left(self, side: Scalar, pushed: Scalar) -> Scalar:
        return where(side * pushed, side, 0.0)

    def _either(self, engaged: MotorStep, free: MotorStep) -> MotorStep:
        t = self.touch
        names = MotorStep.__slots__
        return MotorStep(*(t * getattr(engaged, x) + (1.0 - t) * getattr(free, x) for x in names))


def _chosen(test: Scalar, a: MotorStep, b: MotorStep) -> MotorStep:
    """Return `a` where `test` is at least 0, otherwise `b`."""
    return MotorStep(*(where(test, getattr(a, x), getattr(b, x)) for x in MotorStep.__slots__))


# ---- all joints --------------------------------------------------------------------------------


class Drives:
    """Drive models of all joints with real drives, with their state and a compiled step."""

    def __init__(self, robot: Robot, dt: float) -> None:
        model = robot.model
        if not model.real_drives:
            raise BrazoError(
                f"robot '{robot.name}' has ideal drives; use robot.with_drives('real')"
            )
        self.robot, self.dt = robot, float(dt)
        equations = equations_of(model)
        M = robot.mass_matrix(np.asarray(next(iter(robot.poses.values()), np.zeros(robot.n))))
        self.joints: tuple[int, ...] = tuple(
            i for i, drive in enumerate(model.drives) if drive.real is not None
        )
        actuators = {i: model.drives[i].actuator for i in self.joints}
        self._joints = {
            i: JointActuator(one, self.dt, _squarings(one, float(M[i, i]), self.dt))
            for i, one in actuators.items()
            if one is not None
        }
        self.names = tuple(f"{i} {name}" for i, one in self._joints.items() for name in one.names)
        self.kernel: Kernel = self._compile(equations)
        #: Currents, rotors, integrals … of all joints.
        self.state = np.zeros(len(self.names))
        #: Currents (A), then voltages (V), then duty cycles of `joints` in the last step.
        self.signals = np.zeros(3 * len(self.joints))

    def __deepcopy__(self, memo: dict[int, Any]) -> Drives:
        found = object.__new__(Drives)
        vars(found).update(vars(self))
        found.state, found.signals = self.state.copy(), self.signals.copy()
        return found

    def fits(self, robot: Robot, dt: float) -> bool:
        """Return whether these drives were created for this robot and time step."""
        return self.robot.model is robot.model and self.dt == dt

    def reset(self, q: np.ndarray, qd: np.ndarray) -> None:
        """Reset the state to (q, q̇), with motor currents that compensate gravity."""
        weight = np.asarray(self.robot.gravity(q))
        values = [
            x
            for i, one in self._joints.items()
            for x in one.start(float(q[i]), float(qd[i]), float(weight[i]))
        ]
        self.state[:] = values
        self.signals[:] = 0.0

    def step(
        self, q: np.ndarray, qd: np.ndarray, r: np.ndarray, rd: np.ndarray, command: np.ndarray
    ) -> np.ndarray:
        """Advance by one time step and return the torques (n,), constant during the step.

        `r` and `rd` (n,) are the reference positions and velocities of the servos; `command` (n,)
        is the torque of the controller.  Joints without a real drive receive `command` unchanged.
        """
        tau, state, signals = self.kernel(q, qd, r, rd, command, self.state)
        self.state[:], self.signals[:] = state, signals
        return tau

    def torque(
        self,
        equations: ControlEquations,
        q: Sequence[Scalar],
        qd: Sequence[Scalar],
        r: Sequence[Scalar],
        rd: Sequence[Scalar],
        command: Sequence[Scalar],
        state: Sequence[Scalar],
    ) -> tuple[Vector, Vector, Vector]:
        """Return torques (n), next state and signals after one step, for any scalar type.

        State and signals have the layout of `self.state` and `self.signals`.
        """
        n, dt = equations.n, self.dt
        M = equations.mass_matrix(list(q))
        h = equations.inverse_dynamics(list(q), list(qd), [0.0] * n)
        values, at = list(state), 0
        rows = [[M[i][j] / dt for j in range(n)] for i in range(n)]
        right: Vector = [command[i] - h[i] for i in range(n)]
        joints = {i: copy.copy(one) for i, one in self._joints.items()}
        for i, one in joints.items():
            own = dict(zip(one.names, values[at : at + len(one.names)], strict=True))
            at += len(one.names)
            one.begin(q[i], qd[i], r[i], rd[i], command[i], M[i][i], h[i], own)
            rows[i][i] = 1.0 / one.ease
            right[i] = one.push * rows[i][i] - h[i]
        (delta,) = ldl_solve(rows, right)
        tau: Vector = list(command)
        for i, one in joints.items():
            total = dot(M[i], delta) / dt + h[i]
            tau[i] = total if not one.half else total * one.touch
            load = M[i][i] * delta[i] / dt - total
            one.end(qd[i], delta[i], load)
        steps = joints.values()
        after = [one.next[name] for one in steps for name in one.names]
        signals = [one.i for one in steps] + [one.voltage for one in steps]
        signals += [one.voltage / one.actuator.pwm.supply for one in steps]
        return tau, after, signals

    def _compile(self, equations: ControlEquations) -> Kernel:
        graph, n = Graph(), equations.n
        names = ("q", "qd", "reference_q", "reference_qd", "command")
        q, qd, r, rd, command = (graph.inputs(name, n) for name in names)
        state = graph.inputs("state", len(self.names))
        tau, after, signals = self.torque(equations, q, qd, r, rd, command, state)
        outputs = {"tau": tau, "next_state": after, "signals": signals}
        return compile_kernel("drives", graph, outputs)


def _squarings(actuator: Actuator, inertia: float, dt: float) -> int:
    """Number of squarings (4 to 20) for which the Padé approximation is exact to rounding."""
    motor, gear = actuator.motor, actuator.gear
    least = actuator.armature or inertia
    K = gear.ratio * motor.torque_constant
    rate = motor.resistance / motor.inductance + abs(K) / math.sqrt(motor.inductance * least)
    rate += gear.ratio**2 * motor.viscous / least
    return min(max(4, math.ceil(math.log2(16.0 * rate * dt))), 20)
