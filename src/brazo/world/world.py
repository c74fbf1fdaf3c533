"""`World`: physical simulation of a cell with one MuJoCo model.

A step advances the state from t to t + dt.  After the step, positions, velocities, poses, gripper
openings and distances are those at t + dt.  Contacts, contact forces, wrenches and grasps are those
at t, with which the step was computed.  `forward` computes contacts, forces and grasps for the
current state.

Simulations repeat bit for bit: the same cell, commands and calls of `step` give the same numbers,
also after `save` and `restore`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from brazo.checks import one_of
from brazo.deprecation import renamed_attributes
from brazo.errors import BrazoError
from brazo.formats.mjcf.engine import engine
from brazo.model.description import EARTH_GRAVITY, Array, Finding
from brazo.world import state as states
from brazo.world.assembly import Drawn, Label
from brazo.world.build import Mode, build, build_alone, start_pose
from brazo.world.cell import Cell, CellRobot, FreeBody
from brazo.world.cell_change import CellChange
from brazo.world.cell_file import load_cell
from brazo.world.compiled import CompiledWorld
from brazo.world.contact_events import ContactEvent, GraspEvent, Subscription
from brazo.world.contact_friction import idle_frictions
from brazo.world.contacts import ContactClass, Contacts
from brazo.world.delta import closed_pose
from brazo.world.distances import Distance, nearest
from brazo.world.excludes import ExcludedPairs
from brazo.world.grasps import Grasp
from brazo.world.gripper import WorldGripper
from brazo.world.observer import Observer
from brazo.world.overlaps import Overlap, overlaps
from brazo.world.robot_edits import checked_pose, edited_cell
from brazo.world.robot_source import RobotSource
from brazo.world.robots import WorldRobot
from brazo.world.state import State
from brazo.world.stepping import WorldStepper


class World:
    """Physical simulation of a cell; `cell` is a `Cell`, the name of a shipped cell or a path.

    `mode="contact"` is for manipulation.  `mode="exact"` is for studies of the dynamics: there are
    no contacts and no joint limits, and the integrator is Runge–Kutta.
    """

    def __init__(self, cell: Cell | str | Path, mode: Mode = "contact") -> None:
        one_of(mode, ("contact", "exact"), "mode")
        self.cell = cell if isinstance(cell, Cell) else load_cell(cell)
        self.mode: Mode = mode
        self._excluded = ExcludedPairs()
        self.observer = Observer()
        self.stepper = WorldStepper(self.observer)
        self.robots: Mapping[str, WorldRobot] = {}
        self._compile(self.cell)
        self.reset()
        self._start_findings = [overlap.finding for overlap in self.overlaps()]

    # ---- time ------------------------------------------------------------------------------

    @property
    def time(self) -> float:
        """Simulated time since the start (s)."""
        return float(self.mj_data.time)

    @property
    def dt(self) -> float:
        """Step size (s)."""
        return self.cell.step

    def step(self, n: int = 1) -> None:
        """Make `n` steps; raise `Diverged` if the state diverges."""
        if n < 0:
            raise BrazoError(f"cannot make {n} steps; the number must be 0 or more")
        for _ in range(n):
            self.stepper.advance()

    def forward(self) -> None:
        """Compute contacts and accelerations for the current state, without advancing time."""
        self.stepper.forward()

    def reset(self) -> None:
        """Reset the world to its start state at time 0; edits of robots are kept."""
        data = self.mj_data
        self.stepper.forget()
        engine().mj_resetData(self.mj_model, data)
        self.compiled.friction.start(data)
        for body in self.cell.bodies:
            self._put(body)
        for robot, given in zip(self.robots.values(), self.cell.robots, strict=True):
            robot.contact_response = given.contact_response
            robot.stiffen()
            if robot.gripper is not None:
                robot.gripper.weld = given.grasp == "weld"
                robot.gripper.open()
                robot.gripper.place(robot.gripper.description.opening[1])
            robot.set_state(given.start)
        data.qacc_warmstart[:] = 0.0
        self.forward()
        data.qacc_warmstart[:] = 0.0
        self._adopt_contacts()

    def save(self) -> State:
        """Return a bit-exact copy of the current state."""
        return states.save(self.mj_model, self.mj_data, self._switches(), self.compiled.layout)

    def restore(self, state: State) -> None:
        """Restore a saved state; the simulation then continues exactly as it did after `save`."""
        states.check(self.mj_model, state, self.compiled.layout)
        self.stepper.forget()
        self._set_switches(state.switches)
        states.restore(self.mj_model, self.mj_data, state)
        for robot in self.robots.values():
            robot.stiffen()
        self.stepper.stepped(self.time)
        self._adopt_contacts()

    def edit(
        self,
        robot: str,
        parameters: Mapping[str, float] | None = None,
        *,
        width: float | None = None,
        finger: tuple[float, float, float] | None = None,
        opening: tuple[float, float] | None = None,
        base: Array | None = None,
        fields: Mapping[str, Any] | None = None,
        source: RobotSource | None = None,
    ) -> None:
        """Change a robot during a simulation; all robots and bodies keep their state.

        `parameters` are values for parameters of the robot file, such as segment lengths, and
        `width` is a factor on all radii.  `finger` (three sizes, m) and `opening` (min and max, m)
        are dimensions of the gripper.  `base` (4, 4) is the pose of the base.  `fields` contains
        other numbers of the robot file, for example `{"joints[1].mass": 3.2}`.  `source` replaces
        the description of the robot, for example to revert earlier edits.
        """
        place = self._place_of(robot)
        self.change_cell(
            edited_cell(self.cell, place, parameters, width, finger, opening, base, fields, source)
        )

    def change_cell(self, cell: Cell, renamed: Mapping[str, str] | None = None) -> None:
        """Continue the simulation with another description of the cell.

        Robots and bodies that are in both cells keep their state.  They are matched by name;
        `renamed` maps old names to new names.  A robot whose joint names or types changed counts
        as new.  A body whose pose differs between the two descriptions is set to its new pose, at
        rest.  New robots and bodies start at their start poses.  The step size cannot be changed.
        """
        if cell.step != self.cell.step:
            raise BrazoError(
                f"the step size of a running world is {self.cell.step:g} s and cannot become "
                f"{cell.step:g} s; create another simulation"
            )
        change = CellChange(self.cell, cell, renamed or {})
        for robot in change.kept_robots:
            if robot.model.closed_loops:
                closed_pose(robot.model, self.robots[change.before[robot.name]].q)  # must close
        old = self.robots
        model, data = self.mj_model, self.mj_data
        grips = {n: r.gripper.command for n, r in old.items() if r.gripper is not None}
        self._compile(cell)
        self.compiled.friction.start(self.mj_data)
        states.carry_over(model, data, self.mj_model, self.mj_data, change.renamed)
        for body in change.placed_bodies:
            self._put(body)
        for given in cell.robots:
            robot, before = self.robots[given.name], change.before.get(given.name)
            kept = None if before is None else old[before]
            robot.contact_response = (
                given.contact_response if kept is None else kept.contact_response
            )
            robot.stiffen()
            if robot.gripper is not None:
                self._continue_gripper(robot.gripper, given, kept, grips.get(before or ""))
            if kept is None:
                robot.set_state(given.start)
            elif given in change.changed_robots:
                if robot.gripper is not None:
                    robot.gripper.fit()
                if robot.loops:
                    robot.set_state(robot.q.copy(), robot.qd.copy())  # close the loops
        self.forward()
        self._adopt_contacts()

    # ---- properties and queries ------------------------------------------------------------

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Warnings about the robots and the cell, and about overlaps in the start configuration."""
        robots = self.cell.robots
        other_gravity = [
            Finding(
                f"robot '{robot.name}': the gravity in its file is not used; the gravity of the "
                "cell applies",
                robot.model.path,
            )
            for robot in robots
            if not np.array_equal(robot.model.gravity, EARTH_GRAVITY)
            and not np.allclose(robot.base[:3, :3] @ robot.model.gravity, self.cell.gravity)
        ]
        return (
            *(finding for robot in robots for finding in robot.model.findings),
            *self.cell.findings,
            *self._excluded.findings,
            *other_gravity,
            *idle_frictions(self.cell),
            *self._start_findings,
        )

    @property
    def drawn(self) -> tuple[Drawn, ...]:
        """Bodies to draw with their names and parts, in the order of `poses`."""
        return self.compiled.body_poses.drawn

    def poses(self) -> Array:
        """Return the current poses (k, 4, 4) in the world of all bodies in `drawn`."""
        return self.compiled.body_poses.poses(self.mj_data)

    def pose(self, name: str) -> Array:
        """Return the current pose (4, 4) of a free body, a fixture or a link (`robot/body`)."""
        names = [body.name for body in self.drawn]
        if name not in names:
            raise BrazoError(
                f"nothing named '{name}' in this cell; it contains: {', '.join(names)}"
            )
        return self.poses()[names.index(name)]

    def velocity(self, body: str) -> Array:
        """Return the linear (m/s) and angular (rad/s) velocity of a free body, shape (6,).

        Both are in world axes.  The linear velocity is that of the origin of the body frame.
        """
        at = self._dofs_of(body)
        qvel = self.mj_data.qvel
        turned = self.pose(body)[:3, :3] @ qvel[at + 3 : at + 6]
        return np.concatenate([qvel[at : at + 3], turned])

    def place(self, body: str, pose: Array, velocity: Any = None) -> None:
        """Set the pose (4, 4) of a free body and its velocity (6,), by default zero.

        The velocity is linear (m/s), then angular (rad/s), in world axes.
        """
        at = self._dofs_of(body)
        T = checked_pose(pose)
        speed = np.zeros(6) if velocity is None else np.array(velocity, dtype=float)
        if speed.shape != (6,) or not np.isfinite(speed).all():
            raise BrazoError(
                f"velocity of '{body}': expected six finite numbers, linear (m/s) and angular "
                "(rad/s)"
            )
        first = int(self.mj_model.joint(body).qposadr[0])
        free = next(one for one in self.cell.bodies if one.name == body)
        self.mj_data.qpos[first : first + 7] = start_pose(replace(free, pose=T))
        speed[3:] = T[:3, :3].T @ speed[3:]
        self.mj_data.qvel[at : at + 6] = speed
        self.forward()

    def contacts(self) -> Contacts:
        """Return the contacts and contact forces of the last step or call of `forward`."""
        return self.stepper.contacts()

    def overlaps(self) -> tuple[Overlap, ...]:
        """Return the pairs of robots, bodies and fixtures that overlap, deepest overlap first."""
        return overlaps(self.cell, self.contacts())

    def on_contact(
        self,
        callback: Callable[[ContactEvent], object],
        kinds: Collection[ContactClass] | None = None,
    ) -> Subscription[ContactEvent]:
        """Call `callback` when a pair of parts comes near, touches or separates.

        `kinds` are the contact classes to report, for example `robot-robot`; by default all.
        """
        subscription = self.observer.on_contact(callback, kinds)
        self._adopt_contacts()
        return subscription

    def on_grasp(self, callback: Callable[[GraspEvent], object]) -> Subscription[GraspEvent]:
        """Call `callback` when a gripper grasps or releases a body."""
        subscription = self.observer.on_grasp(callback)
        self._adopt_contacts()
        return subscription

    def grasp(self, robot: str) -> Grasp:
        """Return the grasp of a robot's gripper in the last step."""
        self._place_of(robot)
        grasps = self.compiled.grasps
        if robot not in grasps:
            raise BrazoError(f"robot '{robot}' has no gripper")
        return grasps[robot].read(self.contacts(), self.mj_data, self.observer.held.get(robot))

    def distance(self, first: str, second: str, limit: float = 1.0) -> Distance | None:
        """Return the min distance between two robots, bodies or fixtures.

        Return None if the distance exceeds `limit` (m).
        """
        now = self.compiled.body_poses.now(self.mj_data)
        return nearest(self.mj_model, now, self.labels, first, second, limit)

    # ---- internals -------------------------------------------------------------------------

    def _compile(self, cell: Cell) -> None:
        """Compile `cell` and replace the current model; if `build` fails, nothing is changed."""
        built = build(cell, self.mode, self._excluded.of(cell, build_alone))
        self.cell = cell
        self.compiled = CompiledWorld(cell, self.mode, built)
        # The engine's model and data, and the owner of each geom.
        self.mj_model: Any = self.compiled.model
        self.mj_data: Any = self.compiled.data
        self.labels: tuple[Label, ...] = self.compiled.labels
        self.stepper.bind(self.compiled)
        self.robots = {elements.robot.name: WorldRobot(self, elements) for elements in built.robots}
        bodies = list(self.compiled.objects)
        self.observer.bind(self.compiled.reader, self.compiled.grasps, bodies, self.mj_data)

    def _put(self, body: FreeBody) -> None:
        """Set a body to its start pose with zero velocity, and release it from all welds.

        Derived values, such as contacts, are not updated.
        """
        joint = self.mj_model.joint(body.name)
        at, rate = int(joint.qposadr[0]), int(joint.dofadr[0])
        self.mj_data.qpos[at : at + 7] = start_pose(body)
        self.mj_data.qvel[rate : rate + 6] = 0.0
        for gripper in self.compiled.grippers:
            self.mj_data.eq_active[gripper.weld_ids[body.name]] = 0

    def _continue_gripper(
        self,
        gripper: WorldGripper,
        given: CellRobot,
        kept: WorldRobot | None,
        command: tuple[str, float] | None,
    ) -> None:
        """Restore the command and the weld rule of a gripper after a change of the cell.

        `given` is the new description of the robot.  `kept` is the robot before the change; it is
        None if the robot is new.  `command` is the last command of the gripper before the change.
        A new gripper is opened and has the weld rule of `given`.
        """
        if kept is None or kept.gripper is None or command is None:
            gripper.weld = given.grasp == "weld"
            gripper.open()
            gripper.place(gripper.description.opening[1])
            return
        gripper.weld = kept.gripper.weld
        gripper.command = command

    def _adopt_contacts(self) -> None:
        """Store the current contacts and grasps, so that no events are published for them."""
        self.observer.adopt(self.contacts(), self.mj_data)

    def _switches(self) -> tuple[tuple[bool, bool], ...]:
        return tuple(
            (robot.contact_response, robot.gripper is not None and robot.gripper.weld)
            for robot in self.robots.values()
        )

    def _set_switches(self, switches: tuple[tuple[bool, bool], ...]) -> None:
        for robot, (feedback, weld) in zip(self.robots.values(), switches, strict=True):
            robot.contact_response = feedback
            if robot.gripper is not None:
                robot.gripper.weld = weld

    def _place_of(self, robot: str) -> int:
        names = list(self.robots)
        if robot not in names:
            raise BrazoError(f"no robot named '{robot}' in this cell; robots: {', '.join(names)}")
        return names.index(robot)

    def _dofs_of(self, body: str) -> int:
        names = [one.name for one in self.cell.bodies]
        if body not in names:
            raise BrazoError(f"no free body named '{body}'; bodies: {', '.join(names) or 'none'}")
        return int(self.mj_model.joint(body).dofadr[0])

    if not TYPE_CHECKING:
        __getattr__ = renamed_attributes({"substeps": "compiled.substeps"})
