"""Stability of a sampled control loop near an operating point, from its linear model.

The torques u are constant during a control period dt.  The state of the robot is x = (q, q̇), and
the state of the controller is s (integrators, filters, estimates).  For small deviations, robot and
controller are linear; x⁺ and s⁺ are the states after one period:

    x⁺ = Φ x + Γ u          u = Kx x + Ks s          s⁺ = Sx x + Ss s

With a delay of d periods, the robot receives the torque computed d periods earlier.  Φ and Γ are
exact for the linear robot (matrix exponential).  The loop is stable if all eigenvalues of the map
from one period to the next lie inside the unit circle.  Controller states that do not affect the
torque, such as an integrator with ki = 0, are left out.

The robot may differ from the controller's model by a payload, other masses or a longer delay.
The joints move slowly at an operating point, so Coulomb friction is constant and adds no damping.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from brazo.arrays import float_array
from brazo.codegen import Graph, compile_kernel
from brazo.control.compiled import CompiledController
from brazo.control.equations import equations_of
from brazo.control.gains import Gains
from brazo.errors import BrazoError
from brazo.robot import Robot

MARGINAL = 1e-6  # a growth per period that is not called unstable: an adaptive estimate at rest
MAX_DELAY = 16  # periods, of the search for the delay margin; a power of 2
_STEP = 1e-6  # of central differences
_ROUNDING = 1e-9  # of a row of slopes: smaller ones are 0
_SLOW = (0.05, 0.01)  # rad/s, m/s


@dataclass(frozen=True, slots=True)
class PlantVariant:
    """Differences between the controlled robot and the model in the controller."""

    name: str = "nominal"
    payload: float = 0.0  # kg, at the tool
    mass_scale: float = 1.0
    delay: int = 0  # periods


@dataclass(frozen=True, slots=True)
class LoopStability:
    """Largest spectral radius of a control loop over operating points and plant variants."""

    radius: float
    variant: str  # name of the plant variant with this radius
    point: int  # index of the operating point with this radius

    @property
    def stable(self) -> bool:
        """True if the spectral radius is at most 1, with a small tolerance: no deviation grows."""
        return self.radius < 1.0 + MARGINAL


class LinearLoops:
    """Linear models of a robot at operating points q (p, n), with control period dt (s).

    `variants` are the plant variants to analyse; the default is the robot itself.  The models do
    not depend on the controller, so they can be reused for many controllers and gains.
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
        """Return the largest spectral radius over all operating points and plant variants.

        `controller` must be bound to the same robot and dt.
        """
        radii = self.radii(controller)
        variant, point = np.unravel_index(int(np.argmax(radii)), radii.shape)
        return LoopStability(
            float(radii[variant, point]), self.variants[int(variant)].name, int(point)
        )

    def radii(
        self, controller: CompiledController, gains: Mapping[str, Any] | None = None
    ) -> np.ndarray:
        """Spectral radii (..., variants, points) of the loop with a controller.

        `gains` maps names of gains to new values (..., size), where size is the number of values
        of the gain.  The leading dimensions of all gains broadcast.
        """
        law = self._control(controller, gains or {})
        return np.stack([self._radius(law, variant) for variant in self.variants], axis=-2)

    def delay_margin(self, controller: CompiledController) -> float:
        """The longest delay (s), in whole control periods, with which the loop is stable.

        The robot has its nominal masses and no payload.  The result is 0 if the loop is unstable
        with a delay of one period.  Delays up to 16 periods are tried.  The search assumes that a
        loop that is unstable with some delay is unstable with all longer delays.
        """
        law = self._control(controller, {})

        def stable(periods: int) -> bool:
            radius = self._radius(law, PlantVariant(delay=periods)).max()
            return LoopStability(float(radius), "", 0).stable

        if not stable(1):
            return 0.0
        good, bad = 1, 2 * MAX_DELAY
        while bad - good > 1 and good < MAX_DELAY:
            middle = 2 * good if bad > MAX_DELAY else (good + bad) // 2
            good, bad = (middle, bad) if stable(middle) else (good, middle)
        return good * self.dt

    def matrix(
        self, controller: CompiledController, variant: PlantVariant | None = None
    ) -> np.ndarray:
        """Matrices (points, m, m) that map the state of the loop to the state after one period.

        The m state variables are q, q̇, the controller states that affect the torque, and the
        delayed torques.
        """
        return self._matrix(self._control(controller, {}), variant or PlantVariant())

    def _radius(self, law: _LinearController, variant: PlantVariant) -> np.ndarray:
        matrix = self._matrix(law, variant)
        finite = np.isfinite(matrix).all(axis=(-2, -1))
        matrix[~finite] = 0.0
        radius = np.abs(np.linalg.eigvals(matrix)).max(axis=-1)
        return np.where(finite, radius, np.inf)

    def _matrix(self, law: _LinearController, variant: PlantVariant) -> np.ndarray:
        phi, gamma = self._plant(variant.payload, variant.mass_scale)
        size, n, m, d = phi.shape[-1], gamma.shape[-1], law.Ss.shape[-1], variant.delay
        total = size + m + d * n
        loop = np.zeros((*law.Kx.shape[:-2], total, total))
        x, s = slice(0, size), slice(size, size + m)
        loop[..., x, x], loop[..., s, x], loop[..., s, s] = phi, law.Sx, law.Ss
        if d == 0:
            loop[..., x, x] += gamma @ law.Kx
            loop[..., x, s] = gamma @ law.Ks
            return loop
        newest, oldest = slice(size + m, size + m + n), slice(total - n, total)
        loop[..., x, oldest] = gamma
        loop[..., newest, x], loop[..., newest, s] = law.Kx, law.Ks
        for k in range(1, d):
            row = size + m + k * n
            loop[..., row : row + n, row - n : row] = np.eye(n)
        return loop

    def _plant(self, payload: float, mass_scale: float) -> tuple[np.ndarray, np.ndarray]:
        """Φ (p, 2n, 2n) and Γ (p, 2n, n) of the linear robot at all operating points."""
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

    def _control(
        self, controller: CompiledController, gains: Mapping[str, Any]
    ) -> _LinearController:
        """Linearise the controller at all operating points.

        `gains` maps names of gains to new values, as in `radii`.
        """
        n, compiled, own = self.robot.n, controller.compiled, controller.gains
        lead, gains = _broadcast(gains, own)
        if gains and controller.tables():  # these follow from the gains, set by set
            sets = [{name: v[i] for name, v in gains.items()} for i in np.ndindex(lead)]
            laws = [self._control(with_gains(controller, one), {}) for one in sets]
            parts = [[getattr(law, k) for law in laws] for k in ("Kx", "Ks", "Sx", "Ss")]
            return _LinearController(
                *(np.stack(part).reshape(*lead, *part[0].shape) for part in parts)
            )
        fixed = controller.fixed
        vector = np.tile(own.vector, (*lead, 1))
        for name, values in gains.items():
            vector[..., own.slice_of(name)] = values
        fixed["gains"] = vector[..., None, None, :]
        starts = [
            np.concatenate([q, qd, *controller.initial_state(q, qd).values()])
            for q, qd in zip(self.q, self.qd, strict=True)
        ]
        size = len(starts[0])
        steps = _STEP * np.concatenate([np.eye(size), -np.eye(size)])
        rows = np.array(starts)[:, None] + steps  # (points, 2 size, size)
        given = [rows[..., :n], rows[..., n : 2 * n], self.q[:, None], self.qd[:, None]]
        given += [np.zeros(n), *fixed.values()]
        if compiled.state_sizes:
            given.append(rows[..., 2 * n :])
        shape = (*lead, *rows.shape[:-1])
        results = compiled.kernel(
            *(np.ascontiguousarray(np.broadcast_to(v, (*shape, v.shape[-1]))) for v in given)
        )
        u = results[1]  # before the limits of the drives
        after = results[3] if compiled.state_sizes else np.empty((*shape, 0))
        K, S = (
            np.swapaxes(v[..., :size, :] - v[..., size:, :], -2, -1) / (2.0 * _STEP)
            for v in (u, after)
        )
        Ks, Ss = K[..., 2 * n :], S[..., 2 * n :]
        scale = np.abs(K).max(axis=-1, keepdims=True, initial=0.0)
        reach = (np.abs(Ks) > _ROUNDING * scale).any(axis=tuple(range(K.ndim - 1)))
        for _ in range(len(reach)):
            reach |= (Ss[..., reach, :] != 0.0).any(axis=tuple(range(K.ndim - 1)))
        return _LinearController(
            K[..., : 2 * n], Ks[..., reach], S[..., reach, : 2 * n], Ss[..., reach, :][..., reach]
        )


@dataclass(frozen=True, slots=True, eq=False)
class _LinearController:
    """Matrices Kx, Ks, Sx and Ss of a linearised controller; leading dimensions are batches."""

    Kx: np.ndarray
    Ks: np.ndarray
    Sx: np.ndarray
    Ss: np.ndarray


def operating_points(reference: np.ndarray, count: int = 5) -> np.ndarray:
    """Select up to `count` positions, evenly spaced in time, from a reference (3, m, n)."""
    rows = np.linspace(0, reference.shape[1] - 1, count).round().astype(int)
    return reference[0, np.unique(rows)]


def with_gains(controller: CompiledController, gains: Mapping[str, Any]) -> CompiledController:
    """Return a copy of a controller with other gains; both share the machine code."""
    import copy

    clone = copy.deepcopy(controller)
    for name, value in gains.items():
        clone.gains[name] = value
    return clone


def _broadcast(
    gains: Mapping[str, Any], own: Gains
) -> tuple[tuple[int, ...], dict[str, np.ndarray]]:
    """Return the broadcast leading dimensions of all gains, and the gains broadcast to them."""
    values = {name: float_array(value, f"gain {name}") for name, value in gains.items()}
    for name, value in values.items():
        size = len(own[name])  # raises for an unknown gain
        if value.shape[-1:] != (size,):
            raise BrazoError(f"gain {name} has shape {value.shape}; expected (..., {size})")
    try:
        lead = np.broadcast_shapes(*(value.shape[:-1] for value in values.values()))
    except ValueError:
        shapes = ", ".join(f"{name} {value.shape}" for name, value in values.items())
        raise BrazoError(
            f"the leading dimensions of the gains do not broadcast: {shapes}"
        ) from None
    return lead, {
        name: np.broadcast_to(value, (*lead, value.shape[-1])) for name, value in values.items()
    }


def _loaded_motion(robot: Robot) -> Any:
    """Compile the forward dynamics: kernel (q, qd, tau, payload, mass scale) -> qdd."""
    equations, n, g = equations_of(robot.model), robot.n, Graph()
    q, qd, tau = (g.inputs(name, n) for name in ("q", "qd", "tau"))
    (mass,), (scale,) = g.inputs("payload", 1), g.inputs("mass_scale", 1)
    unit = equations.load_vector(1.0, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)).tolist()
    load = [mass * u if u else 0.0 for u in unit]
    qdd = equations.acceleration(q, qd, tau, load, scale)
    return compile_kernel("loaded_motion", g, {"qdd": qdd})
