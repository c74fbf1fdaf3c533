"""Trajectory panel: timed waypoints or a curve, previewed in the scene before it is played.

Every change is replanned and drawn as a path, red where the motion violates a limit.  Each robot
of the cell has its own draft.  The file format is that of `brazo.trajectory.files`.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from brazo.errors import BrazoError
from brazo.kinematics.orientation import matrix_from_rpy, rpy_from_matrix
from brazo.lab.app.context import Context
from brazo.lab.app.panel import Panel, Values
from brazo.lab.panels.common.html import (
    fixed,
    note,
)
from brazo.lab.panels.trajectory.draft import CURVES, PLANES, Draft, Plan, Row, plan_of, sentence
from brazo.lab.panels.trajectory.layout import SHOWN, SOURCES, SPACES, THROUGH, TOOL, TURNS, layout
from brazo.lab.panels.trajectory.planned_path import PlannedPath
from brazo.lab.panels.trajectory.unsaved import unsaved_drafts, unsaved_points
from brazo.operate.playing import Playing, require_free
from brazo.trajectory import fastest_within, parse_via_list
from brazo.trajectory.via_points import RULES

if TYPE_CHECKING:
    from brazo.lab.app.unsaved import Work
    from brazo.lab.server.transfers import Upload
    from brazo.robot import Robot
    from brazo.simulation.robot import SimRobot

MOST_POINTS = 500
ADDED = 24  # segments between the waypoints that a curve is converted to


class TrajectoryPanel(Panel):
    """Waypoints, curves, preview and playback."""

    id, title, icon, side, order = "trajectory", "Trajectory", "trajectory", "left", 25

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._drafts: dict[str, Draft] = {}
        self._sim: Any = None
        self._opened = 0  # value of `session.cells` for which the drafts are valid
        self._plan: Plan | None = None
        self._why = ""
        self._plans = 0
        self._path = PlannedPath(context.scene)
        self._seen = True
        self._loop = False
        self._playing: Playing | None = None
        self.on("robot", context.session.select, str)
        self.on("source", self._set_source, str)
        self.on("space", self._set_space, str)
        self.on("through", self._set_through, str)
        self.on("rule", self._set_rule, str)
        self.on("orientation", self._set_orientation, str)
        self.on("add", self._add)
        self.on("clear", self._clear)
        self.on("point-set", self._set_point, int)
        self.on("point-delete", self._delete_point, int)
        self.on_number("cell/t", self._set_time, int, unit="s")
        for key, unit in TOOL.items():
            self.on_number(
                f"cell/{key}",
                functools.partial(self._set_tool, key),
                int,
                unit="mm" if unit == "mm" else "deg",
            )
        self.on("curve", self._set_curve, str)
        self.on("plane", self._set_plane, str)
        self.on("here", self._begin_here)
        self.on("as-points", self._as_points)
        self.on_number("time", self._set_curve_time, unit="s")
        for kind, sizes in CURVES.items():
            for name, size in sizes.items():
                self.on_number(
                    f"size/{kind}/{name}",
                    functools.partial(self._set_size, kind, name),
                    unit=size.unit,
                )
        self.on("seen", self._set_seen, bool)
        self.on("slow", self._slow)
        self.on("play", self._play)
        self.on("halt", self._halt, still=True)
        self.on("loop", self._set_loop, bool)
        self.on("save", self._save)
        self.on_upload("load", self._load, ".yaml", ".yml", most=4 << 20)

    # ---- the draft of the selected robot ---------------------------------------------------------

    @property
    def robot(self) -> SimRobot:
        return self.session.robot

    @property
    def draft(self) -> Draft:
        """Draft of the selected robot."""
        robot = self.robot
        if robot.name not in self._drafts:
            self._drafts[robot.name] = Draft(robot.arm, robot.reference.q)
        return self._drafts[robot.name]

    def simulation_changed(self) -> None:
        robots = self.sim.robots
        if self._sim is not self.sim:
            self._sim, self._playing = self.sim, None
        if self._opened != self.session.cells:
            self._opened = self.session.cells
            self._drafts.clear()
        self._drafts = {name: draft for name, draft in self._drafts.items() if name in robots}
        for name, draft in self._drafts.items():  # editing a robot can change its kinematics
            for one in draft.rows:
                one.T = robots[name].arm.fk(one.q) if draft.space == "joint" else one.T
        self._renew()

    def selection_changed(self) -> None:
        self._renew()

    def _renew(self) -> None:
        if self.sim.robots:
            arm = self.robot.arm
            for i, kind in enumerate(arm.joint_kinds):
                unit = "deg" if kind == "revolute" else "mm"
                self.on_number(f"cell/q{i}", functools.partial(self._set_joint, i), int, unit=unit)
        self.refresh()
        self._replan()

    # ---- display ---------------------------------------------------------------------------------

    def html(self) -> str:
        if not self.sim.robots:
            return note("There is no robot in this cell.")
        return layout(list(self.sim.robots), self.draft, self.robot.arm)

    def values(self) -> Values:
        if not self.sim.robots:
            return {}
        draft, plan = self.draft, self._plan
        found: Values = {
            "robot": self.robot.name,
            "source": "curve" if draft.curved else "points",
            "orientation": draft.orientation,
            "seen": self._seen,
            "loop": self._loop,
            "why": self._why,
            "any": bool(draft.rows),
            "duration": "–" if plan is None else fixed(plan.motion.duration, 2),
            "length": "–" if plan is None else fixed(1e3 * plan.length, 1),
            "limits": [] if plan is None else _limit_rows(plan),
            "may-slow": plan is not None and bool(plan.violations) and not plan.stuck,
            "may-play": plan is not None and not plan.violations and self._playing is None,
            "may-save": plan is not None,
            "playing": self._playing is not None,
            "now": self._now(),
        }
        return found | (self._curve_values() if draft.curved else self._point_values())

    def _point_values(self) -> Values:
        draft, arm = self.draft, self.robot.arm
        scale = [SHOWN[kind][1] for kind in arm.joint_kinds]
        rows = []
        for one in draft.rows:
            shown: dict[str, Any] = {"id": one.number, "t": one.t}
            if draft.space == "joint":
                shown |= {f"q{i}": float(scale[i] * one.q[i]) for i in range(arm.n)}
            else:
                shown |= dict(zip(TOOL, _tool_numbers(one.T), strict=True))
            rows.append(shown)
        return {"rows": rows, "space": draft.space, "through": draft.through, "rule": draft.rule}

    def _curve_values(self) -> Values:
        curve = self.draft.curve
        found: Values = {"curve": curve.kind, "plane": curve.plane, "time": curve.time}
        for name, size in CURVES[curve.kind].items():
            scale = 1e3 if size.unit == "mm" else 1.0
            found[f"size/{curve.kind}/{name}"] = scale * curve.size(name)
        found["begin"] = ", ".join(fixed(1e3 * v, 1) for v in curve.start[:3, 3])
        return found

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

    def _changed(self, html: bool = False) -> None:
        """Replan after a change of the draft; with `html`, also rebuild the panel."""
        if html:
            self.refresh()
        self._replan()

    def _replan(self) -> None:
        self._plans += 1
        self._plan, self._why = None, ""
        self._path.remove()
        if not self.sim.robots or not (self.draft.curved or len(self.draft.rows) > 1):
            return
        robot, draft, number_ = self.robot, self.draft, self._plans
        arm, q0 = robot.arm, robot.reference.q
        if not draft.curved and draft.through != "line":
            self._planned(_tried(arm, draft, q0), number_)
            return

        # Planning a Cartesian path is slow: run it as a background job.
        def done(found: Plan | str) -> None:
            self._planned(found, number_)
            # Remove the finished job from the list; the preview shows its result.
            self.context.post(lambda: self.context.jobs.cancel(job.number))

        job = self.context.jobs.start(
            "Plan the path", lambda _: _tried(arm, draft, q0), done, cancellable=False
        )

    def _planned(self, found: Plan | str, number_: int) -> None:
        if number_ != self._plans:
            return  # outdated: the draft has changed since
        if isinstance(found, str):
            self._why = found
            return
        self._plan = found
        if self._seen:
            self._path.show(found, np.asarray(self.robot.base))

    def _require_plan(self) -> Plan:
        if self._plan is None:
            raise BrazoError(self._why or "no motion yet: add two points, or choose a curve")
        return self._plan

    # ---- user actions --------------------------------------------------------------------------

    def _set_source(self, source: str) -> None:
        if source in SOURCES:
            self.draft.curved = source == "curve"
            self._changed(html=True)

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
        self._changed(html=True)

    def _set_through(self, through: str) -> None:
        if through in THROUGH:
            self.draft.through = through  # type: ignore[assignment]
            self._changed(html=True)

    def _set_rule(self, rule: str) -> None:
        if rule in RULES:
            self.draft.rule = rule  # type: ignore[assignment]
            self._changed()

    def _set_orientation(self, orientation: str) -> None:
        if orientation in TURNS:
            self.draft.orientation = orientation  # type: ignore[assignment]
            self._changed()

    def _add(self) -> None:
        if len(self.draft.rows) >= MOST_POINTS:
            raise BrazoError(f"at most {MOST_POINTS} points")
        self.draft.add(self.robot.arm, self.robot.reference.q)
        self._changed()

    def _clear(self) -> None:
        self.draft.rows.clear()
        self._changed()

    def _set_point(self, number_: int) -> None:
        one = self.draft.row(number_)
        one.q = self.robot.reference.q
        one.T = self.robot.arm.fk(one.q)
        one.qd = one.qdd = None
        self._changed()

    def _delete_point(self, number_: int) -> None:
        self.draft.rows.remove(self.draft.row(number_))
        self._changed()

    def _set_time(self, number_: int, t: float) -> None:
        if t < 0.0:
            raise BrazoError(f"time {t:g} s: must be 0 s or more")
        self._edit(number_).t = t
        self.draft.rows.sort(key=lambda one: one.t)
        self._changed()

    def _set_joint(self, i: int, number_: int, value: float) -> None:
        one = self._edit(number_)
        if i < len(one.q):
            one.q = one.q.copy()
            one.q[i] = value
            one.T = self.robot.arm.fk(one.q)
            self._changed()

    def _set_tool(self, key: str, number_: int, value: float) -> None:
        one = self._edit(number_)
        T = one.T.copy()
        if key in ("x", "y", "z"):
            T["xyz".index(key), 3] = value
        else:
            rpy = rpy_from_matrix(T[:3, :3])
            rpy[("roll", "pitch", "yaw").index(key)] = value
            T[:3, :3] = matrix_from_rpy(rpy)
        one.T = T
        self._changed()

    def _edit(self, number_: int) -> Row:
        one = self.draft.row(number_)
        one.qd = one.qdd = None  # not valid for the edited waypoint
        return one

    def _set_curve(self, kind: str) -> None:
        if kind in CURVES:
            self.draft.curve.kind = kind
            self._changed(html=True)

    def _set_plane(self, plane: str) -> None:
        if plane in PLANES:
            self.draft.curve.plane = plane
            self._changed()

    def _set_size(self, kind: str, name: str, value: float) -> None:
        self.draft.curve.sizes[f"{kind}.{name}"] = value
        self._changed()

    def _set_curve_time(self, value: float) -> None:
        if not 0.05 <= value <= 3600.0:
            raise BrazoError(f"time {value:g} s: must be 0.05 to 3600 s")
        self.draft.curve.time = value
        self._changed()

    def _begin_here(self) -> None:
        self.draft.curve.start = self.robot.arm.fk(self.robot.reference.q)
        self._changed()

    def _as_points(self) -> None:
        plan, draft = self._require_plan(), self.draft
        lost = unsaved_points(self.robot.name, draft)
        self.context.unsaved.ask(
            "The points of the curve replace:", lost, lambda: self._take_curve(plan, draft)
        )

    def _take_curve(self, plan: Plan, draft: Draft) -> None:
        s, arm = plan.motion, self.robot.arm
        draft.rows.clear()
        for t in np.linspace(s.start, s.end, ADDED + 1):
            here = s.sample(float(t))
            one = draft.add(arm, here.q, float(t))
            one.qd, one.qdd = here.qd, here.qdd
        draft.curved, draft.through = False, "quintic"
        self._changed(html=True)

    def _set_seen(self, on: bool) -> None:
        self._seen = on
        self._path.remove()
        if on and self._plan is not None:
            self._path.show(self._plan, np.asarray(self.robot.base))

    def _slow(self) -> None:
        plan = self._require_plan()
        slower = fastest_within(plan.motion, self.robot.arm)
        self.draft.slow(slower.duration / plan.motion.duration * (1.0 + 1e-6))
        self._changed()

    # ---- playing ---------------------------------------------------------------------------------

    def _play(self) -> None:
        plan, sim, robot = self._require_plan(), self.sim, self.robot
        if plan.violations:
            raise BrazoError(f"limit violation: {sentence(plan.violations[0])}")
        self.session.require_running()
        with sim.lock:
            require_free(sim, robot)
            playing = Playing(
                robot,
                plan.motion,
                self._loop,
                lambda why: self.context.post(lambda: self._played(playing, why)),
            )
            sim.add_task(playing)
        self._playing = playing

    def _played(self, playing: Playing, why: str) -> None:
        if self._playing is playing:
            self._playing = None
            if why == "something else moves the robot":
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

    # ---- files -----------------------------------------------------------------------------------

    def _save(self) -> None:
        name = f"{self.sim.cell.name}-{self.robot.name}-trajectory.yaml"
        self.download(name, self.draft.file(self._require_plan()))
        self.draft.mark_saved()

    def unsaved(self) -> list[Work]:
        if not self._drafts or self._opened != self.session.cells:
            return []
        return unsaved_drafts(self._drafts, self.sim)

    def _load(self, given: Upload) -> None:
        robot = self.robot
        points = parse_via_list(given.text(), robot.arm, given.name)
        if len(points.points) > MOST_POINTS:
            raise BrazoError(f"{given.name}: {len(points.points)} points; at most {MOST_POINTS}")
        draft = self.draft

        def take() -> None:
            draft.take(robot.arm, points, robot.reference.q)
            draft.mark_saved()
            self._changed(html=True)

        lost = unsaved_points(robot.name, draft)
        self.context.unsaved.ask(f"Loading {given.name} discards:", lost, take)


def _tried(arm: Robot, draft: Draft, q0: np.ndarray) -> Plan | str:
    """Return the plan, or a message why there is none."""
    try:
        return plan_of(arm, draft, q0)
    except BrazoError as error:
        return str(error)


def _limit_rows(plan: Plan) -> list[dict[str, Any]]:
    return [{"id": k, "text": sentence(one)} for k, one in enumerate(plan.violations)]


def _tool_numbers(T: np.ndarray) -> list[float]:
    angles = np.degrees(rpy_from_matrix(T[:3, :3]))
    return [*(1e3 * T[:3, 3]).tolist(), *angles.tolist()]
