"""`Controller`: the interface of all controllers, and `Reference`: the signal they track.

A controller is one file with one class.  It declares its gains (`GAINS`), their default values
(`default_gains`) and its control law: `command` in plain Python, or `law`, which is compiled (see
`brazo.control.compiled`).  This module checks sizes and values and applies the drive limits.

    controller.bind(robot, dt)                       once
    controller.reset(q, qd)                          before each run
    tau = controller.torque(t, q, qd, reference)     every dt seconds
    controller.saturated                             (n,) True where the torque was clipped
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
    """Base class of controllers, which compute torques from state and reference.

    Call `bind` once, `reset` before each run, and `torque` in every control period.
    """

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
        """Default gains by name, computed from the robot and the options of the controller."""
        return {}

    @abstractmethod
    def command(self, t: float, q: np.ndarray, qd: np.ndarray, reference: Reference) -> Any:
        """Return the commanded torque (n,), before it is clipped to the drive limits."""

    def start(self, q: np.ndarray, qd: np.ndarray) -> None:
        """Reset the internal state, such as integrators and estimates, at the start of a run."""

    def prepare(self, robot: Robot) -> None:
        """Prepare for a robot; `bind` calls this method after it has set robot, dt and gains."""

    def gains_changed(self) -> None:
        """Recompute what depends on the gains; called each time a gain is set after `bind`."""

    def payload(self, mass: float, com: Any = _ORIGIN, inertia: Any = _ORIGIN) -> None:
        """Set the load held by the tool, for controllers that compensate for it.

        `mass` is in kg.  `com` (3,) is the centre of mass in the tool frame (m).  `inertia` (3,) or
        (3, 3) is the inertia about the centre of mass in tool axes (kg m²).  Controllers without a
        robot model ignore the load, and `Adaptive` estimates it instead.
        """

    # -- user interface -----------------------------------------------------------------------

    def bind(self, robot: Robot, dt: float) -> None:
        """Bind the controller to a robot and a control period dt (s).

        The gains are set to the values given to the constructor, or to their defaults.  The state
        is reset.  A compiled controller is compiled.
        """
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
        """Values of all gains by name; before `bind`, only the gains given to the constructor."""
        if self._gains is None:
            return dict(self._given)
        return {name: self._gains[name] for name in self._gains}

    def is_bound_to(self, robot: Robot, dt: float) -> bool:
        """Return whether the controller is bound to this robot with this control period."""
        return self._robot is robot and self._dt == dt

    def reset(self, q: Any, qd: Any) -> None:
        """Reset the controller for a run that starts at position q and velocity qd."""
        q, qd = self._vector(q, "q"), self._vector(qd, "qd")
        self._wanted = np.zeros(self.robot.n)
        self.start(q, qd)

    def torque(self, t: float, q: Any, qd: Any, reference: Reference) -> np.ndarray:
        """Return the torques (n,) to apply until the next call, clipped to the drive limits."""
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
        """Simulate many closed loops in one call; only compiled controllers support this."""
        raise BrazoError(
            f"{self.name} is a controller in Python; closed_loop needs a compiled "
            "controller (brazo.control.CompiledController)"
        )

    @property
    def saturated(self) -> np.ndarray:
        """Boolean array (n,): whether the last torque of each joint was clipped to the limit."""
        return np.abs(self._wanted) > self.limits

    @property
    def wanted(self) -> np.ndarray:
        """The last commanded torque (n,), before it was clipped to the torque limits."""
        return self._wanted.copy()

    @property
    def gains(self) -> Gains:
        """The gains, which may be changed at any time; see `brazo.control.gains`."""
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
        """The control period (s); NaN before `bind`."""
        return self._dt

    @property
    def name(self) -> str:
        """Name of the controller, which is the name of its class."""
        return type(self).__name__

    def __repr__(self) -> str:
        return f"<{self.name} on {self._robot.name if self._robot else 'no robot'}>"

    def __copy__(self) -> Controller:
        return copy.deepcopy(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Controller:
        """Return an independent copy with the same gains and state; the robot is not copied."""
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
                f"'{name}' is a gain: create the controller with {self.name}({name}=value), or set "
                f'controller.gains["{name}"] = value after bind(robot, dt).'
            )
            return self.name, (), advice
        advice = f"Set gains ({', '.join(gains)}) with controller.gains[name]." if gains else ""
        return self.name, gains, advice

    def _unbound(self) -> BrazoError:
        return BrazoError(f"{self.name} is not bound to a robot; call bind(robot, dt) first")


def controllers() -> dict[str, type[Controller]]:
    """Classes of all controllers that track a reference, by name; includes user-defined classes."""
    return {name: kind for name, kind in controller_types().items() if kind.listed}


def controller_types() -> dict[str, type[Controller]]:
    """All controller classes by name, including those that track no reference."""
    found: dict[str, type[Controller]] = {}
    families: list[type[Controller]] = [Controller]
    while families:
        for kind in families.pop().__subclasses__():
            families.append(kind)
            if not inspect.isabstract(kind):
                found[kind.__name__] = kind
    return dict(sorted(found.items()))


def torque_limits(robot: Robot) -> np.ndarray:
    """Max torque or force of each joint (n,); inf if the robot file gives no limit."""
    return np.array([drive.max_torque for drive in robot.model.drives], dtype=float)


def per_joint(value: Any, robot: Robot, what: str, *, zero: bool = False) -> np.ndarray:
    """Return an option as an array (n,); `value` is one positive number, or one per joint.

    If `zero`, 0 is also allowed.
    """
    array = floats(value, what)
    if array.shape not in ((), (robot.n,)):
        raise BrazoError(f"{what} has shape {array.shape}; expected a number or ({robot.n},)")
    if not (np.isfinite(array) & ((array >= 0.0) if zero else (array > 0.0))).all():
        least = "at least 0" if zero else "greater than 0"
        raise BrazoError(f"{what} = {value}; it must be finite and {least}")
    return np.full(robot.n, array)


def one_of(value: Any, allowed: Sequence[str], what: str) -> str:
    """Return an option after checking that it is one of the allowed values."""
    if value not in allowed:
        raise BrazoError(f"{what} = {value!r} is not one of {', '.join(allowed)}")
    return value


def boolean(value: Any, what: str) -> bool:
    """Return an option after checking that it is a boolean; text such as "no" is not one."""
    if not isinstance(value, bool | np.bool_):
        raise BrazoError(f"{what} = {value!r}; it must be True or False")
    return bool(value)
