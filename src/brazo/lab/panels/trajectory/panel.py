"""Trajectory panel: timed waypoints or a curve, previewed in the scene before it is played.

After every edit, the motion is planned again, and its path is drawn in the scene, red where a limit
is violated.  Each robot of the cell has its own draft.  `brazo.trajectory.files` defines the file
format.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from brazo.errors import BrazoError
from brazo.formats.document import parse_document
from brazo.kinematics.orientation import matrix_from_rpy, rpy_from_matrix
from brazo.lab.app.context import PanelContext
from brazo.lab.app.panel import Panel, Values
from brazo.lab.app.session import with_new_names
from brazo.lab.panels.common.html import (
    fixed,
    note,
)
from brazo.lab.panels.trajectory.curve_section import TURNS, CurveSection
from brazo.lab.panels.trajectory.draft import (
    Draft,
    DraftState,
    InfeasiblePath,
    PlannedMotion,
    Row,
    infeasible_of,
    plan_of,
    sentence,
)
from brazo.lab.panels.trajectory.kept import MOST_POINTS, drafts_yaml, read_draft
from brazo.lab.panels.trajectory.layout import SHOWN, SOURCES, SPACES, THROUGH, TOOL, layout
from brazo.lab.panels.trajectory.planned_path import PlannedPath
from brazo.lab.panels.trajectory.unsaved import unsaved_drafts, unsaved_points
from brazo.operate import Point
from brazo.operate.mover import reach
from brazo.operate.playing import REPLACED, Playing, require_free
from brazo.program.frames import frame_pose
from brazo.program.point_targets import joint_target
from brazo.project.folder import TRAJECTORIES, Project
from brazo.project.history import Edit
from brazo.trajectory import (
    PathInfeasible,
    ToolTrace,
    fastest_within,
    parse_via_list,
    tool_trace,
)
from brazo.trajectory.via_points import RULES

if TYPE_CHECKING:
    from brazo.lab.app.unsaved import Work
    from brazo.lab.server.transfers import Upload
    from brazo.robot import Robot
    from brazo.simulation.robot import SimRobot

Found = PlannedMotion | InfeasiblePath | str  # result of planning
ADDED = 24  # segments between the waypoints that a curve is converted to


class TrajectoryPanel(Panel):
    """Panel that edits, previews and plays trajectories."""

    id, title, icon, side, order = "trajectory", "Trajectory", "trajectory", "left", 25
    scripts = ("panels/trajectory/pad.js", "panels/trajectory/camera.js")

    def __init__(self, context: PanelContext) -> None:
        super().__init__(context)
        self._drafts: dict[str, Draft] = {}
        self._states: dict[str, DraftState] = {}  # by robot, after the last edit
        self._sim: Any = None
        self._opened = 0  # value of `session.cells` for which the drafts are valid
        self._plan: PlannedMotion | None = None
        self._why = ""
        self._infeasible: InfeasiblePath | None = None
        self._trace: ToolTrace | None = None  # of the last run
        self._pen_down: np.ndarray | None = None  # (k, 2) s, of the motion that is run
        self._plans = 0
        self._path = PlannedPath(context.scene)
        self._path_shown = True
        self._loop = False
        self._playing: Playing | None = None
        self._began = 0.0  # s, start of the run
        context.points.on_change(self._points_changed)
        context.session.on_rename(self._robots_renamed)
        self.on("robot", context.session.select, str)
        self.on("source", self._set_source, str)
        self.on("space", self._set_space, str)
        self.on("through", self._set_through, str)
        self.on("rule", self._set_rule, str)
        self.on("orientation", self._set_orientation, str)
        self.on("add", self._add)
        self.on("add-point", self._add_point, str)
        self.on("cell/name", self._set_name, int, str)
        self.on("clear", self._clear)
        self.on("point-set", self._set_point, int)
        self.on("point-delete", self._delete_point, int)
        self.on("velocity-auto", self._automatic_velocity, int)
        self.on_number("cell/t", self._set_time, int, unit="s")
        for key, unit in TOOL.items():
            self.on_number(
                f"cell/{key}",
                functools.partial(self._set_tool, key),
                int,
                unit="mm" if unit == "mm" else "deg",
            )
        self.on("as-points", self._as_points)
        self._curve = CurveSection(self)
        self.on("seen", self._show_path, bool)
        self.on("slow", self._slow)
        self.on("play", self._play)
        self.on("halt", self._halt, still=True)
        self.on("loop", self._set_loop, bool)
        self.on("save", self._save)
        self.on("trace", self._save_trace)
        self.on_upload("load", self._load, ".yaml", ".yml", most=4 << 20)

    # ---- the draft of the selected robot ---------------------------------------------------------

    @property
    def robot(self) -> SimRobot:
        return self.session.robot

    @property
    def draft(self) -> Draft:
        """Trajectory draft of the selected robot, created on first use."""
        robot = self.robot
        if robot.name not in self._drafts:
            self._drafts[robot.name] = Draft(robot.arm, robot.reference.q)
            self._states[robot.name] = self._drafts[robot.name].state
        return self._drafts[robot.name]

    def simulation_changed(self) -> None:
        robots = self.sim.robots
        if self._sim is not self.sim:
            self._sim, self._playing, self._trace = self.sim, None, None
        if self._opened != self.session.cells:
            self._opened = self.session.cells
            self._drafts.clear()
            self._states.clear()
        for name, draft in self._present().items():  # editing a robot can change its kinematics
            arm = robots[name].arm
            if any(len(one.q) != arm.n for one in draft.rows):  # another robot of this name
                del self._drafts[name], self._states[name]
                continue
            for one in draft.rows:
                one.T = arm.fk(one.q) if draft.space == "joint" else one.T
        self._renew()

    def _present(self) -> dict[str, Draft]:
        """Drafts of the robots in the cell, by robot name.

        `_drafts` also keeps drafts of deleted robots, for undo.
        """
        return {name: one for name, one in self._drafts.items() if name in self.sim.robots}

    def _robots_renamed(self, renamed: Mapping[str, str]) -> None:
        self._drafts = with_new_names(self._drafts, renamed)
        self._states = with_new_names(self._states, renamed)

    def selection_changed(self) -> None:
        self._renew()

    def _renew(self) -> None:
        if self.sim.robots:
            arm = self.robot.arm
            for i, kind in enumerate(arm.joint_kinds):
                unit = "deg" if kind == "revolute" else "mm"
                self.on_number(f"cell/q{i}", functools.partial(self._set_joint, i), int, unit=unit)
                set_velocity = functools.partial(self._set_velocity, i)
                rate = "deg/s" if kind == "revolute" else "mm/s"
                self.on_number(f"cell/v{i}", set_velocity, int, unit=rate)
        self.refresh()
        self._replan()

    # ---- display ---------------------------------------------------------------------------------

    def html(self) -> str:
        if not self.sim.robots:
            return note("There is no robot in this cell.")
        return layout(list(self.sim.robots), self.draft, self.robot.arm, self._curve.html())

    def values(self) -> Values:
        if not self.sim.robots:
            return {}
        draft, plan = self.draft, self._plan
        found: Values = {
            "robot": self.robot.name,
            "source": "curve" if draft.curved else "points",
            "orientation": draft.orientation,
            "seen": self._path_shown,
            "loop": self._loop,
            "why": self._why,
            "any": bool(draft.rows),
            "duration": "–" if plan is None else fixed(plan.motion.duration, 2),
            "length": "–" if plan is None else fixed(1e3 * plan.length, 1),
            "limits": [] if plan is None else _limit_rows(plan),
            "may-slow": plan is not None and bool(plan.violations) and not plan.stuck,
            "may-play": plan is not None and not plan.violations and self._playing is None,
            "may-save": plan is not None,
            "may-place": draft.curved and self._infeasible is not None,
            "may-trace": self._trace is not None,
            "playing": self._playing is not None,
            "now": self._now(),
        }
        return found | (self._curve.values() if draft.curved else self._point_values())

    def _point_values(self) -> Values:
        draft, arm = self.draft, self.robot.arm
        scale = [SHOWN[kind][1] for kind in arm.joint_kinds]
        rows = []
        for one in draft.rows:
            shown: dict[str, Any] = {"id": one.number, "name": self._name_of(one), "t": one.t}
            if draft.space == "joint":
                shown |= {f"q{i}": float(scale[i] * one.q[i]) for i in range(arm.n)}
            else:
                shown |= dict(zip(TOOL, _tool_numbers(one.T), strict=True))
            rows.append(shown)
        named = [[one.name, one.name] for one in self.context.points.of(self.robot.name)]
        return {
            "rows": rows,
            "named": named,
            "space": draft.space,
            "through": draft.through,
            "rule": draft.rule,
            "velocities": self._velocity_rows(),
        }

    def _velocity_rows(self) -> list[dict[str, Any]]:
        """Rows with the joint velocities at the waypoints: entered values, else planned values."""
        draft, arm = self.draft, self.robot.arm
        scale = np.array([SHOWN[kind][1] for kind in arm.joint_kinds])
        rows = []
        for k, one in enumerate(draft.rows):
            qd = one.qd if one.qd is not None else self._planned_velocity(one)
            shown = {f"v{i}": "–" if qd is None else float((scale * qd)[i]) for i in range(arm.n)}
            name = self._name_of(one) or str(k + 1)
            rows.append({"id": one.number, "name": name, "t": one.t, "mark": one.qd is not None})
            rows[-1] |= shown
        return rows

    def _planned_velocity(self, row: Row) -> np.ndarray | None:
        plan = self._plan
        if plan is None or not plan.motion.start <= row.t <= plan.motion.end:
            return None
        return np.array(plan.motion.sample(row.t).qd)

    def _set_velocity(self, i: int, number_: int, value: float) -> None:
        """Set the velocity (rad/s or m/s) of joint i at the waypoint with number `number_`.

        The other joints keep their entered velocities at this waypoint.  If none were entered, they
        get the planned velocities, or 0 without a plan.
        """
        one = self.draft.row(number_)
        if i >= len(one.q):
            return
        planned = self._planned_velocity(one)
        qd = one.qd if one.qd is not None else planned
        qd = np.zeros(len(one.q)) if qd is None else qd.copy()
        qd[i] = value
        one.qd = qd
        self.edited("edit waypoint velocity")

    def _automatic_velocity(self, number_: int) -> None:
        """Remove the entered velocities of a waypoint; the selected rule then determines them."""
        one = self.draft.row(number_)
        if one.qd is not None or one.qdd is not None:
            one.qd = one.qdd = None
            self.edited("automatic waypoint velocity")

    def _now(self) -> str:
        playing = self._playing
        if playing is None:
            return "not playing"
        if not playing.on_path:
            return "moving to the start point"
        plan = self._plan
        whole = f" of {plan.motion.duration:.1f} s" if plan is not None else " s"
        round_ = f", round {playing.round}" if playing.loop else ""
        return f"{playing.elapsed(self.sim.time):.1f}{whole}{round_}"

    # ---- planning --------------------------------------------------------------------------------

    def edited(self, label: str, html: bool = False, key: str = "") -> None:
        """Record a change of the draft as an undoable edit, and plan again.

        `label` names the edit in the undo menu.  If `html`, the panel is rebuilt.  Consecutive
        edits with the same non-empty `key` are undone together.
        """
        self.draft.revision += 1
        name, after = self.robot.name, self.draft.state
        before = self._states.get(name, after)
        self._states[name] = after
        self.context.history.add(
            Edit(
                f"{label} ({name})",
                lambda: self._restore(name, after),
                lambda: self._restore(name, before),
                key,
            )
        )
        if html:
            self.refresh()
        self._replan()

    def _restore(self, name: str, state: DraftState) -> None:
        if name not in self._present():
            raise BrazoError(f"robot {name} no longer exists")
        self._drafts[name].restore(state)
        self._follow_points(name)
        if self.robot.name == name:
            self.refresh()
            self._replan()

    # ---- named points ----------------------------------------------------------------------------

    def _points_changed(self, robot: str) -> None:
        if self._sim is self.session.shown and robot in self._present():
            self._follow_points(robot)
            if robot == self.robot.name:
                self._replan()

    def _follow_points(self, robot: str) -> None:
        """Update the waypoints that refer to named points, after the points changed."""
        points = {one.number: one for one in self.context.points.of(robot)}
        arm = self.sim.robots[robot].arm
        for row in self._drafts[robot].rows:
            point = points.get(row.point)
            if point is not None:
                with contextlib.suppress(BrazoError):  # out of reach: it stays where it was
                    row.q = joint_target(self.sim, self.sim.robots[robot], point)
                    row.T = arm.fk(row.q)
        self._states[robot] = self._drafts[robot].state

    def _name_of(self, row: Row) -> str:
        points = self.context.points.of(self.robot.name)
        return next((one.name for one in points if one.number == row.point), "")

    def _add_point(self, name: str) -> None:
        """Add the named point of the selected robot as a waypoint."""
        point = self.context.points.of(self.robot.name).find(name)
        if point is None:
            return
        self._require_room()
        row = self.draft.add(self.robot.arm, joint_target(self.sim, self.robot, point))
        row.point = point.number
        self.edited(f"add {name}")

    def _set_name(self, number_: int, name: str) -> None:
        """Rename the named point of a waypoint, or teach a new point if the waypoint has none."""
        row, robot = self.draft.row(number_), self.robot.name
        if self._name_of(row):
            old = self._name_of(row)
            self.context.points.edit(
                f"rename {old}", robot, lambda points: points.rename(row.point, name)
            )
        elif name.strip():
            taught: list[Point] = []
            self.context.points.edit(
                f"name waypoint {name}",
                robot,
                lambda points: taught.append(points.teach(row.q, name)),
            )
            row.point = taught[0].number
            self._states[robot] = self.draft.state

    def _touch_up(self, row: Row, q: np.ndarray) -> bool:
        """Set the named point of a waypoint to joint values q (n,).

        Returns True if the point was set, False if the waypoint has no named point.
        """
        name, robot = self._name_of(row), self.robot.name
        if not name:
            return False
        point = self.context.points.of(robot).get(row.point)
        T = None
        if point.T is not None:
            frame = frame_pose(self.sim, self.robot, point.frame)
            T = np.linalg.inv(frame) @ self.robot.base @ self.robot.arm.fk(q)
        self.context.points.edit(
            f"touch up {name}", robot, lambda points: points.update(row.point, q, T)
        )
        return True

    def _require_room(self) -> None:
        if len(self.draft.rows) >= MOST_POINTS:
            raise BrazoError(f"at most {MOST_POINTS} points: delete some first")

    def _replan(self) -> None:
        self._plans += 1
        self._plan, self._why, self._infeasible = None, "", None
        self._path.remove()
        if not self.sim.robots or not (self.draft.curved or len(self.draft.rows) > 1):
            return
        robot, draft, number_ = self.robot, self.draft, self._plans
        arm, q0 = robot.arm, robot.reference.q
        if not draft.curved and draft.through != "line":
            self._planned(_tried(arm, draft, q0), number_)
            return

        # Planning a Cartesian path is slow: run it as a background job.
        def done(found: Found) -> None:
            self._planned(found, number_)
            # Remove the finished job from the list; the preview shows its result.
            self.context.post(lambda: self.context.jobs.cancel(job.number))

        job = self.context.jobs.start(
            "Plan the path", lambda _: _tried(arm, draft, q0), done, cancellable=False
        )

    def _planned(self, found: Found, number_: int) -> None:
        if number_ != self._plans:
            return  # outdated: the draft has changed since
        if isinstance(found, str):
            self._why = found
        elif isinstance(found, InfeasiblePath):
            self._why, self._infeasible = found.why, found
        else:
            self._plan = found
        self._show()

    def _show(self) -> None:
        """Draw the planned or the infeasible path, or remove the drawing if the path is hidden."""
        base = np.asarray(self.robot.base)
        if not self._path_shown:
            self._path.remove()
        elif self._plan is not None:
            self._path.show(self._plan, base)
        elif self._infeasible is not None:
            self._path.show_infeasible(self._infeasible, base)

    def _require_plan(self) -> PlannedMotion:
        if self._plan is None:
            raise BrazoError(self._why or "no motion yet: add two points, or choose a curve")
        return self._plan

    # ---- user actions --------------------------------------------------------------------------

    def _set_source(self, source: str) -> None:
        if source in SOURCES:
            self.draft.curved = source == "curve"
            self.edited(f"show {source}", html=True)

    def _set_space(self, space: str) -> None:
        draft, arm = self.draft, self.robot.arm
        if space not in SPACES or space == draft.space:
            return
        if space == "joint" and draft.rows:
            q = draft.via_list().joints(arm, self.robot.reference.q)
            for one, values in zip(draft.rows, q, strict=True):
                one.q = values
        else:
            for one in draft.rows:
                one.T = arm.fk(one.q)
        draft.space = space  # type: ignore[assignment]
        self.edited("space of waypoints", html=True)

    def _set_through(self, through: str) -> None:
        if through in THROUGH:
            self.draft.through = through  # type: ignore[assignment]
            self.edited("interpolation", html=True)

    def _set_rule(self, rule: str) -> None:
        if rule in RULES:
            self.draft.rule = rule  # type: ignore[assignment]
            self.edited("waypoint velocities")

    def _set_orientation(self, orientation: str) -> None:
        if orientation in TURNS:
            self.draft.orientation = orientation  # type: ignore[assignment]
            self.edited("orientation")

    def _add(self) -> None:
        self._require_room()
        self.draft.add(self.robot.arm, self.robot.reference.q)
        self.edited("add waypoint")

    def _clear(self) -> None:
        self.draft.rows.clear()
        self.edited("clear waypoints")

    def _set_point(self, number_: int) -> None:
        one = self.draft.row(number_)
        if self._touch_up(one, self.robot.reference.q):
            return
        one.q = self.robot.reference.q
        one.T = self.robot.arm.fk(one.q)
        one.qd = one.qdd = None
        self.edited("update waypoint")

    def _delete_point(self, number_: int) -> None:
        self.draft.rows.remove(self.draft.row(number_))
        self.edited("delete waypoint")

    def _set_time(self, number_: int, t: float) -> None:
        if t < 0.0:
            raise BrazoError(f"time {t:g} s: must be 0 s or more")
        self._edit(number_).t = t
        self.draft.rows.sort(key=lambda one: one.t)
        self.edited("time of waypoint")

    def _set_joint(self, i: int, number_: int, value: float) -> None:
        one = self._edit(number_)
        if i < len(one.q):
            q = one.q.copy()
            q[i] = value
            if not self._touch_up(one, q):
                one.q, one.T = q, self.robot.arm.fk(q)
                self.edited("edit waypoint")

    def _set_tool(self, key: str, number_: int, value: float) -> None:
        one = self._edit(number_)
        T = one.T.copy()
        if key in ("x", "y", "z"):
            T["xyz".index(key), 3] = value
        else:
            rpy = rpy_from_matrix(T[:3, :3])
            rpy[("roll", "pitch", "yaw").index(key)] = value
            T[:3, :3] = matrix_from_rpy(rpy)
        if self._name_of(one):
            self._touch_up(one, reach(self.robot.arm, T, one.q))
            return
        one.T = T
        self.edited("edit waypoint")

    def _edit(self, number_: int) -> Row:
        one = self.draft.row(number_)
        one.qdd = None  # not valid for the edited waypoint
        return one

    def _as_points(self) -> None:
        plan, draft = self._require_plan(), self.draft
        lost = unsaved_points(self.robot.name, draft)
        self.context.unsaved.ask(
            "The waypoints of the curve will replace:", lost, lambda: self._take_curve(plan, draft)
        )

    def _take_curve(self, plan: PlannedMotion, draft: Draft) -> None:
        s, arm = plan.motion, self.robot.arm
        draft.rows.clear()
        for t in np.linspace(s.start, s.end, ADDED + 1):
            here = s.sample(float(t))
            one = draft.add(arm, here.q, float(t))
            one.qd, one.qdd = here.qd, here.qdd
        draft.curved, draft.through = False, "quintic"
        self.edited("convert curve to waypoints", html=True)

    def _show_path(self, on: bool) -> None:
        self._path_shown = on
        self._show()

    def _slow(self) -> None:
        plan = self._require_plan()
        slower = fastest_within(plan.motion, self.robot.arm)
        self.draft.slow(slower.duration / plan.motion.duration * (1.0 + 1e-6))
        self.edited("scale time to limits")

    # ---- playing ---------------------------------------------------------------------------------

    def _play(self) -> None:
        plan, sim, robot = self._require_plan(), self.sim, self.robot
        if plan.violations:
            advice = "edit the trajectory" if plan.stuck else "press Scale time to limits"
            raise BrazoError(f"{sentence(plan.violations[0])}: {advice}")
        self.session.require_running()
        with sim.lock:
            require_free(sim, robot)
            playing = Playing(
                robot,
                plan.motion,
                self._loop,
                lambda why: self.context.post(lambda: self._played(playing, why)),
            )
            sim.tasks.add(playing)
        self._playing, self._began = playing, sim.time
        self._pen_down = plan.pen_down

    def _played(self, playing: Playing, why: str) -> None:
        if self._playing is playing:
            self._playing = None
            if len(playing.trace) > 1:
                rows = np.array(playing.trace)
                self._trace = tool_trace(rows[:, 0], rows[:, 1:], self._pen_down)
            if not why:
                self.say(f"trajectory done after {self.sim.time - self._began:.1f} s")
            if why == REPLACED:
                self.say(f"trajectory stopped: {why}", "warn")

    def _halt(self) -> None:
        playing = self._playing
        if playing is not None:
            with self.sim.lock:
                playing.pause()
                for name in playing.motions:
                    self.sim.robots[name].stop()

    def _set_loop(self, on: bool) -> None:
        self._loop = on
        if self._playing is not None:
            self._playing.loop = on

    def reset(self) -> None:
        self._playing = None  # the reset removed the task

    def _save_trace(self) -> None:
        """Download the actual tool path of the last run as CSV."""
        if self._trace is None:
            raise BrazoError("no trace yet: run the trajectory first")
        self.download(f"{self.sim.cell.name}-{self.robot.name}-trace.csv", self._trace.csv_text())

    # ---- files -----------------------------------------------------------------------------------

    def _save(self) -> None:
        name = f"{self.sim.cell.name}-{self.robot.name}-trajectory.yaml"
        self.download(name, self.draft.file(self._require_plan()))
        self.draft.mark_saved()

    def kept(self) -> Mapping[str, str]:
        return {TRAJECTORIES: drafts_yaml(self._present(), self.context.points.of)}

    def restore(self, project: Project) -> None:
        text = project.text(TRAJECTORIES)
        if not text:
            return
        blocks = parse_document(text, project.folder / TRAJECTORIES).mapping()
        for name, robot in self.sim.robots.items():
            if name in blocks:
                draft = Draft(robot.arm, robot.reference.q)
                read_draft(blocks[name], draft, robot.arm, self.context.points.of(name))
                self._drafts[name], self._states[name] = draft, draft.state
        self._renew()

    def unsaved(self) -> list[Work]:
        if not self._drafts or self._opened != self.session.cells:
            return []
        return unsaved_drafts(self._present(), self.sim)

    def _load(self, given: Upload) -> None:
        robot = self.robot
        points = parse_via_list(given.text(), robot.arm, given.name)
        if len(points.points) > MOST_POINTS:
            raise BrazoError(
                f"{given.name}: contains {len(points.points)} points; the limit is {MOST_POINTS}"
            )
        draft = self.draft

        def take() -> None:
            draft.take(robot.arm, points, robot.reference.q)
            draft.mark_saved()
            self.edited(f"load {given.name}", html=True)

        lost = unsaved_points(robot.name, draft)
        self.context.unsaved.ask(f"Loading {given.name} discards:", lost, take)


def _tried(arm: Robot, draft: Draft, q0: np.ndarray) -> Found:
    """Plan a draft; on failure, return the reason instead of raising an error.

    If the arm cannot follow the curve, the result is an `InfeasiblePath`.
    """
    try:
        return plan_of(arm, draft, q0)
    except PathInfeasible as error:
        return infeasible_of(draft, error) if draft.curved else str(error)
    except BrazoError as error:
        return str(error)


def _limit_rows(plan: PlannedMotion) -> list[dict[str, Any]]:
    return [{"id": k, "text": sentence(one)} for k, one in enumerate(plan.violations)]


def _tool_numbers(T: np.ndarray) -> list[float]:
    angles = np.degrees(rpy_from_matrix(T[:3, :3]))
    return [*(1e3 * T[:3, 3]).tolist(), *angles.tolist()]
