"""`World`: simulation of a cell, one MuJoCo model with robots, grippers, bodies and contacts.

A step advances the state from t to t + dt.  Positions, velocities, poses, openings and distances
are those at t + dt.  Contacts, their forces, wrenches and grasps are those at t, with which the
step was computed; they are consistent with each other.  `forward` computes them for the current
state.

Runs repeat bit for bit: the same cell, commands and calls of `step` give the same numbers, also
after `save` and `restore`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from brazo.errors import BrazoError
from brazo.formats.mjcf.engine import engine
from brazo.model.description import EARTH_GRAVITY, Array, DeltaModel, Finding, TreeModel
from brazo.world import state as states
from brazo.world.assembly import Drawn, Label
from brazo.world.black_box import BlackBox
from brazo.world.build import Built, Mode, build, build_alone, start_pose
from brazo.world.cell import Cell, CellRobot
from brazo.world.cell_file import load_cell
from brazo.world.clamp import Clamp
from brazo.world.contact_friction import idle_frictions
from brazo.world.contacts import ContactClass, ContactReader, Contacts
from brazo.world.delta import closed_pose
from brazo.world.distances import Distance, Nearest, nearest
from brazo.world.events import ContactEvent, GraspEvent, Subscription
from brazo.world.excludes import Pair, always_touching
from brazo.world.friction import JointFriction
from brazo.world.grasps import Grasp, GraspReader
from brazo.world.guard import DivergenceGuard
from brazo.world.observer import Observer
from brazo.world.overlaps import Overlap, overlaps
from brazo.world.robot_source import Edits, RobotSource, joint_names_of
from brazo.world.robots import WorldRobot
from brazo.world.sensors import HandSensors
from brazo.world.snapshot import Snapshot
from brazo.world.state import State
from brazo.world.stiffness import stiffness_of
from brazo.world.wrenches import WrenchReader, cross


class World:
    """A cell in simulation.

    `mode="contact"` is for manipulation; `"exact"` has no contacts and no joint limits and
    integrates with Runge–Kutta, for open-loop studies.
    """

    def __init__(self, cell: Cell | str | Path, mode: Mode = "contact") -> None:
        if mode not in ("contact", "exact"):
            raise BrazoError(f"mode '{mode}' is not one of contact, exact")
        self._mujoco = engine()
        self._mj_step = self._mujoco.mj_step
        self.cell = cell if isinstance(cell, Cell) else load_cell(cell)
        self.mode: Mode = mode
        self._excluded: dict[str, tuple[CellRobot, tuple[Pair, ...], list[Finding]]] = {}
        self.observer = Observer()
        self.black_box: BlackBox | None = None  # the last steps, after `remember` was called
        self.robots: Mapping[str, WorldRobot] = {}
        self._install(self._build())
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
            raise BrazoError(f"cannot step {n} times; time only increases")
        for _ in range(n):
            self.advance()

    def advance(self) -> None:
        """Make one step."""
        model, data = self.mj_model, self.mj_data
        moment = data.time
        for _ in range(self.substeps):
            self._drive(data)
            if self.black_box is not None:
                self.black_box.note(data)
            self._mj_step(model, data)
        self.stepped(moment)
        self.observe()

    def stepped(self, moment: float) -> None:
        """Record that the engine made a step that started at `moment` (s)."""
        self._moment, self._contacts = moment, None

    def observe(self) -> None:
        """Complete a step: raise `Diverged` if it diverged, and notify the subscribers."""
        self.guard.check()
        if self.observer.watches:
            self.observer.observe(self.contacts, self._moment, self.mj_model, self.mj_data)

    def remember(self) -> None:
        """Keep the last steps from now on, to reproduce a divergence."""
        self.black_box = BlackBox(self.mj_model)

    def _drive(self, data: Any) -> None:
        """Write the forces that the engine does not compute itself."""
        for clamp in self._clamps:
            clamp.drive()
        if self.friction.by_formula:
            self.friction.apply(data)
        if self.mode == "exact":
            self.friction.hold(self.mj_model, data)

    def foresee(self) -> None:
        """Compute the forces and accelerations from which the next step starts.

        This is needed for Runge–Kutta, whose step ends with those of its last stage.  The solver's
        warm start is restored, so the run is not affected.
        """
        data = self.mj_data
        self._drive(data)
        warm = data.qacc_warmstart.copy()
        self._mujoco.mj_forward(self.mj_model, data)
        data.qacc_warmstart[:] = warm

    def forward(self) -> None:
        """Compute contacts and accelerations for the current state, without advancing time."""
        self._mujoco.mj_forward(self.mj_model, self.mj_data)
        self._moment = float(self.mj_data.time)
        self._contacts = None

    def reset(self) -> None:
        """Return to the start at time 0; edits of robots are kept."""
        data = self.mj_data
        if self.black_box is not None:
            self.black_box.clear()
        self._mujoco.mj_resetData(self.mj_model, data)
        self.friction.start(data)
        for body in self.cell.bodies:
            at = int(self.mj_model.joint(body.name).qposadr[0])
            data.qpos[at : at + 7] = start_pose(body)
        for robot, given in zip(self.robots.values(), self.cell.robots, strict=True):
            robot.force_feedback = given.force_feedback
            robot.stiffen()
            if robot.clamp is not None:
                robot.clamp.weld = given.grasp == "weld"
                robot.clamp.open()
                robot.clamp.place(robot.clamp.gripper.opening[1])
            robot.set_state(given.start)
        data.qacc_warmstart[:] = 0.0
        self.forward()
        data.qacc_warmstart[:] = 0.0
        self._look()

    def save(self) -> State:
        """Return the current state, bit-exact."""
        return states.save(self.mj_model, self.mj_data, self._switches(), self._layout)

    def restore(self, state: State) -> None:
        """Return to a saved state; the run repeats bit for bit from there."""
        states.check(self.mj_model, state, self._layout)
        if self.black_box is not None:
            self.black_box.clear()
        self._set_switches(state.switches)
        states.restore(self.mj_model, self.mj_data, state)
        for robot in self.robots.values():
            robot.stiffen()
        self._moment, self._contacts = float(self.mj_data.time), None
        self._look()

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
        """Change a robot during a run; the state of all elements is kept by name.

        `parameters` are those of the robot file (segment lengths, heights), `width` scales the
        radii, `finger` (three sizes, m) and `opening` (min and max, m) belong to the gripper,
        `base` (4, 4) is the pose of the base, and `fields` are other numbers of the file
        (`{"joints[1].mass": 3.2}`).  `source` replaces the description of the robot, for example to
        revert earlier edits.
        """
        place = self._place_of(robot)
        old = self.cell.robots[place]
        source = (old.source if source is None else _same(source, old)).edited(
            Edits(
                dict(parameters or {}),
                width,
                None if finger is None else tuple(map(float, finger)),
                None if opening is None else tuple(map(float, opening)),
                dict(fields or {}),
            )
        )
        given = replace(old, source=source, base=old.base if base is None else _pose(base))
        if isinstance(given.model, DeltaModel):
            closed_pose(given.model, self.robots[robot].q)  # raises if the loops do not close
        robots = (*self.cell.robots[:place], given, *self.cell.robots[place + 1 :])
        previous, model, data = self.cell, self.mj_model, self.mj_data
        switches = self._switches()
        self.cell = replace(previous, robots=robots)
        try:
            built = self._build()
        except BrazoError:
            self.cell = previous
            raise
        self._install(built)
        self.friction.start(self.mj_data)
        states.carry_over(model, data, self.mj_model, self.mj_data)
        self._set_switches(switches)
        for one in self.robots.values():
            one.stiffen()
        changed = self.robots[robot]
        if changed.clamp is not None:
            changed.clamp.fit()
        if isinstance(changed.model, DeltaModel):
            changed.set_state(changed.q.copy(), changed.qd.copy())  # close the loops
        self.forward()
        self._look()

    # ---- properties and queries ------------------------------------------------------------

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Warnings about the robots in this cell and about the start configuration."""
        own = [f for r in self.cell.robots for f in r.model.findings]
        left_out = [f for _, _, findings in self._excluded.values() for f in findings]
        weightless = [
            Finding(
                f"robot '{robot.name}': its file's gravity is not used; a cell has one for all",
                robot.model.path,
            )
            for robot in self.cell.robots
            if not np.array_equal(robot.model.gravity, EARTH_GRAVITY)
        ]
        idle = idle_frictions(self.cell)
        return (
            *own,
            *self.cell.findings,
            *left_out,
            *weightless,
            *idle,
            *self._start_findings,
        )

    @property
    def drawn(self) -> tuple[Drawn, ...]:
        """Bodies to draw, in the order of `poses`: names, owners and parts."""
        return self._snapshot.drawn

    def poses(self) -> Array:
        """Current poses (k, 4, 4) of all entries of `drawn`."""
        return self._snapshot.poses(self.mj_data)

    def pose(self, name: str) -> Array:
        """Current pose (4, 4) of a body, fixture or `robot/body`."""
        names = [body.name for body in self.drawn]
        if name not in names:
            raise BrazoError(f"nothing named '{name}' here; there are: {', '.join(names)}")
        return self.poses()[names.index(name)]

    def body_pose(self, body: int) -> Array:
        """Current pose (4, 4) of one of the engine's bodies."""
        return self._snapshot.body(self.mj_data, body)

    def drawn_of(self, robot: str) -> Array:
        """Return the indices in `drawn` of the bodies of a robot's model, base first."""
        return self._snapshot.of(robot)

    def velocity(self, body: str) -> Array:
        """Linear and angular velocity (6,) of the centre of a free body, world axes."""
        at = self._dofs_of(body)
        qvel = self.mj_data.qvel
        turned = self.pose(body)[:3, :3] @ qvel[at + 3 : at + 6]
        return np.concatenate([qvel[at : at + 3], turned])

    def place(self, body: str, pose: Array, velocity: Any = None) -> None:
        """Set the pose (4, 4) of a free body and its velocity (6,), by default zero."""
        at = self._dofs_of(body)
        T = _pose(pose)
        speed = np.zeros(6) if velocity is None else np.array(velocity, dtype=float)
        if speed.shape != (6,) or not np.isfinite(speed).all():
            raise BrazoError(f"velocity of '{body}': wanted six finite numbers, linear and angular")
        first = int(self.mj_model.joint(body).qposadr[0])
        free = next(one for one in self.cell.bodies if one.name == body)
        self.mj_data.qpos[first : first + 7] = start_pose(replace(free, pose=T))
        speed[3:] = T[:3, :3].T @ speed[3:]
        self.mj_data.qvel[at : at + 6] = speed
        self.forward()

    # ---- contacts and grasps ---------------------------------------------------------------

    def contacts(self) -> Contacts:
        """Return the contacts of the last step, with the forces with which it was computed."""
        if self._contacts is None:
            self._contacts = self._reader.read(self.mj_data, self._moment)
        return self._contacts

    def overlaps(self) -> tuple[Overlap, ...]:
        """Return the current unintended overlaps, deepest first."""
        return overlaps(self.cell, self.contacts())

    def on_contact(
        self,
        callback: Callable[[ContactEvent], object],
        kinds: Collection[ContactClass] | None = None,
    ) -> Subscription[ContactEvent]:
        """Call `callback` when a pair of parts comes near, touches or separates.

        `kinds` are the contact classes to report; by default all.
        """
        subscription = self.observer.on_contact(callback, kinds)
        self._look()
        return subscription

    def on_grasp(self, callback: Callable[[GraspEvent], object]) -> Subscription[GraspEvent]:
        """Call `callback` when a gripper grasps or releases a body."""
        subscription = self.observer.on_grasp(callback)
        self._look()
        return subscription

    def grasp(self, robot: str) -> Grasp:
        """Return the current grasp of a robot's gripper."""
        self._place_of(robot)
        if robot not in self._grasps:
            raise BrazoError(f"robot '{robot}' has no gripper")
        return self._grasps[robot].read(
            self.contacts(), self.mj_data, self.observer.held.get(robot)
        )

    @property
    def grips(self) -> Array:
        """Grasp of each gripper (grippers, 3), updated while steps are observed (see `on_grasp`).

        Columns: index of the body in the cell (-1 none), the smaller of the two pad forces (N), and
        1 if the body is welded.
        """
        return self.observer.table

    def distance(self, first: str, second: str, limit: float = 1.0) -> Distance | None:
        """Distance of two robots, bodies or fixtures; None if it is beyond `limit` (m)."""
        return nearest(
            self.mj_model,
            self._snapshot.now(self.mj_data),
            self._geoms_of(first),
            self._geoms_of(second),
            self._reader.names,
            self._reader.part,
            limit,
        )

    def nearest(self, first: str, second: str, limit: float = 1.0) -> Nearest:
        """Return an evaluator of a distance, for evaluation in many steps.

        It uses the frames of the data it is given; after a step those of `mj_data` are one step
        old.
        """
        return Nearest(self.mj_model, self._geoms_of(first), self._geoms_of(second), limit)

    def link_wrenches(self, robot: WorldRobot) -> Array:
        """See `WorldRobot.contact_wrenches`."""
        wrench = self._wrenches.on_bodies(self.contacts(), self.mj_data)
        if robot.clamp is not None:
            origin = self.mj_data.xpos[robot.tip_id]
            for finger in robot.clamp.finger_ids:
                wrench[robot.tip_id] += wrench[finger]
                arm = self.mj_data.xpos[finger] - origin
                wrench[robot.tip_id, 3:] += cross(arm, wrench[finger, :3])
        return self._snapshot.by_drawn(wrench, robot.name)

    def external_forces(self) -> Array:
        """Generalised force (nv,) of all contacts and welds."""
        data = self.mj_data
        total = self._wrenches.generalised(self._wrenches.on_bodies(self.contacts(), data), data)
        welds = [i for clamp in self._clamps for i in clamp.weld_ids.values()]
        if welds and data.eq_active[welds].any():
            total += self._wrenches.of_equalities(data, welds)
        return total

    # ---- internals -------------------------------------------------------------------------

    def _build(self) -> Built:
        for robot in self.cell.robots:
            known = self._excluded.get(robot.name)
            if known is None or known[0].model is not robot.model:
                pairs, findings = always_touching(build_alone(self.cell, robot))
                self._excluded[robot.name] = (robot, pairs, findings)
        excluded = {name: pairs for name, (_, pairs, _) in self._excluded.items()}
        return build(self.cell, self.mode, excluded)

    def _install(self, built: Built) -> None:
        """Replace the current model by a newly compiled one."""
        mujoco = self._mujoco
        self.mj_model: Any = built.model
        self.mj_data: Any = mujoco.MjData(built.model)
        if self.black_box is not None:
            self.remember()
        self.labels: tuple[Label, ...] = built.labels
        self._layout = states.layout_of(built.model)
        self._contacts: Contacts | None = None
        self._moment = 0.0
        names = tuple(plan.robot.name for plan in built.robots)
        self._reader = ContactReader(built.labels, names, self.cell.contact.warning)
        self._wrenches = WrenchReader(built.model)
        self._snapshot = Snapshot(built.model, built.drawn)
        members = [member for plan in built.robots for member in plan.members]
        self.friction = JointFriction(members, built.model, in_engine=self.mode == "contact")
        stiffness = stiffness_of(built.model, members, viscous=self.mode == "exact")
        self.substeps = stiffness.substeps(self.cell.step) if self.mode == "exact" else 1
        self.mj_model.opt.timestep = self.cell.step / self.substeps
        self.guard = DivergenceGuard(self.mj_model, self.mj_data, stiffness)
        objects = {body.name: (body, int(built.objects[body.name].id)) for body in self.cell.bodies}
        robots, self._clamps, self._grasps = {}, [], {}
        for plan in built.robots:
            name, model, clamp = plan.robot.name, plan.robot.model, None
            if plan.clamp is not None:
                assert model.gripper is not None
                assert isinstance(model, (TreeModel, DeltaModel))
                clamp = Clamp(
                    name,
                    model.gripper,
                    plan.clamp,
                    len(self._clamps),
                    self.cell.clamp,
                    self.cell.step,
                )
                self._clamps.append(clamp)
                tip = int(plan.tip.id)
                clamp.sensors = HandSensors(built.model, name, list(objects))
                self._grasps[name] = GraspReader(clamp, tip, objects, self.cell.clamp, self.mj_data)
            robots[name] = WorldRobot(self, plan, clamp)
        self.robots = robots
        self.observer.bind(self._reader, self._grasps, list(objects), self.mj_data)

    def _look(self) -> None:
        """Suppress events for the current state, unless a notification is already being sent."""
        self.observer.look(self.contacts(), self.mj_data)

    def _switches(self) -> tuple[tuple[bool, bool], ...]:
        return tuple(
            (robot.force_feedback, robot.clamp is not None and robot.clamp.weld)
            for robot in self.robots.values()
        )

    def _set_switches(self, switches: tuple[tuple[bool, bool], ...]) -> None:
        for robot, (feedback, weld) in zip(self.robots.values(), switches, strict=True):
            robot.force_feedback = feedback
            if robot.clamp is not None:
                robot.clamp.weld = weld

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

    def _geoms_of(self, name: str) -> Array:
        found = np.flatnonzero([name in (label.owner, label.name) for label in self.labels])
        if not len(found):
            owners = ", ".join(dict.fromkeys(label.owner for label in self.labels))
            raise BrazoError(f"nothing named '{name}' here; there are: {owners}")
        return found


def _same(source: RobotSource, robot: CellRobot) -> RobotSource:
    """Return `source` after checking that it has the same joints as the robot."""
    names, known = joint_names_of(source.model), joint_names_of(robot.model)
    if names != known:
        raise BrazoError(
            f"robot '{robot.name}' has the joints {', '.join(known)}; the other description has "
            f"{', '.join(names)}"
        )
    return source


def _pose(T: Any) -> Array:
    array = np.array(T, dtype=float)
    if array.shape != (4, 4) or not np.isfinite(array).all():
        raise BrazoError(f"a pose is a 4x4 matrix of finite numbers, got shape {array.shape}")
    R = array[:3, :3]
    if np.abs(R @ R.T - np.eye(3)).max() > 1e-6 or np.linalg.det(R) < 0.0:
        raise BrazoError("a pose's upper left 3x3 block must be a rotation")
    array.flags.writeable = False
    return array
