"""`RobotControl`: the controller, active faults and drives of one robot.

In each step the controller receives the measured state and the reference, and its torques are
written to the drives.  Encoder faults change the input of the controller, and command faults change
its output.  A robot may have no controller: with `"ideal"` the joints are set to the reference, and
with None the drives apply the values that the user writes to `world.torque`.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from brazo.control import CompiledController, Controller, Drives, controllers
from brazo.errors import BrazoError, user_place
from brazo.model.inertia import transformed
from brazo.robot import Robot
from brazo.simulation.active_faults import ActiveFaults
from brazo.simulation.faults import Fault
from brazo.simulation.motion import Rest
from brazo.world.solid_inertia import solid_inertia

if TYPE_CHECKING:
    from brazo.simulation.robot import SimRobot
    from brazo.simulation.simulation import Simulation

Array = np.ndarray
IDEAL = "ideal"  # instead of a controller: the joints follow the reference exactly
DEFAULT_CONTROLLER = "ComputedTorque"
MAX_SHARE = 10.0  # max fraction of a load


class RobotControl:
    """Controller, load and active faults of a robot."""

    def __init__(self, sim: Simulation, robot: SimRobot) -> None:
        self._sim, self._robot = sim, robot
        self.controller: Controller | None = None
        self.ideal = False
        #: The body known to the controller and the fraction of it.
        self.load: tuple[str, float] | None = None
        self.faults = ActiveFaults()
        #: q and qd as measured in the last step, if a fault changes the encoder readings.
        self.measured: tuple[Array, Array] | None = None
        #: Model of the real drives; None if they are ideal.
        self.drives: Drives | None = None
        self._applied = robot.world.torque  # torques at the joints
        self._connect_drives()

    # ---- controller ------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """Name of the controller, or `"ideal"`, or `"none"`."""
        if self.ideal:
            return IDEAL
        return "none" if self.controller is None else self.controller.name

    @property
    def plain(self) -> bool:
        """True if there is no ideal positioning and no active encoder or command fault."""
        return not (self.ideal or self.faults.in_step or self.measured is not None)

    def event(self) -> tuple[str, dict[str, Any]]:
        """Return the text and the data of the event that reports the controller."""
        robot = self._robot.name
        return f"{robot}: {self.name}", {"robot": robot, "law": self.name}

    def use(self, controller: Controller | str | None) -> None:
        """Set the controller (see `SimRobot.controller`) without logging an event."""
        ideal = controller == IDEAL
        chosen = None if ideal else self._bound(controller)
        before, self.controller = self.controller, chosen
        self.ideal = ideal
        if before is not None and before is not chosen:
            before.gains.on_change = None
        self._subscribe_to_gains()
        self._set_payload()
        self._robot.world.torque[:] = self._applied[:] = 0.0

    def _connect_drives(self) -> None:
        """Connect the drive model between commanded and applied torques, if the robot has one."""
        robot, dt, before = self._robot, self._sim.dt, self.drives
        self.drives, self._applied = None, robot.world.torque
        if not robot.arm.model.real_drives:
            return
        if before is not None and before.fits(robot.arm, dt):
            self.drives = before
        else:
            self.drives = Drives(robot.arm, dt)
            self.drives.reset(robot.world.q, robot.world.qd)
            if before is not None and before.names == self.drives.names:
                self.drives.state[:] = before.state
        self._applied = robot.world.separate_command()

    @property
    def applied(self) -> Array:
        """Torques (n,) applied to the joints, as a view of the engine's memory."""
        return self._applied

    def use_default(self) -> None:
        """Use the computed-torque controller, or ideal positioning if the masses are unknown."""
        self.use(DEFAULT_CONTROLLER if self._robot.arm.has_dynamics else IDEAL)

    def _bound(self, controller: Controller | str | None) -> Controller | None:
        """Return the controller after binding it to the robot and resetting it.

        The controller starts from the current state of the robot.  None is returned unchanged.
        """
        if controller is None:
            return None
        robot, dt = self._robot, self._sim.dt
        if isinstance(controller, str):
            known = controllers()
            if controller not in known:
                raise BrazoError(
                    f"robot '{robot.name}': no controller named '{controller}'; controllers: "
                    f"{', '.join(known)}, {IDEAL}"
                )
            controller = known[controller]()
        if not isinstance(controller, Controller):
            raise BrazoError(
                f"robot '{robot.name}': a controller must be a brazo.control.Controller, the name "
                f"of one, '{IDEAL}' or None, not {controller!r}"
            )
        if not robot.arm.has_dynamics:
            raise BrazoError(
                f"robot '{robot.name}': the robot file has no masses, so no controller can "
                f"drive the robot; use '{IDEAL}', or add the masses to the file"
            )
        others = self._sim.robots.values()
        used_by = [other.name for other in others if other.controller is controller]
        if used_by and used_by != [robot.name]:
            raise BrazoError(
                f"this controller already drives '{used_by[0]}'; create another controller for "
                f"'{robot.name}'"
            )
        if not controller.is_bound_to(robot.arm, dt):
            controller.bind(robot.arm, dt)
        controller.reset(robot.world.q, robot.world.qd)
        return controller

    def rebind(self) -> None:
        """Adapt controller, drives, load and faults to the robot after an edit or a restore."""
        self._connect_drives()
        self.faults.apply(self._robot.world)
        controller, robot, dt = self.controller, self._robot, self._sim.dt
        if controller is not None and not controller.is_bound_to(robot.arm, dt):
            rebound(controller, robot.arm, dt, robot.world.q, robot.world.qd)
            self._set_payload()
        elif self.load is not None:
            self._set_payload()  # mass or shape of the carried body may have changed
        self._subscribe_to_gains()

    def restart(self) -> None:
        """Clear faults and load, reset the controller and hold the current position."""
        world = self._robot.world
        self._robot.motion = Rest(world.q)
        self.faults.clear(world)
        self.measured = self.load = None
        if self.controller is not None:
            self.controller.reset(world.q, world.qd)
        if self.drives is not None:
            self.drives.reset(world.q, world.qd)
        self._set_payload()
        world.torque[:] = self._applied[:] = 0.0

    def _subscribe_to_gains(self) -> None:
        if self.controller is not None:
            self.controller.gains.on_change = self._on_gain

    def _on_gain(self, gain: str, values: Array) -> None:
        same = (values == values[0]).all()
        text = f"{values[0]:g}" if same else ", ".join(f"{value:g}" for value in values)
        title, data = self.event()
        self._sim.log("gain", f"{title} {gain} = {text}", **data, gain=gain, values=values.tolist())

    # ---- load ------------------------------------------------------------------------------

    def carry(self, body: str | None, share: float = 1.0) -> None:
        """Set the load that the controller takes into account; see `SimRobot.carry`."""
        if not 0.0 <= share <= MAX_SHARE:
            raise BrazoError(
                f"robot '{self._robot.name}': share of the load is {share:g}; "
                f"it must be from 0 to {MAX_SHARE:g}"
            )
        names = [one.name for one in self._sim.cell.bodies]
        if body is not None and body not in names:
            raise BrazoError(f"no free body named '{body}'; bodies: {', '.join(names) or 'none'}")
        self.load = None if body is None else (body, float(share))
        self._set_payload()

    def rename_load(self, renamed: Mapping[str, str]) -> None:
        """Update the name of the load after a change of the cell.

        `renamed` maps old to new names.  A load that is no longer in the cell is removed.
        """
        if self.load is None:
            return
        name = renamed.get(self.load[0], self.load[0])
        known = any(one.name == name for one in self._sim.cell.bodies)
        self.load = (name, self.load[1]) if known else None
        if not known:
            self._set_payload()

    def _set_payload(self) -> None:
        """Set the payload of the controller: mass, centre of mass and inertia of the load.

        The current pose of the load relative to the tool is used.
        """
        if self.controller is None:
            return
        if self.load is None:
            self.controller.payload(0.0)
            return
        name, share = self.load
        body = next(one for one in self._sim.cell.bodies if one.name == name)
        T = np.linalg.inv(self._robot.tool()) @ self._sim.world.pose(name)
        load = transformed(solid_inertia(body.shape, body.mass), T)
        self.controller.payload(share * body.mass, load.com, share * load.tensor)

    # ---- faults ----------------------------------------------------------------------------

    def inject(self, fault: Fault, rng: np.random.Generator) -> None:
        """Activate a fault; `rng` generates its random noise."""
        self.faults.add(fault, self._robot.world, self._sim.dt, rng)

    def clear(self, fault: Fault | None) -> list[Fault]:
        """Clear `fault`, or all faults if it is None; return the cleared faults."""
        cleared = self.faults.clear(self._robot.world, fault)
        if not self.faults.on_sensors:
            self.measured = None
        return cleared

    # ---- step ------------------------------------------------------------------------------

    def act(self, t: float) -> None:
        """Compute and set the torques of the step that starts at `t` (s).

        With ideal positioning, the joints are set to the reference as well.
        """
        world, faults = self._robot.world, self.faults
        q, qd = world.q, world.qd
        if faults.in_step:
            q, qd = faults.measured(q, qd)
            self.measured = (q, qd) if faults.on_sensors else None
        if self.ideal:
            self._position()
            return
        if self.controller is not None:
            try:
                tau = self.controller.torque(t, q, qd, self._robot.motion)  # type: ignore[arg-type]
            except Exception as error:
                raise self._failed(t, error) from error
            world.torque[:] = faults.delivered(tau) if faults.in_step else tau
        elif faults.in_step:
            world.torque[:] = faults.delivered(world.torque.copy())
        if self.drives is not None:
            motion = self._robot.motion
            self._applied[:] = self.drives.step(q, qd, motion.q, motion.qd, world.torque)

    def advance(self) -> None:
        """Advance the reference to the next step."""
        motion = self._robot.motion
        try:
            motion.advance()
        except Exception as error:
            source = type(getattr(motion, "source", motion)).__name__
            what = str(error) if isinstance(error, BrazoError) else f"{source}: {error!r}"
            name, t = self._robot.name, self._sim.time
            raise BrazoError(f"robot '{name}', t = {t:.4f} s: {what}") from error

    def _position(self) -> None:
        """Set the joints to the reference, and the torques to those of inverse dynamics."""
        motion, world, arm = self._robot.motion, self._robot.world, self._robot.arm
        q, qd, qdd = motion.q, motion.qd, motion.qdd
        if (locked := world.locked).any():
            q, qd = np.where(locked, world.q, q), np.where(locked, 0.0, qd)
        world.guide(q, qd)
        if arm.has_dynamics:
            self._applied[:] = arm.inverse_dynamics(q, qd, qdd)

    def _failed(self, t: float, error: Exception) -> BrazoError:
        """Return the error to raise when the controller fails to compute torques."""
        own = not isinstance(error, BrazoError)
        what = f"{type(error).__name__}: {error}" if own else str(error)
        head = f"{place}: " if own and (place := user_place(error)) else ""
        return BrazoError(
            f"{head}robot '{self._robot.name}', controller {self.name}, t = {t:.4f} s: {what}"
        )


def prepare_control(sim: Simulation, name: str, arm: Robot) -> None:
    """Compile the controller of the robot `name` for `arm`, the robot after a planned change.

    If the robot is new or has no controller, the default controller is compiled.
    """
    if not arm.has_dynamics:
        return
    known = dict(sim.robots).get(name)
    current = None if known is None else known.control.controller
    new = controllers()[DEFAULT_CONTROLLER]() if current is None else copy.deepcopy(current)
    new.bind(arm, sim.dt)


def rebound(controller: Controller, arm: Robot, dt: float, q: Array, qd: Array) -> None:
    """Bind a controller to a changed robot; gains set by the user are kept.

    The other gains are set to their defaults for the changed robot.  A compiled controller keeps
    its state; a controller in plain Python is reset.
    """
    state = controller.state if isinstance(controller, CompiledController) else None
    fresh = copy.deepcopy(controller)
    fresh.bind(controller.robot, dt)
    changed = {
        name: controller.gains[name]
        for name in controller.gains
        if not np.array_equal(controller.gains[name], fresh.gains[name])
    }
    controller.bind(arm, dt)
    controller.reset(q, qd)
    for name, values in changed.items():
        controller.gains[name] = values
    if state:
        assert isinstance(controller, CompiledController)
        controller.state = state
