"""`SimRobot`: one robot of a simulation, with its controller and motion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from brazo.control import Controller, Reference
from brazo.deprecation import renamed_attributes, renamed_property
from brazo.errors import BrazoError
from brazo.model.declared import Declared
from brazo.robot import Robot
from brazo.simulation.cell_arm import arm_of
from brazo.simulation.faults import Fault
from brazo.simulation.motion import Live, Motion, Rest
from brazo.simulation.robot_control import RobotControl
from brazo.simulation.trajectory_motion import braking_motion, checked_motion
from brazo.trajectory import Trajectory
from brazo.world import CellRobot, WorldRobot

if TYPE_CHECKING:
    from brazo.simulation.simulation import Simulation

Array = np.ndarray


class SimRobot(Declared):
    """A robot of a simulation, with its controller and motion; created by `Simulation`."""

    name: str
    arm: Robot
    world: WorldRobot
    motion: Motion
    #: Controller, load and active faults.
    control: RobotControl

    def __init__(self, sim: Simulation, name: str) -> None:
        self._sim = sim
        self.name = name
        self.world = sim.world.robots[name]
        self._cell_robot = self._find_in_cell()
        self.arm = arm_of(self._cell_robot, sim.cell.gravity)
        self.motion = Rest(self.world.q)
        self.control = RobotControl(sim, self)

    def __repr__(self) -> str:
        control = self.controller_name
        return f"<brazo robot {self.name} in a simulation: {self.n} joints, controller {control}>"

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
        """Drive torques (n,) of the last step, in N m for revolute and N for prismatic joints."""
        return self.world.drive_torque.copy()

    def tool(self) -> Array:
        """Current pose (4, 4) of the tool in the world."""
        return self.world.tool()

    # ---- control ---------------------------------------------------------------------------

    @property
    def controller(self) -> Controller | None:
        """The controller of the robot; it can be replaced at any time.

        Assign a `Controller`, the name of one, `"ideal"` or None.  A new controller starts from the
        current state.  With None, the drives apply the values written to `world.torque`.  With
        `"ideal"`, the joints are set to the reference.
        """
        return self.control.controller

    @controller.setter
    def controller(self, controller: Controller | str | None) -> None:
        with self._sim.lock:
            self.control.use(controller)
            text, data = self.control.event()
            self._sim.log("control", text, **data)

    @property
    def controller_name(self) -> str:
        """Name of the controller, or `"ideal"`, or `"none"`."""
        return self.control.name

    @property
    def faults(self) -> list[Fault]:
        """Active faults of the robot, in the order of injection."""
        return self.control.faults.faults

    @property
    def contact_response(self) -> bool:
        """Whether contacts exert forces on the robot; can be set at any time.

        If False, the robot passes through other bodies.
        """
        return self.world.contact_response

    @contact_response.setter
    def contact_response(self, on: bool) -> None:
        with self._sim.lock:
            self.world.contact_response = on
            text = f"{self.name} contact response {'on' if on else 'off'}"
            self._sim.log("contact response", text, robot=self.name, on=bool(on))

    def carry(self, body: str | None, share: float = 1.0) -> None:
        """Set the load that the controller takes into account.

        `body` is the name of a free body, such as the body in the gripper, or None for no load.
        Its current pose relative to the tool is used.  `share`, from 0 to 10, is the fraction of
        its mass that this robot carries, for example 0.5 if two robots carry the body.  With a
        share above 1 the controller assumes a heavier body than the real one.
        """
        with self._sim.lock:
            self.control.carry(body, share)

    # ---- motion ----------------------------------------------------------------------------

    @property
    def reference(self) -> Reference:
        """Current reference: joint positions, velocities and accelerations."""
        motion = self.motion
        return Reference(motion.q.copy(), motion.qd.copy(), motion.qdd.copy())

    @property
    def moving(self) -> bool:
        """Whether the reference is still moving."""
        return self.motion.moving

    def move(self, trajectory: Trajectory, *, jump: bool = False, unchecked: bool = False) -> None:
        """Follow a trajectory from its start, beginning now.

        The trajectory must start within 0.02 rad or m of the current reference unless `jump` is
        True.  A trajectory that exceeds the position limits of the joints is rejected unless
        `unchecked` is True.
        """
        if not isinstance(trajectory, Trajectory):
            raise BrazoError(
                f"robot '{self.name}': a motion must be a brazo.trajectory.Trajectory, "
                f"not a {type(trajectory).__name__}"
            )
        with self._sim.lock:
            self.motion = checked_motion(
                self.name,
                self.arm,
                trajectory,
                self.motion,
                self._sim.dt,
                jump=jump,
                unchecked=unchecked,
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
        """Brake to rest as quickly as the limits allow, then hold the position."""
        with self._sim.lock:
            self.motion = braking_motion(self.arm, self.motion, self._sim.dt)

    # ---- gripper ---------------------------------------------------------------------------

    def grip(self, force: float | None = None) -> None:
        """Close the gripper with a drive force (N); by default, with its max force."""
        with self._sim.lock:
            self._gripper().grip(force)

    def open(self, opening: float | None = None) -> None:
        """Move the gripper to an opening (m); by default, open it fully."""
        with self._sim.lock:
            self._gripper().open(opening)

    def _gripper(self) -> Any:
        if self.world.gripper is None:
            raise BrazoError(f"robot '{self.name}' has no gripper")
        return self.world.gripper

    # ---- internals -------------------------------------------------------------------------

    def rebind(self) -> None:
        """Attach to the robot in an edited world; controller, load, motion and faults are kept."""
        self.world = self._sim.world.robots[self.name]
        given, gravity = self._find_in_cell(), self._sim.cell.gravity
        pull = given.base[:3, :3].T @ gravity
        if given is not self._cell_robot or not np.array_equal(self.arm.model.gravity, pull):
            self._cell_robot, self.arm = given, arm_of(given, gravity)
        self.control.rebind()

    def _find_in_cell(self) -> CellRobot:
        return next(one for one in self._sim.cell.robots if one.name == self.name)

    def _unknown(self, name: str) -> tuple[str, Sequence[str], str]:
        return f"robot '{self.name}' of the simulation", (), ""

    if not TYPE_CHECKING:
        force_feedback = renamed_property("force_feedback", "contact_response")
        __getattr__ = renamed_attributes(
            {
                "law": "controller_name",
                "load": "control.load",
                "remaining": "motion.remaining",
                "restart": "control.restart",
                "seen": "control.measured",
            }
        )
