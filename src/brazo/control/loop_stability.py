"""Stability of a sampled control loop near an operating point, from its linear model.

The robot with torques held during a period dt and the controller are, for small deviations,

    x⁺ = Φ x + Γ u       x = (q, q̇)         u  = Kx x + Ks s
                                            s⁺ = Sx x + Ss s      s: integrators, filters, estimates

and with a delay of d periods the robot receives the torque of d periods before.  Φ and Γ are exact
for the linear robot (matrix exponential).  The loop is stable if all eigenvalues of this map lie in
the unit circle; states of the controller that do not reach the torque (an integrator with ki = 0)
are left out.

The robot may differ from the one that the controller knows: a payload, other masses, a longer
delay.  Operating points move slowly, so that sharp Coulomb friction is constant and adds no
damping, which it does not add during a motion either.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from brazo.codegen import Graph, compile_kernel
from brazo.control.compiled import CompiledController
from brazo.control.equations import equations_of
from brazo.robot import Robot

MARGINAL = 1e-6  # a growth per period that is not called unstable: an adaptive estimate at rest
MAX_DELAY = 50  # periods of the search for the delay margin
_STEP = 1e-6  # of central differences
_SLOW = (0.05, 0.01)  # rad/s, m/s


@dataclass(frozen=True, slots=True)
class PlantVariant:
    """How the robot differs from the one that the controller knows."""

    name: str = "nominal"
    payload: float = 0.0  # kg, at the tool
    mass_scale: float = 1.0
    delay: int = 0  # periods


@dataclass(frozen=True, slots=True)
class LoopStability:
    """Largest spectral radius of a loop over operating points and variants."""

    radius: float
    variant: str  # with that radius
    point: int  # index of the operating point

    @property
    def stable(self) -> bool:
        """Whether no deviation grows."""
        return self.radius < 1.0 + MARGINAL


class LinearLoops:
    """The linear models of a robot at operating points q (p, n), with control period dt (s).

    They do not depend on gains, so that many controllers can be checked.
    """

    def __init__(
        self, robot: Robot, q: np.ndarray, dt: float, variants: Sequence[PlantVariant] = ()
    ) -> None:
        self.robot, self.dt = robot, dt
        self.q = np.atleast_2d(np.asarray(q, dtype=float))
        slow = [_SLOW[kind == "prismatic"] for kind in robot.joint_kinds]
        self.qd = np.tile(slow, (len(self.q), 1))
        self.variants = tuple(variants) or (PlantVariant(),)
        self._plants: dict[tuple[float, float], tuple[np.ndarray, np.ndarray]] = {}
        self._qdd = _loaded_motion(robot)

    def stability(self, controller: CompiledController) -> LoopStability:
        """The stability of a controller that is bound to the robot and dt, with its gains."""
        laws = [self._control(controller, q, qd) for q, qd in zip(self.q, self.qd, strict=True)]
        worst = LoopStability(-1.0, "", 0)
        for variant in self.variants:
            for point, law in enumerate(laws):
                radius = self._radius(law, variant, point)
                if not radius <= worst.radius:  # also NaN
                    worst = LoopStability(radius, variant.name, point)
        return worst

    def delay_margin(self, controller: CompiledController) -> float:
        """The longest delay (s), in whole periods, with which the nominal robot is stable.

        0 if it is unstable without a delay; at most 50 periods are tried.
        """
        laws = [self._control(controller, q, qd) for q, qd in zip(self.q, self.qd, strict=True)]

        def stable(periods: int) -> bool:
            variant = PlantVariant(delay=periods)
            radii = [self._radius(law, variant, k) for k, law in enumerate(laws)]
            return LoopStability(max(radii), "", 0).stable

        for periods in range(1, MAX_DELAY + 1):
            if not stable(periods):
                return (periods - 1) * self.dt
        return MAX_DELAY * self.dt

    def matrix(
        self, controller: CompiledController, variant: PlantVariant | None = None, point: int = 0
    ) -> np.ndarray:
        """The matrix of one period: the state (q, q̇), that of the controller, delayed torques."""
        law = self._control(controller, self.q[point], self.qd[point])
        return self._matrix(law, variant or PlantVariant(), point)

    def _radius(self, law: _Law, variant: PlantVariant, point: int) -> float:
        matrix = self._matrix(law, variant, point)
        if not np.isfinite(matrix).all():
            return float("inf")
        return float(np.abs(np.linalg.eigvals(matrix)).max())

    def _matrix(self, law: _Law, variant: PlantVariant, point: int) -> np.ndarray:
        phi, gamma = self._plant(variant.payload, variant.mass_scale)
        phi, gamma = phi[point], gamma[point]
        size, n, m, d = len(phi), gamma.shape[1], len(law.Ss), variant.delay
        total = size + m + d * n
        loop = np.zeros((total, total))
        x, s = slice(0, size), slice(size, size + m)
        loop[x, x], loop[s, x], loop[s, s] = phi, law.Sx, law.Ss
        if d == 0:
            loop[x, x] += gamma @ law.Kx
            loop[x, s] = gamma @ law.Ks
            return loop
        newest, oldest = slice(size + m, size + m + n), slice(total - n, total)
        loop[x, oldest] = gamma
        loop[newest, x], loop[newest, s] = law.Kx, law.Ks
        for k in range(1, d):
            row = size + m + k * n
            loop[row : row + n, row - n : row] = np.eye(n)
        return loop

    def _plant(self, payload: float, mass_scale: float) -> tuple[np.ndarray, np.ndarray]:
        """Φ (p, 2n, 2n) and Γ (p, 2n, n)."""
        key = payload, mass_scale
        if key not in self._plants:
            self._plants[key] = self._linearised(payload, mass_scale)
        return self._plants[key]

    def _linearised(self, payload: float, mass_scale: float) -> tuple[np.ndarray, np.ndarray]:
        from scipy.linalg import expm

        n, count = self.robot.n, len(self.q)
        load, scale = np.array([payload]), np.array([mass_scale])

        def qdd(q: np.ndarray, qd: np.ndarray, tau: np.ndarray) -> np.ndarray:
            shape = np.broadcast_shapes(q.shape, qd.shape, tau.shape)
            given = (np.ascontiguousarray(np.broadcast_to(v, shape)) for v in (q, qd, tau))
            more = (np.broadcast_to(v, (*shape[:-1], 1)).copy() for v in (load, scale))
            return self._qdd(*given, *more)

        unit, zero = np.eye(n), np.zeros((count, n))
        q, qd = self.q, self.qd
        free = qdd(q, qd, zero)
        # q̈ is affine in τ: exact with a unit step.
        B = np.moveaxis(qdd(q[:, None], qd[:, None], unit) - free[:, None], 1, 2)
        held = -np.linalg.solve(B, free[..., None])[..., 0]
        h = _STEP * unit

        def slope(moved: Any) -> np.ndarray:
            return np.moveaxis(moved(h) - moved(-h), 1, 2) / (2.0 * _STEP)

        dq = slope(lambda d: qdd(q[:, None] + d, qd[:, None], held[:, None]))
        dqd = slope(lambda d: qdd(q[:, None], qd[:, None] + d, held[:, None]))
        grown = np.zeros((count, 3 * n, 3 * n))
        grown[:, :n, n : 2 * n] = unit
        grown[:, n : 2 * n] = np.concatenate([dq, dqd, B], axis=-1)
        step = expm(grown * self.dt)
        return step[:, : 2 * n, : 2 * n], step[:, : 2 * n, 2 * n :]

    def _control(self, controller: CompiledController, q: np.ndarray, qd: np.ndarray) -> _Law:
        n, compiled = self.robot.n, controller.compiled
        fixed = list(controller.fixed.values())
        sizes = compiled.state_sizes
        state = np.concatenate(list(controller.initial_state(q, qd).values()) or [np.empty(0)])
        size = 2 * n + len(state)
        rows = np.concatenate([q, qd, state]) + _STEP * np.concatenate(
            [np.eye(size), -np.eye(size)]
        )
        tile = [np.tile(v, (len(rows), 1)) for v in (q, qd, np.zeros(n), *fixed)]
        inputs = [rows[:, :n], rows[:, n : 2 * n], *tile]
        if sizes:
            inputs.append(rows[:, 2 * n :])
        results = compiled.kernel(*(np.ascontiguousarray(v) for v in inputs))
        u = results[1]  # before the limits of the drives
        after = results[3] if sizes else np.empty((len(rows), 0))
        K = (u[:size] - u[size:]).T / (2.0 * _STEP)
        S = (after[:size] - after[size:]).T / (2.0 * _STEP)
        Ks, Ss = K[:, 2 * n :], S[:, 2 * n :]
        reach = (Ks != 0.0).any(axis=0)
        for _ in range(len(reach)):
            reach |= (Ss[reach] != 0.0).any(axis=0)
        return _Law(K[:, : 2 * n], Ks[:, reach], S[reach][:, : 2 * n], Ss[np.ix_(reach, reach)])


@dataclass(frozen=True, slots=True, eq=False)
class _Law:
    """A controller for small deviations of q, q̇ and its state."""

    Kx: np.ndarray
    Ks: np.ndarray
    Sx: np.ndarray
    Ss: np.ndarray


def operating_points(reference: np.ndarray, count: int = 5) -> np.ndarray:
    """Positions (count, n) at equal distances in time, of a reference (3, m, n)."""
    rows = np.linspace(0, reference.shape[1] - 1, count).round().astype(int)
    return reference[0, np.unique(rows)]


def with_gains(controller: CompiledController, gains: Mapping[str, Any]) -> CompiledController:
    """A copy of a controller with other gains; it shares the machine code."""
    import copy

    clone = copy.deepcopy(controller)
    for name, value in gains.items():
        clone.gains[name] = value
    return clone


def _loaded_motion(robot: Robot) -> Any:
    """(q, qd, tau, payload, mass scale) -> qdd as machine code."""
    equations, n, g = equations_of(robot.model), robot.n, Graph()
    q, qd, tau = (g.inputs(name, n) for name in ("q", "qd", "tau"))
    (mass,), (scale,) = g.inputs("payload", 1), g.inputs("mass_scale", 1)
    unit = equations.load_vector(1.0, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)).tolist()
    load = [mass * u if u else 0.0 for u in unit]
    qdd = equations.acceleration(q, qd, tau, load, scale)
    return compile_kernel("loaded_motion", g, {"qdd": qdd})
