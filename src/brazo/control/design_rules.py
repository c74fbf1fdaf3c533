"""Gains from classical design rules: pole placement, ultimate gain, Bryson's rule.

**Ultimate gain.**  The velocity loop of a joint of inertia m, sampled with the period dt and
delayed by d periods, is v[k+1] = v[k] − (dt/m) kd v[k−d].  Its characteristic equation is
λ^(d+1) − λ^d + kd dt/m = 0.  At the ultimate gain kd = Ku, roots reach the unit circle at the
angles ±θ, θ = π/(2d + 1), and the loop oscillates with the ultimate period Tu:

    Ku = (m/dt) 2 sin(θ/2)          Tu = 2π dt/θ = 2 (2d + 1) dt

With the position error e and the integral time Ti, the velocity controller kd (ė + e/Ti) is a PD
controller of the position with the gains kd and kp = kd/Ti:

    Ziegler–Nichols (1942)     kd = 0.45 Ku     Ti = Tu/1.2
    Tyreus–Luyben (1992)       kd = Ku/3.2      Ti = 2.2 Tu        less oscillation

The integral gain is ki = kp²/(4 kd).  The integral time is then four derivative times, as in the
PID rule of Ziegler and Nichols.

**Pole placement** chooses the bandwidth at which a PD loop has a phase margin of about 45° with the
same delay; see `brazo.control.bandwidth`.  **Bryson's rule** weights the states and
torques of an LQR by the inverse squares of their largest acceptable values.

m is the smallest inertia 1/(M⁻¹)ᵢᵢ of a joint over random joint positions, while the other joints
are free to move.  For `ComputedTorque`, whose gains do not contain the inertia, m = 1.  Coupling
between joints can still make a loop unstable: check the result with `brazo.control.loop_stability`.
"""

from __future__ import annotations

import math

import numpy as np

from brazo.checks import one_of, positive
from brazo.control.bandwidth import joint_inertia
from brazo.control.base import Controller, torque_limits
from brazo.control.computed_torque import ComputedTorque
from brazo.control.lqr import LQR
from brazo.errors import BrazoError
from brazo.robot import Robot

RULES = ("pole-placement", "ziegler-nichols", "tyreus-luyben", "bryson")
_SAMPLES = 256
_RATIOS = {"ziegler-nichols": (0.45, 1.0 / 1.2), "tyreus-luyben": (1.0 / 3.2, 2.2)}
_DEVIATION = (0.02, 0.005)  # rad, m: acceptable errors of Bryson's rule
_PHASE = 0.26  # rad: delay times bandwidth of a critically damped loop with 45° of phase


def design_gains(rule: str, controller: Controller, delay: float = 0.0) -> dict[str, np.ndarray]:
    """Gains by name from a design rule, for a controller that is bound to a robot.

    `rule` is one of `rules_for(controller)`.  `delay` (s) is the delay of the drives, rounded to
    control periods; one more period is added for the computation.  A gain that is 0 for all joints,
    such as ki of a controller without integral action, is left out.
    """
    one_of(rule, RULES, "rule")
    allowed = rules_for(controller)
    if rule not in allowed:
        raise BrazoError(
            f"rule '{rule}' does not apply to {controller.name}; "
            f"rules: {', '.join(allowed) or 'none'}"
        )
    positive(delay, "delay", zero=True)
    robot, dt = controller.robot, controller.dt
    if rule == "bryson":
        return bryson_weights(robot)
    periods = round(delay / dt) + 1
    inertia = np.ones(robot.n)
    if not isinstance(controller, ComputedTorque):
        inertia = smallest_inertia(robot)
    if rule == "pole-placement":
        lag = (periods + 0.5) * dt
        wn = np.full(robot.n, _PHASE / lag)
        if not isinstance(controller, ComputedTorque):
            wn = wn * inertia / joint_inertia(robot)
        placed = type(controller)(wn=wn, zeta=1.0)
        placed.bind(robot, dt)
        return {name: values for name, values in placed.gain_values().items() if values.any()}
    kd_factor, ti_factor = _RATIOS[rule]
    Ku, Tu = ultimate_gain(inertia, dt, periods)
    kd = kd_factor * Ku
    kp = kd / (ti_factor * Tu)
    gains = {"kp": kp, "ki": kp**2 / (4.0 * kd), "kd": kd}
    own = controller.gain_values()
    return {name: v for name, v in gains.items() if name in own and np.any(own[name])}


def rules_for(controller: Controller) -> tuple[str, ...]:
    """Names of the design rules that apply to a controller."""
    if isinstance(controller, LQR):
        return ("bryson",)
    names = {gain.name for gain in controller.GAINS}
    return RULES[:3] if {"kp", "kd"} <= names and hasattr(controller, "wn") else ()


def ultimate_gain(inertia: np.ndarray, dt: float, delay: int = 0) -> tuple[np.ndarray, float]:
    """Ultimate gain Ku (n,) and ultimate period Tu (s) of the velocity loop of each joint.

    `dt` is the control period (s) and `delay` the number of control periods of delay.
    """
    angle = math.pi / (2 * delay + 1)
    return np.asarray(inertia) / dt * 2.0 * math.sin(0.5 * angle), 2.0 * math.pi * dt / angle


def smallest_inertia(robot: Robot) -> np.ndarray:
    """Smallest inertia 1/(M⁻¹)ᵢᵢ (n,) of each joint over 256 random joint positions.

    This is the inertia of a joint while the other joints are free to move.
    """
    M = robot.mass_matrix(robot.random_q(_SAMPLES, seed=0))
    return (1.0 / np.diagonal(np.linalg.inv(M), axis1=-2, axis2=-1)).min(axis=0)


def bryson_weights(robot: Robot) -> dict[str, np.ndarray]:
    """LQR weights by Bryson's rule, from the largest acceptable deviations.

    The deviations are a position error of 0.02 rad or 5 mm, a tenth of the max speed of the drive
    and the max torque of the drive.  A drive without speed limit gets a deviation of 0.2 rad/s or
    50 mm/s.  A drive without torque limit gets the torque that accelerates its joint by 20 rad/s²
    or 5 m/s².
    """
    prismatic = np.array([kind == "prismatic" for kind in robot.joint_kinds])
    deviation = np.where(prismatic, _DEVIATION[1], _DEVIATION[0])
    speed = np.array([drive.max_speed for drive in robot.model.drives], dtype=float)
    speed = np.where(np.isfinite(speed), 0.1 * speed, 10.0 * deviation)
    torque = torque_limits(robot)
    torque = np.where(np.isfinite(torque), torque, joint_inertia(robot) * 1e3 * deviation)
    return {"q_weight": deviation**-2.0, "qd_weight": speed**-2.0, "tau_weight": torque**-2.0}
