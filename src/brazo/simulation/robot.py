"""`SimRobot`: one robot of a simulation, with its controller and motion."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from brazo.control import CompiledController, Controller, Reference, controllers
from brazo.control.base import torque_limits
from brazo.deprecation import warn_renamed
from brazo.errors import BrazoError, user_place
from brazo.model.declared import Declared
from brazo.robot import Robot
from brazo.simulation.ailments import Ailments
from brazo.simulation.cell_arm import arm_of
from brazo.simulation.faults import Fault
from brazo.simulation.motion import Live, Motion, Rest, Sampled
from brazo.trajectory import GoTo, Trajectory, limits_of
from brazo.world import CellRobot, WorldRobot
from brazo.world.build import solid_inertia

if TYPE_CHECKING:
    from brazo.simulation.simulation import Simulation

Array = np.ndarray
IDEAL = "ideal"  # instead of a controller: the joints follow the reference exactly
DEFAULT_CONTROLLER = "ComputedTorque"
JUMP = 0.02  # rad or m; a motion that starts farther from the reference is rejected
BEYOND = 1e-6  # rad or m; a motion that exceeds a joint limit by more than this is rejected
LONGEST_STOP = 60.0  # s
GREATEST_SHARE = 10.0  # max fraction of a load


class SimRobot(Declared):
    """A controlled robot; created by `Simulation`."""

    name: str
    arm: Robot
    world: WorldRobot
    motion: Motion
    #: q and qd as measured in the last step, if a fault changes the encoder readings.
    seen: tuple[Array, Array] | None

    def __init__(self, sim: Simulation, name: str) -> None:
        self._sim = sim
        self.name = name
        self._attach()
        self._stands_as = self._given
        self.arm = arm_of(self._stands_as, sim.cell.gravity)
        self._controller: Controller | None = None
        self._positioned = False
        self._load: tuple[str, float] | None = None
        self.motion = Rest(self.world.q)
        self._ailments = Ailments()
        self.seen = None

    def __repr__(self) -> str:
        law = "ideal" if self._positioned else self._controller.name if self._controller else "none"
        return f"<brazo robot {self.name} in a simulation: {self.n} joints, controller {law}>"

    # ---- state -----------------------------------------------------------------------------

    @property
    def n(self) -> int:
        """Number of joints."""
        return self.world.n

    @property
    def base(self) -> Array:
        """Pose of the base (4, 4) in the world."""
        return self.world.base

    @property
    def q(self) -> Array:
        """Current joint positions (n,), rad and m; a copy."""
        return self.world.q.copy()

    @property
    def qd(self) -> Array:
        """Current joint velocities (n,), rad/s and m/s; a copy."""
        return self.world.qd.copy()

    @property
    def torque(self) -> Array:
        """Drive torques in the last step (n,), N m and N."""
        return self.world.drive_torque.copy()

    @property
    def torque_limits(self) -> Array:
        """Max torque of each drive (n,); infinite where the file gives none."""
        return torque_limits(self.arm)

    def tool(self) -> Array:
        """Current pose (4, 4) of the tool in the world."""
        return self.world.tool()

    @property
    def reference(self) -> Reference:
        """Current reference."""
        motion = self.motion
        return Reference(motion.q.copy(), motion.qd.copy(), motion.qdd.copy())

    # ---- controller ------------------------------------------------------------------------

    @property
    def controller(self) -> Controller | None:
        """The controller; can be set at any time to an object, a name, `"ideal"` or None.

        A new controller starts from the current state.  With None, the drives apply the values
        written to `world.torque`; with `"ideal"`, the joints are set to the reference.
        """
        return self._controller

    @controller.setter
    def controller(self, law: Controller | str | None) -> None:
        with self._sim.lock:
            self.use(law)
            text, data = self.controller_event()
            self._sim.log("control", text, **data)

    def controller_event(self) -> tuple[str, dict[str, Any]]:
        """Return text and data of the event that reports the controller."""
        return f"{self.name}: {self.controller_name}", {
            "robot": self.name,
            "law": self.controller_name,
        }

    @property
    def controller_name(self) -> str:
        """The name of the controller, `"ideal"` or `"none"`."""
        if self._positioned:
            return IDEAL
        return "none" if self._controller is None else self._controller.name

    @property
    def law(self) -> str:
        """The old name of `controller_name`."""
        warn_renamed("law", "controller_name")
        return self.controller_name

    def use(self, law: Controller | str | None) -> None:
        """Set the controller without logging an event."""
        positioned = law == IDEAL
        chosen = None if positioned else self._bound(law)
        before, self._controller = self._controller, chosen
        self._positioned = positioned
        if before is not None and before is not chosen:
            before.gains.on_change = None
        self._listen()
        self._tell_load()
        self.world.torque[:] = 0.0

    def _bound(self, law: Controller | str | None) -> Controller | None:
        if law is None:
            return None
        if isinstance(law, str):
            known = controllers()
            if law not in known:
                raise BrazoError(
                    f"robot '{self.name}': no controller named '{law}'; there are: "
                    f"{', '.join(known)}, {IDEAL}"
                )
            law = known[law]()
        if not isinstance(law, Controller):
            raise BrazoError(
                f"robot '{self.name}': a controller is a brazo.control.Controller, the name of "
                f"one, '{IDEAL}' or None, not {law!r}"
            )
        if not self.arm.has_dynamics:
            raise BrazoError(
                f"robot '{self.name}': its file gives no masses, so forces cannot move it and no "
                f"controller can drive it; use '{IDEAL}', or give the masses"
            )
        taken = [other.name for other in self._sim.robots.values() if other._controller is law]
        if taken and taken != [self.name]:
            raise BrazoError(
                f"this controller already drives '{taken[0]}': give '{self.name}' its own"
            )
        if not law.is_bound_to(self.arm, self._sim.dt):
            law.bind(self.arm, self._sim.dt)
        law.reset(self.world.q, self.world.qd)
        return law

    @property
    def plain(self) -> bool:
        """Whether only the controller drives it, from its true state: no fault, no ideal drive."""
        return not (self._positioned or self._ailments.acts or self.seen is not None)

    # ---- faults ----------------------------------------------------------------------------

    @property
    def faults(self) -> list[Fault]:
        """Active faults."""
        return self._ailments.faults

    @property
    def force_feedback(self) -> bool:
        """Whether contact response is on; can be changed at any time."""
        return self.world.force_feedback

    @force_feedback.setter
    def force_feedback(self, on: bool) -> None:
        with self._sim.lock:
            self.world.force_feedback = on
            text = f"{self.name} contact response {'on' if on else 'off'}"
            self._sim.log("force feedback", text, robot=self.name, on=bool(on))

    # ---- motion ----------------------------------------------------------------------------

    def move(self, trajectory: Trajectory, *, jump: bool = False, unchecked: bool = False) -> None:
        """Follow a trajectory, beginning at its `start` now.

        It must start at the current reference unless `jump` is True.  A trajectory that exceeds the
        joint limits is rejected unless `unchecked` is True.
        """
        if not isinstance(trajectory, Trajectory):
            raise BrazoError(
                f"robot '{self.name}': a motion is a brazo.trajectory.Trajectory, "
                f"not a {type(trajectory).__name__}"
            )
        if trajectory.n != self.n:
            raise BrazoError(
                f"robot '{self.name}' has {self.n} joints; the trajectory is for {trajectory.n}"
            )
        with self._sim.lock:
            motion = Sampled.of(trajectory, self._sim.dt)
            gap = np.abs(motion.q - self.motion.q)
            if not jump and (gap > JUMP).any():
                i = int(np.argmax(gap))
                raise BrazoError(
                    f"robot '{self.name}': the trajectory begins with {self.arm.joint_names[i]} at "
                    f"{motion.q[i]:.4f}, but the joint is asked to be at {self.motion.q[i]:.4f}; "
                    "plan it from `reference.q`, or pass jump=True"
                )
            if not unchecked:
                self._refuse_beyond(motion)
            self.motion = motion

    def _refuse_beyond(self, motion: Sampled) -> None:
        """Raise an error if a motion exceeds the limits.

        A motion that starts outside the limits may return, but not move farther out.
        """
        q, arm = motion.table[:, : self.n], self.arm
        low = np.minimum(arm.limits[:, 0], motion.q) - BEYOND
        high = np.maximum(arm.limits[:, 1], motion.q) + BEYOND
        outside = (q < low) | (q > high)
        if not outside.any():
            return
        row = int(np.argmax(outside.any(axis=1)))
        i = int(np.argmax(outside[row]))
        worst = q[int(np.argmax(np.maximum(low[i] - q[:, i], q[:, i] - high[i]))), i]
        limit = arm.limits[i, int(q[row, i] > high[i])]
        turns = arm.joint_kinds[i] == "revolute"
        least, most = (_measure(value, turns) for value in (limit, worst))
        raise BrazoError(
            f"robot '{self.name}': the trajectory takes {arm.joint_names[i]} beyond its limit of "
            f"{least} after {row * motion.dt:.3f} s, and as far as {most}; plan it within the "
            "joint limits (in Python `arm.limits`; brazo.trajectory.check lists what is passed, "
            "unchecked=True follows it nevertheless)"
        )

    def follow(self, source: Any) -> None:
        """Follow a live source: `source.next()` or `source.update(dt)` is called every step."""
        with self._sim.lock:
            self.motion = Live(source, self.motion.q, self._sim.dt)

    def hold(self) -> None:
        """Hold the current reference position."""
        with self._sim.lock:
            self.motion = Rest(self.motion.q)

    def stop(self) -> None:
        """Stop as quickly as the limits allow, then hold."""
        with self._sim.lock:
            motion, dt = self.motion, self._sim.dt
            if not (motion.qd.any() or motion.qdd.any()):
                self.motion = Rest(motion.q)
                return
            braking = GoTo(limits_of(self.arm), motion.q, motion.qd, motion.qdd)
            rows = [motion.row.copy()]
            while braking.moving and len(rows) * dt < LONGEST_STOP:
                sample = braking.update(dt)
                rows.append(np.concatenate([sample.q, sample.qd, sample.qdd]))
            self.motion = Sampled(np.array(rows), dt)

    @property
    def moving(self) -> bool:
        """Whether the reference is still moving."""
        return self.motion.moving

    @property
    def remaining(self) -> float:
        """Time until the reference is at rest (s); nan if a live source does not provide it."""
        return self.motion.remaining

    # ---- gripper ---------------------------------------------------------------------------

    def grip(self, force: float | None = None) -> None:
        """Close the gripper with a force (N), by default its max force."""
        with self._sim.lock:
            self._clamp().grip(force)

    def open(self, opening: float | None = None) -> None:
        """Open the gripper to an opening (m), by default fully."""
        with self._sim.lock:
            self._clamp().open(opening)

    def carry(self, body: str | None, share: float = 1.0) -> None:
        """Set the load known to the controller: the body held by the gripper, or None.

        `share` is the fraction of a shared load.  The pose of the load in the hand is the current
        one.  With a share above 1 the controller assumes a heavier body than the real one.
        """
        if not 0.0 <= share <= GREATEST_SHARE:
            raise BrazoError(
                f"robot '{self.name}': a share of {share:g}; from 0 to {GREATEST_SHARE:g}"
            )
        names = [one.name for one in self._sim.cell.bodies]
        if body is not None and body not in names:
            raise BrazoError(f"no free body named '{body}'; bodies: {', '.join(names) or 'none'}")
        with self._sim.lock:
            self._load = None if body is None else (body, float(share))
            self._tell_load()

    @property
    def load(self) -> tuple[str, float] | None:
        """The body known to the controller and the fraction of it."""
        return self._load

    # ---- internals -------------------------------------------------------------------------

    def act(self, t: float) -> None:
        """Compute and set the torques of this step."""
        law = self._controller
        if self._ailments.acts:
            self._act_ailing(t)
        elif law is not None:
            try:
                q, qd = self._live or (self.world.q, self.world.qd)
                self._torque[:] = law.torque(t, q, qd, self.motion)  # type: ignore[arg-type]
            except Exception as error:
                raise self.failed(t, error) from error
        elif self._positioned:
            self._go_there()

    def _act_ailing(self, t: float) -> None:
        """Compute and set the torques with faults between encoders, controller and drives."""
        q, qd = self._ailments.measured(self.world.q, self.world.qd)
        self.seen = (q, qd) if self._ailments.blinds else None
        if self._positioned:
            self._go_there()
            return
        tau = self._torque.copy()
        if self._controller is not None:
            try:
                tau = self._controller.torque(t, q, qd, self.motion)  # type: ignore[arg-type]
            except Exception as error:
                raise self.failed(t, error) from error
        self._torque[:] = self._ailments.told(tau)

    def _go_there(self) -> None:
        """Set the joints to the reference, and the torques to those of an ideal drive."""
        motion, world = self.motion, self.world
        q, qd, qdd = motion.q, motion.qd, motion.qdd
        if (locked := world.locked).any():
            q, qd = np.where(locked, world.q, q), np.where(locked, 0.0, qd)
        world.guide(q, qd)
        if self.arm.has_dynamics:
            self._torque[:] = self.arm.inverse_dynamics(q, qd, qdd)

    def go_on(self) -> None:
        """Advance the reference after a step."""
        try:
            self.motion.advance()
        except Exception as error:
            source = type(getattr(self.motion, "source", self.motion)).__name__
            what = str(error) if isinstance(error, BrazoError) else f"{source}: {error!r}"
            raise BrazoError(f"robot '{self.name}', t = {self._sim.time:.4f} s: {what}") from error

    def suffer(self, fault: Fault, rng: np.random.Generator) -> None:
        """Activate a fault."""
        self._ailments.add(fault, self.world, self._sim.dt, rng)

    def mend(self, fault: Fault | None) -> list[Fault]:
        """Clear a fault, or all of them; return the cleared faults."""
        gone = self._ailments.clear(self.world, fault)
        if not self._ailments.blinds:
            self.seen = None
        return gone

    def failed(self, t: float, error: Exception) -> BrazoError:
        """Return the error to raise when the controller fails to compute torques."""
        assert self._controller is not None
        own = not isinstance(error, BrazoError)
        what = f"{type(error).__name__}: {error}" if own else str(error)
        head = f"{place}: " if own and (place := user_place(error)) else ""
        return BrazoError(
            f"{head}robot '{self.name}', controller {self._controller.name}, t = {t:.4f} s: {what}"
        )

    def restart(self) -> None:
        """Reset faults, motion, load and controller at the current position of the robot."""
        self._ailments.clear(self.world)
        self.seen = None
        self.motion = Rest(self.world.q)
        self._load = None
        if self._controller is not None:
            self._controller.reset(self.world.q, self.world.qd)
        self._tell_load()
        self.world.torque[:] = 0.0

    def rebind(self) -> None:
        """Attach to the robot of an edited world; keep controller, load, motion and faults."""
        self._attach()
        self._ailments.renew(self.world)
        given = self._given
        if given is not self._stands_as:
            self._stands_as, self.arm = given, arm_of(given, self._sim.cell.gravity)
        self.fit_controller()

    def fit_controller(self) -> None:
        """Bind the controller to the current arm if necessary, and set its load."""
        law, dt = self._controller, self._sim.dt
        if law is not None and not law.is_bound_to(self.arm, dt):
            rebound(law, self.arm, dt, self.world.q, self.world.qd)
            self._tell_load()
        self._listen()

    def _listen(self) -> None:
        """Subscribe to changes of the controller's gains."""
        if self._controller is not None:
            self._controller.gains.on_change = self._on_gain

    def _on_gain(self, gain: str, values: Array) -> None:
        same = (values == values[0]).all()
        text = f"{values[0]:g}" if same else ", ".join(f"{value:g}" for value in values)
        told = {
            "robot": self.name,
            "law": self.controller_name,
            "gain": gain,
            "values": values.tolist(),
        }
        self._sim.log("gain", f"{self.name}: {self.controller_name} {gain} = {text}", **told)

    def _attach(self) -> None:
        """Create views of the arrays of the world's robot."""
        self.world = self._sim.world.robots[self.name]
        self._live, self._torque = self.world.live, self.world.torque

    @property
    def _given(self) -> CellRobot:
        return next(one for one in self._sim.cell.robots if one.name == self.name)

    def _unknown(self, name: str) -> tuple[str, Sequence[str], str]:
        return f"robot '{self.name}' of the simulation", (), ""

    def _clamp(self) -> Any:
        if self.world.clamp is None:
            raise BrazoError(f"robot '{self.name}' has no gripper")
        return self.world.clamp

    def _tell_load(self) -> None:
        law = self._controller
        if law is None:
            return
        if self._load is None:
            law.payload(0.0)
            return
        name, share = self._load
        body = next(one for one in self._sim.cell.bodies if one.name == name)
        T = np.linalg.inv(self.world.tool()) @ self._sim.world.pose(name)
        inertia = solid_inertia(body.shape, body.mass)
        tensor = T[:3, :3] @ inertia.tensor @ T[:3, :3].T
        law.payload(share * body.mass, T[:3, 3], share * tensor)


def _measure(value: float, turns: bool) -> str:
    return f"{np.degrees(value):.6g} deg" if turns else f"{value:.6g} m"


def rebound(law: Controller, arm: Robot, dt: float, q: Array, qd: Array) -> None:
    """Bind a controller to a changed robot; gains set by the user are kept.

    The other gains take their defaults for the new robot.  A compiled controller keeps its state;
    one in plain Python is reset.
    """
    state = law.state if isinstance(law, CompiledController) else None
    fresh = copy.deepcopy(law)
    fresh.bind(law.robot, dt)
    changed = {
        name: law.gains[name]
        for name in law.gains
        if not np.array_equal(law.gains[name], fresh.gains[name])
    }
    law.bind(arm, dt)
    law.reset(q, qd)
    for name, values in changed.items():
        law.gains[name] = values
    if state:
        assert isinstance(law, CompiledController)
        law.state = state


def default_controller(robot: SimRobot) -> Controller | str:
    """Return computed torque, or ideal positioning if the masses are unknown."""
    return controllers()[DEFAULT_CONTROLLER]() if robot.arm.has_dynamics else IDEAL
