"""Gains from two design parameters: bandwidth ω (natural frequency, rad/s) and damping ratio ζ.

The position error e of a joint with constant inertia m satisfies the equation on the left.  The
gains kp, ki and kd are chosen such that its characteristic polynomial, divided by m, is the one on
the right.  The PID controller adds a real pole at −αω:

    PD      m ë + kd ė + kp e = 0                        s² + 2ζω s + ω²
    PID     m e⃛ + kd ë + kp ė + ki e = 0                (s + αω)(s² + 2ζω s + ω²)

The inertia m of joint i is the mean of M_ii over random joint positions.  Inertial coupling and the
change of inertia with the pose are neglected.
"""

from __future__ import annotations

import numpy as np

from brazo.robot import Robot

_SAMPLES = 64


def joint_inertia(robot: Robot) -> np.ndarray:
    """Joint inertias M_ii (n,), averaged over 64 random joint positions."""
    q = robot.random_q(_SAMPLES, seed=0)
    M = robot.mass_matrix(q)
    return np.diagonal(M, axis1=-2, axis2=-1).mean(axis=0)


def pd_gains(m: np.ndarray, wn: np.ndarray, zeta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return kp and kd (n,) for a second-order response of joints with inertia `m` (n,).

    `wn` (rad/s) is the natural frequency and `zeta` the damping ratio.
    """
    return m * wn**2, 2.0 * zeta * m * wn


def pid_gains(
    m: np.ndarray, wn: np.ndarray, zeta: np.ndarray, alpha: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return kp, ki and kd (n,) for a second-order response and a real pole at −alpha·wn.

    `m` (n,) is the inertia of each joint, `wn` (rad/s) the natural frequency and `zeta` the damping
    ratio.
    """
    return (
        m * wn**2 * (1.0 + 2.0 * zeta * alpha),
        m * wn**3 * alpha,
        m * wn * (2.0 * zeta + alpha),
    )
