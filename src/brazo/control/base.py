"""`Controller`: the interface of all controllers, and `Reference`: the signal they track.

A controller is one file with one class.  It declares its gains (`GAINS`), their default values
(`default_gains`) and its control law: `command`, in plain Python, or `law`, over any scalar (see
`brazo.control.compiled`).  Sizes, drive limits and checks are handled here.

    controller.bind(robot, dt)                       once
    controller.reset(q, qd)                          before each run
    tau = controller.torque(t, q, qd, reference)     every dt seconds
    controller.saturated                             joints whose torque was clipped to the drive's
    limit
"""

from __future__ import annotations

import copy
import inspect
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from brazo.checks import positive
from brazo.control.gains import Gain, Gains, Parameter
from brazo.dynamics.reading import read_vector, refuse_nonfinite
from brazo.errors import BrazoError
from brazo.model.declared import Declared
from brazo.robot import Robot
from brazo.trajectory.reading import floats

_ORIGIN = (0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True, eq=False)
class Reference:
    """Joint reference at one time: position, velocity and acceleration, each (n,)."""

    q: Any
    qd: Any
    qdd: Any

    def __iter__(self):
        return iter((self.q, self.qd, self.qdd))


class Controller(Declared, ABC):
    """Base of controllers: state and reference to torques; see the module for the call order."""

    GAINS: ClassVar[tuple[Gain, ...]] = ()
    listed: ClassVar[bool] = True  # whether it tracks a reference; others are not in `controllers`
    limits: np.ndarray

    def __init__(self, **gains: Any) -> None:
        self._given = {name: value for name, value in gains.items() if value is not None}
        self._robot: Robot | None = None
        self._gains: Gains | None = None
        self._dt = math.nan
        self.limits = np.empty(0)
        self._wanted = np.empty(0)

    # -- to override; the defaults do nothing -------------------------------------------------

    def default_gains(self, robot: Robot) -> Mapping[str, Any]:
        """Default gains, from the robot and the controller's options."""
        return {}

    @abstractmethod
    def command(self, t: float, q: np.ndarray, qd: np.ndarray, reference: Reference) -> Any:
        """The commanded torque (n,) before the drives' limits."""

    def start(self, q: np.ndarray, qd: np.ndarray) -> None:
        """Reset internal state: integrators and estimates at the start of a run."""

    def prepare(self, robot: Robot) -> None:
        """One-time preparation once sizes and gains are known."""

    def gains_changed(self) -> None:
        """Called when a gain was set; for controllers with derived quantities."""

    def payload(self, mass: float, com: Any = _ORIGIN, inertia: Any = _ORIGIN) -> None:
        """Set the load held by the tool (mass in kg, centre of mass and inertia in the tool frame).

        Controllers that use the robot's model compensate for it; the others ignore it.
        """

    # -- user interface -----------------------------------------------------------------------

    def bind(self, robot: Robot, dt: float) -> None:
        """Prepare for a robot and a control period dt (s): sizes, gains, machine code."""
        positive(dt, f"{self.name}: dt")
        gains = dict(self._given)
        if any(gain.name not in gains for gain in self.GAINS):
            gains = {**self.default_gains(robot), **gains}
        checked = Gains(
            self.name, self.GAINS, robot.joint_names, robot.joint_kinds, gains, self.gains_changed
        )
        self._robot, self._dt, self._gains = robot, float(dt), checked
        self.limits = torque_limits(robot)
        self._wanted = np.zeros(robot.n)
        self.prepare(robot)
        self.reset(np.zeros(robot.n), np.zeros(robot.n))

    def gain_values(self) -> dict[str, Any]:
        """All gains by name; before `bind`, those that were given."""
        if self._gains is None:
            return dict(self._given)
        return {name: self._gains[name] for name in self._gains}

    def is_bound_to(self, robot: Robot, dt: float) -> bool:
        """Whether `bind` was called with this robot and dt."""
        return self._robot is robot and self._dt == dt

    def reset(self, q: Any, qd: Any) -> None:
        """Start a run at this state."""
        q, qd = self._vector(q, "q"), self._vector(qd, "qd")
        self._wanted = np.zeros(self.robot.n)
        self.start(q, qd)

    def torque(self, t: float, q: Any, qd: Any, reference: Reference) -> np.ndarray:
        """Torques (n,) within the drives' limits, to be held until the next call."""
        q, qd = self._vector(q, "q"), self._vector(qd, "qd")
        goal = Reference(*self._reference(reference))
        command = self.command(t, q, qd, goal)
        if command is None:
            raise BrazoError(
                f"{self.name}: command() returned None; is a return statement missing?"
            )
        wanted = np.array(command, dtype=float)
        if wanted.shape != (self.robot.n,):
            raise BrazoError(
                f"{self.name}: command() returned shape {wanted.shape}; expected ({self.robot.n},)"
            )
        self._refuse_nonfinite(wanted, "the torque")
        self._wanted = wanted
        return np.clip(wanted, -self.limits, self.limits)

    def closed_loop(self, robot: Robot, trajectory: Any, t_end: float, **options: Any) -> Any:
        """Run many closed loops with a robot; for compiled controllers only."""
        raise BrazoError(
            f"{self.name} is a controller in Python; closed_loop needs a compiled one "
            "(brazo.control.CompiledController)"
        )

    @property
    def saturated(self) -> np.ndarray:
        """True (n,) for joints whose last torque was clipped to the drive's limit."""
        return np.abs(self._wanted) > self.limits

    @property
    def wanted(self) -> np.ndarray:
        """The last commanded torque (n,) before the limits."""
        return self._wanted.copy()

    @property
    def gains(self) -> Gains:
        """The gains; they may be changed at any time, see `brazo.control.gains`."""
        if self._gains is None:
            raise self._unbound()
        return self._gains

    def parameters(self) -> tuple[Parameter, ...]:
        """All gains with labels, units and values, for display."""
        return self.gains.parameters()

    @property
    def robot(self) -> Robot:
        """The robot this controller is bound to."""
        if self._robot is None:
            raise self._unbound()
        return self._robot

    @property
    def dt(self) -> float:
        """The control period (s)."""
        return self._dt

    @property
    def name(self) -> str:
        """The controller's name, that of its class."""
        return type(self).__name__

    def __repr__(self) -> str:
        return f"<{self.name} on {self._robot.name if self._robot else 'no robot'}>"

    def __copy__(self) -> Controller:
        return copy.deepcopy(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Controller:
        """An independent copy with the same gains and state; the robot is shared."""
        clone = type(self).__new__(type(self))
        memo[id(self)] = clone
        if self._robot is not None:
            memo[id(self._robot)] = self._robot
        for name, value in vars(self).items():
            setattr(clone, name, copy.deepcopy(value, memo))
        return clone

    # -- checks -------------------------------------------------------------------------------

    def _vector(self, value: Any, what: str) -> np.ndarray:
        return read_vector(value, self.robot, f"{self.name}: {what}")

    def _reference(self, reference: Any) -> list[np.ndarray]:
        try:
            parts = [reference.q, reference.qd, reference.qdd]
        except AttributeError:
            raise BrazoError(
                f"{self.name}: the reference is a {type(reference).__name__}; "
                "expected brazo.control.Reference(q, qd, qdd)"
            ) from None
        names = ("reference q", "reference qd", "reference qdd")
        return [self._vector(part, name) for part, name in zip(parts, names, strict=True)]

    def _refuse_nonfinite(self, values: np.ndarray, what: str) -> None:
        refuse_nonfinite(values, self.robot, f"{self.name}: {what}")

    def _unknown(self, name: str) -> tuple[str, Sequence[str], str]:
        gains = [gain.name for gain in self.GAINS]
        if name in gains:
            advice = (
                f'It is a gain: controller.gains["{name}"] = value sets it after bind(robot, dt), '
                f"{self.name}({name}=value) before."
            )
            return self.name, (), advice
        return self.name, gains, f"Gains ({', '.join(gains)}) are set by controller.gains[name]."

    def _unbound(self) -> BrazoError:
        return BrazoError(f"{self.name} is not bound to a robot; call bind(robot, dt) first")


def controllers() -> dict[str, type[Controller]]:
    """All controllers by name, including imported user-defined ones."""
    return {name: kind for name, kind in controller_types().items() if kind.listed}


def controller_types() -> dict[str, type[Controller]]:
    """All classes of controllers by name, also those that track no reference."""
    found: dict[str, type[Controller]] = {}
    families: list[type[Controller]] = [Controller]
    while families:
        for kind in families.pop().__subclasses__():
            families.append(kind)
            if not inspect.isabstract(kind):
                found[kind.__name__] = kind
    return dict(sorted(found.items()))


def torque_limits(robot: Robot) -> np.ndarray:
    """Max torque or force of each joint's drive (n,); inf if the file gives none."""
    return np.array([drive.max_torque for drive in robot.model.drives], dtype=float)


def per_joint(value: Any, robot: Robot, what: str) -> np.ndarray:
    """An option given as a positive number, or one per joint, as (n,)."""
    array = floats(value, what)
    if array.shape not in ((), (robot.n,)):
        raise BrazoError(f"{what} has shape {array.shape}; expected a number or ({robot.n},)")
    if not (np.isfinite(array) & (array > 0.0)).all():
        raise BrazoError(f"{what} = {value}; it must be finite and greater than 0")
    return np.full(robot.n, array)


def one_of(value: Any, allowed: Sequence[str], what: str) -> str:
    """Check an option against its allowed values."""
    if value not in allowed:
        raise BrazoError(f"{what} = {value!r} is not one of {', '.join(allowed)}")
    return value
