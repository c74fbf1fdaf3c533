"""Teach pendant: jog joints and tool, enter targets, teach points, drag the tool, use the gripper.

Joint mode moves single joints.  The other modes move the tool along and about the axes of a frame:
the world, the robot's base, the tool, or a user frame of the cell.  The buttons − and + move the
robot while they are held, or by one jog step.  A gamepad moves the robot while its hold-to-run
button is held.  A typed value is a target.  It is marked as pending until Enter or a Move button
sends all targets together.

The panel displays degrees and mm, or rad and m; everything else is in SI units.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from brazo.errors import BrazoError
from brazo.kinematics.orientation import (
    oat_from_matrix,
    rpy_from_matrix,
)
from brazo.lab.app.context import PanelContext
from brazo.lab.app.panel import Panel, Values
from brazo.lab.app.point_program import as_program
from brazo.lab.app.quantities import fixed, read_quantity
from brazo.lab.app.unsaved import Work
from brazo.lab.panels.common.gamepad import SCRIPT, read_deflections
from brazo.lab.panels.common.gizmo import Gizmo
from brazo.lab.panels.common.html import note
from brazo.lab.panels.pendant.layout import (
    ANGLES,
    MODES,
    NEAREST,
    REFUSE,
    STEPS,
    USER,
    Layout,
    joint_scales,
)
from brazo.lab.panels.pendant.tool_section import ToolSection
from brazo.lab.panels.pendant.typed_targets import (
    ANGLE,
    displaced_pose,
    read_pairs,
    typed_pose,
    unit_of,
)
from brazo.model.transforms import invert
from brazo.operate import JogKeys, Point, PointRun, Points
from brazo.operate.contacts import held_up, struck
from brazo.operate.mover import Frame, is_redundant
from brazo.operate.nearest_target import has_nearest_rules, nearest_target
from brazo.program.frames import frame_names, frame_pose, reference_tool
from brazo.program.point_targets import base_pose, joint_target

if TYPE_CHECKING:
    from brazo.simulation.robot import SimRobot


class PendantPanel(Panel):
    """Teach pendant of the selected robot."""

    id, title, icon, side, order = "pendant", "Teach pendant", "pendant", "left", 10
    tab = "Pendant"
    rate = 30.0
    scripts = ("panels/pendant/pendant.js", SCRIPT)

    def __init__(self, context: PanelContext) -> None:
        super().__init__(context)
        self.mode: Frame = "joint"
        self.user_frame = ""  # name of a frame of the cell
        self.step = "hold"
        self.angles = "oat"
        self.nearest = REFUSE  # rule for typed targets out of reach
        self.si = False  # whether rad and m are displayed instead of degrees and mm
        self._teach_in = ""  # frame of the points that are taught; empty for joint values
        self._tour: PointRun | None = None
        self._gizmo = Gizmo(context, self._drag)
        self._gizmo_on = False
        self._clicks = False  # whether a click on a link moves its joint
        self._tools = ToolSection(self)
        self._opened = context.session.cells
        self.keys = JogKeys(context.mover)
        context.channel.on_halt(self.keys.stop)
        self._moved = 0
        self.on("mode", self._set_mode, str)
        self.on("frame", self._set_user_frame, str)
        self.on("robot", context.session.select, str)
        self.on_setting("step", "step", STEPS)
        self.on_setting("angles", "angles", ANGLES, then=self.refresh)
        self.on("units", self._set_units, str)
        self.on_number("override", self._set_override, unit="percent")
        self.on_setting("reduced", "reduced", owner=context.mover)
        self.on("jog", self._jog, int, int, bool, now=True)
        self.on("jog-end", self._jog_end, now=True)
        self.on("stick", self._stick, list, bool, now=True)
        self.on("stick-world", self._stick_in_world, list, bool, now=True)
        self.on("stick-end", self._jog_end, now=True)
        self.on("move", self._move, list, str)
        self.on_setting("nearest", "nearest", NEAREST)
        self.on("slide", self._slide, int, float)
        self.on("pose", self._go_to_pose, str)
        self.on("zero", self._go_to_zero)
        self.on("joint", lambda i: context.session.select(self.robot.name, i), int)
        self.on_setting("gizmo", "_gizmo_on", then=self._show_gizmo)
        self.on_setting("clicks", "_clicks")
        self.on("grip", lambda: self.robot.grip())
        self.on("release", lambda: self.robot.open())
        self.on_number("opening", lambda value: self.robot.open(value), unit="mm")
        self.on("teach", self._teach, still=True)
        self.on("teach-in", self._set_teach_in, str)
        self.on("play", self._play)
        self.on("point-go", lambda n: self._go_to_point(n, False), int)
        self.on("point-line", lambda n: self._go_to_point(n, True), int)
        self.on("point-set", self._set_point, int, still=True)
        self.on("point-name", self._rename_point, int, str, still=True)
        self.on("point-delete", self._delete_point, int, still=True)
        self.on("point-hover", self._show_point, int, still=True, passive=True)
        self.on("point-hover-end", context.scene.target.hide, still=True, passive=True)
        self.on("point-up", lambda n: self._move_point(n, -1), int, still=True)

    @property
    def robot(self) -> SimRobot:
        return self.session.robot

    @property
    def points(self) -> Points:
        """Named points of the selected robot."""
        return self.context.points.of(self.robot.name)

    # ---- display ---------------------------------------------------------------------------

    def html(self) -> str:
        if not self.sim.robots:
            return note("There is no robot in this cell.")
        return Layout(
            self.robot,
            list(self.sim.robots),
            self.mode,
            self.angles,
            self.si,
            self._frames(),
            self._tools.html(),
            self._user_frames(),
        ).html()

    def values(self) -> Values:
        if not self.sim.robots:
            return {}
        robot, joint = self.robot, self.session.selection.joint
        self._settle()
        shown: Values = {
            "robot": robot.name,
            "mode": self.mode,
            "frame": self.user_frame,
            "step": self.step,
            "angles": self.angles,
            "units": "si" if self.si else "deg",
            "override": 100.0 * self.context.mover.override,
            "reduced": self.context.mover.reduced,
            "nearest": self.nearest,
            "gizmo": self._gizmo_on,
            "clicks": self._clicks,
            "teach-in": self._teach_in,
            "why": self._why(),
            "moved": self._moved,
            "selected": -1 if joint is None else joint,
            "touring": 0 if self._tour is None else self._tour.point,
        }
        q = robot.q
        if self.mode == "joint":
            shown |= {
                f"q/{i}": float(v) for i, v in enumerate(q * joint_scales(self.robot.arm, self.si))
            }
        shown |= self._pose_values(invert(self._frame_pose()) @ robot.arm.fk(q))
        gripper = robot.world.gripper
        if gripper is not None:
            grasp = self.sim.world.grasp(robot.name)
            shown |= {
                "opening": 1000.0 * gripper.opening,
                "holds": f"holds {grasp.held}" if grasp.held else "empty",
            }
        return shown | self._tools.values() | {"points": self._point_rows()}

    def simulation_changed(self) -> None:
        if self._opened != self.session.cells:
            self._opened = self.session.cells
            self._tools.forget()
        if self._teach_in not in self._frames():
            self._teach_in = ""
        self._end_tour()
        self.keys.forget()
        if self.mode == USER and self.user_frame not in self._user_frames():
            self.mode = "base"
        self._gizmo.forget()
        self.refresh()
        self._show_gizmo()

    def selection_changed(self) -> None:
        self.keys.release()
        self.refresh()
        self._show_gizmo()

    def stopped(self) -> None:
        self._end_tour()
        self.keys.stop()

    def reset(self) -> None:
        self._end_tour()
        self.keys.forget()

    def driver_changed(self) -> None:
        self.keys.release()

    # ---- values ----------------------------------------------------------------------------

    def _pose_values(self, T: np.ndarray) -> Values:
        """Page values for a tool pose T (4, 4), in the displayed units and angle convention."""
        xyz = T[:3, 3]
        turned = (oat_from_matrix if self.angles == "oat" else rpy_from_matrix)(T[:3, :3])
        length, angle = (1.0, 1.0) if self.si else (1000.0, 180.0 / math.pi)
        return {
            **{n: float(length * v) for n, v in zip("xyz", xyz, strict=True)},
            **{f"angle/{i}": float(angle * v) for i, v in enumerate(turned)},
        }

    def _point_rows(self) -> list[dict[str, Any]]:
        rows = []
        going = 0 if self._tour is None else self._tour.point
        for point in self.points:
            rows.append(
                {
                    "id": point.number,
                    "name": point.name,
                    "where": self._where(point),
                    "mark": point.number == going,
                }
            )
        return rows

    def _where(self, point: Point) -> str:
        """Tool position of a taught point in the base frame (mm), as text.

        The text is a dash if the point was taught for a robot with another number of joints, and
        `no FRAME` if the frame of the point no longer exists.
        """
        if point.T is None and (point.q is None or point.q.shape != (self.robot.n,)):
            return "–"  # taught before the robot was replaced
        if point.T is not None and point.frame not in self._frames():
            return f"no {point.frame}"
        xyz = 1000.0 * base_pose(self.sim, self.robot, point)[:3, 3]
        return "  ".join(fixed(v, 0) for v in xyz)

    def _frames(self) -> list[str]:
        """Names of the frames in which a pose can be taught."""
        return [name for name in frame_names(self.sim) if name != "tool"]

    def _user_frames(self) -> list[str]:
        """Names of the user frames of the cell, in which the tool can be jogged."""
        return [frame.name for frame in self.sim.cell.frames]

    def _why(self) -> str:
        if self._gizmo.reason:
            return self._gizmo.reason
        if reason := self.keys.reason(self.robot):
            return reason
        contacts = self.sim.world.contacts()
        return struck(contacts, self.robot.name) or held_up(contacts, self.robot)

    # ---- settings --------------------------------------------------------------------------

    def _set_mode(self, mode: str) -> None:
        frames = self._user_frames()
        if mode in MODES or (mode == USER and frames):
            self.keys.release()
            self.mode = mode
            if mode == USER and self.user_frame not in frames:
                self.user_frame = frames[0]
            self.refresh()

    def _set_user_frame(self, name: str) -> None:
        if name in self._user_frames():
            self.keys.release()
            self.user_frame = name

    @property
    def _frame(self) -> Frame:
        """Name of the frame in which the current mode moves the tool; "joint" in Joint mode."""
        return self.user_frame if self.mode == USER else self.mode

    def _frame_pose(self) -> np.ndarray:
        """Pose (4, 4), in the robot's base frame, of the frame in which the tool pose is shown."""
        if self.mode in ("joint", "tool"):
            return np.eye(4)
        return self.context.mover.frame_pose(self.robot, self._frame)

    def _set_units(self, units: str) -> None:
        self.si = units == "si"
        self.refresh()

    def _set_override(self, share: float) -> None:
        self.context.mover.override = share

    # ---- jogging ---------------------------------------------------------------------------

    def _jog(self, axis: int, sign: int, fresh: bool) -> None:
        # Runs on the network thread.
        if sign not in (-1, 1) or not 0 <= axis < 64:
            return
        press = self.keys.press(axis, sign) if fresh else self.keys.renew(axis, sign)
        if press is not None and (fresh or self.step == "hold"):
            begin = self.context.channel.unless_stopped(lambda: self._begin(axis, sign, press))
            self.context.post(begin)

    def _stick(self, given: list[Any], fresh: bool) -> None:
        self._press_stick(given, fresh, None)

    def _stick_in_world(self, given: list[Any], fresh: bool) -> None:
        """Jog the tool in the world frame with a stick, independent of the current mode.

        `given` are the deflections of the axes (-1 to 1).  `fresh` is true in the first message
        after the user starts to hold the stick.  Used by headsets, which do not show the mode.
        """
        self._press_stick(given, fresh, "world")

    def _press_stick(self, given: list[Any], fresh: bool, frame: Frame | None) -> None:
        # Runs on the network thread.
        deflections = read_deflections(given)
        if deflections is None:
            return
        press = self.keys.press_stick(deflections) if fresh else self.keys.renew_stick(deflections)
        if press is not None:
            begin = self.context.channel.unless_stopped(lambda: self._begin_stick(press, frame))
            self.context.post(begin)

    def _begin_stick(self, press: int, frame: Frame | None) -> None:
        self._end_tour()
        self._warn(self.keys.begin(self.robot, frame or self._frame, press))

    def _jog_end(self) -> None:
        # Runs on the network thread.
        self.keys.release()
        self.context.post(self._settle)

    def _begin(self, axis: int, sign: int, press: int) -> None:
        robot = self.robot
        if axis >= (robot.n if self.mode == "joint" else 6 + is_redundant(robot.arm)):
            return
        self._end_tour()
        if self.step != "hold":
            self.keys.release()
            self.context.mover.step(robot, self._frame, axis, sign * self._increment(axis))
        else:
            self._warn(self.keys.begin(robot, self._frame, press))

    def _settle(self) -> None:
        self._warn(self.keys.settle())

    def _warn(self, message: str) -> None:
        if message:
            self.say(message, "warn")

    def _increment(self, axis: int) -> float:
        if self.mode == "joint":
            return float(self.step) * self._per_unit(axis)
        return float(self.step) * (math.pi / 180.0 if axis > 2 else 1e-3)

    def _per_unit(self, joint: int) -> float:
        """SI value of 1° for a rotary joint, or of 1 mm for a linear joint."""
        return math.pi / 180.0 if self.robot.arm.joint_kinds[joint] == "revolute" else 1e-3

    # ---- moves -----------------------------------------------------------------------------

    def _move(self, targets: list[Any], how: str) -> None:
        """Move to all typed targets in one motion.

        `targets` are pairs of name and value, e.g. `[["q0", 45], …]`.  The names are q0, q1, … in
        Joint mode, otherwise x, y, z and the angles a0, a1, a2.  `how` is "line" for a linear
        motion of the tool; any other value selects a joint motion.
        """
        given = read_pairs(targets)
        if given is None:
            return
        known = [f"q{i}" for i in range(self.robot.n)] if self.mode == "joint" else [*"xyz", *ANGLE]
        if not given:
            raise BrazoError("no target: type a value in a field first")
        if any(name not in known for name in given):
            return  # sent by a page that still shows another mode
        self._end_tour()
        robot, arm = self.robot, self.robot.arm
        if self.mode == "joint":
            q = self.context.mover.goal(robot).copy()
            for i, kind in enumerate(arm.joint_kinds):
                if f"q{i}" in given:
                    q[i] = read_quantity(given[f"q{i}"], unit_of(kind, self.si))
            if how == "line":
                self.context.mover.move_tool(robot, arm.fk(q), straight=True)
            else:
                self.context.mover.go_to(robot, q)
        else:
            tool = arm.fk(robot.reference.q)
            if self.mode == "tool":
                T = displaced_pose(tool, given, self.si)
            else:
                T_frame = self._frame_pose()
                T = T_frame @ typed_pose(invert(T_frame) @ tool, given, self.angles, self.si)
            self.context.mover.move_tool(robot, self._reachable(T), straight=how == "line")
        self._moved += 1

    def _reachable(self, T: np.ndarray) -> np.ndarray:
        """Return the target pose T (4, 4), or the nearest reachable pose if T is out of reach.

        The setting `nearest` is the rule for a target out of reach.  If the rule is `REFUSE`, or if
        the arm has no such rules, T is returned even if it is out of reach.
        """
        robot, arm = self.robot, self.robot.arm
        if self.nearest == REFUSE or not has_nearest_rules(arm):
            return T
        if arm.ik(T, q0=robot.reference.q).success:
            return T
        rule = "pitch" if self.nearest == "pitch" else "position"
        found = nearest_target(arm, T, float(robot.reference.q[4]), rule)
        pitch = math.degrees(found.pitch)
        away = (
            f"{1e3 * found.distance:.1f} mm from the target"
            if found.distance > 1e-6
            else "at the target position"
        )
        self.say(f"target out of reach; nearest pose: {away}, tool pitch {pitch:.1f}°", "warn")
        return arm.fk(found.q)

    def _slide(self, joint: int, shown: float) -> None:
        robot = self.robot
        if self.mode == "joint" and 0 <= joint < robot.n:
            self._end_tour()
            q = self.context.mover.goal(robot).copy()
            q[joint] = np.clip(
                shown / joint_scales(self.robot.arm, self.si)[joint], *robot.arm.limits[joint]
            )
            self.context.mover.go_to(robot, q)

    def _go_to_pose(self, name: str) -> None:
        poses = self.robot.arm.poses
        if name in poses:
            self._end_tour()
            self.context.mover.go_to(self.robot, poses[name])

    def _go_to_zero(self) -> None:
        self._end_tour()
        limits = self.robot.arm.limits
        self.context.mover.go_to(self.robot, np.clip(np.zeros(self.robot.n), *limits.T))

    def _drag(self, robot: SimRobot, q: np.ndarray) -> None:
        self._end_tour()
        self.context.mover.go_to(robot, q)

    # ---- gizmo and gripper -----------------------------------------------------------------

    def _show_gizmo(self) -> None:
        self._gizmo.show(self.robot if self._gizmo_on and self.sim.robots else None)

    def clicked(self, robot: str, joint: int, shift: bool) -> bool:
        if not self._clicks:
            return False
        if self.session.selection.robot != robot or self.session.selection.joint != joint:
            self.session.select(robot, joint)
        self._end_tour()
        size = 1.0 if self.step == "hold" else float(self.step)
        by = (-1.0 if shift else 1.0) * size * self._per_unit(joint)
        self.context.mover.step(self.robot, "joint", joint, by)
        return True

    def follow(self) -> None:
        """Keep the gizmo at the tool and report why a jog ended; called on every frame."""
        self._gizmo.follow()
        self._settle()

    # ---- points ----------------------------------------------------------------------------

    def _teach(self) -> None:
        robot, frame, taught = self.robot, self._teach_in, []
        T = self._pose_in(frame) if frame else None

        def teach(points: Points) -> None:
            taught.append(points.teach(robot.reference.q, T=T, frame=frame or "base"))

        self.context.points.edit(f"teach {self.points.next_name}", robot.name, teach)
        self.say(f"{taught[0].name} taught")  # its row may be out of view

    def _set_teach_in(self, frame: str) -> None:
        if not frame or frame in self._frames():
            self._teach_in = frame

    def _pose_in(self, frame: str) -> np.ndarray:
        """Reference pose (4, 4) of the tool relative to the frame with this name."""
        T_frame = frame_pose(self.sim, self.robot, frame)
        return np.linalg.inv(T_frame) @ reference_tool(self.robot)

    def _go_to_point(self, n: int, straight: bool) -> None:
        self._end_tour()
        sim, robot, point = self.sim, self.robot, self.points.get(n)
        if straight:
            self.context.mover.move_tool(robot, base_pose(sim, robot, point), straight=True)
        else:
            self.context.mover.go_to(robot, joint_target(sim, robot, point))

    def _edit_point(self, verb: str, n: int, change: Callable[[Points], object]) -> None:
        name = self.points.get(n).name
        self.context.points.edit(f"{verb} {name}", self.robot.name, change)

    def _set_point(self, n: int) -> None:
        point, q = self.points.get(n), self.robot.reference.q
        T = None if point.T is None else self._pose_in(point.frame)
        self._edit_point("touch up", n, lambda points: points.update(n, q, T))
        self.say(f"{point.name} updated")

    def _rename_point(self, n: int, name: str) -> None:
        self._edit_point("rename", n, lambda points: points.rename(n, name))

    def _delete_point(self, n: int) -> None:
        self._edit_point("delete", n, lambda points: points.delete(n))

    def _move_point(self, n: int, by: int) -> None:
        self._edit_point("move", n, lambda points: points.move(n, by))

    def _show_point(self, n: int) -> None:
        """Draw a transparent copy of the robot at the taught point with this number."""
        robot = self.robot
        try:
            q = joint_target(self.sim, robot, self.points.get(n))
            self.context.scene.target.show(robot.arm, robot.base, q)
        except BrazoError:  # out of reach, or of another robot: reported when the user moves there
            self.context.scene.target.hide()

    def _play(self) -> None:
        if not len(self.points):
            raise BrazoError("no points to run through: teach points first")
        self.session.require_running()
        self._end_tour()
        sim, robot, began = self.sim, self.robot, self.sim.time
        count = len(self.points)

        def done() -> None:
            text = f"{robot.name}: {count} points done in {sim.time - began:.1f} s"
            self.context.post(lambda: self.say(text))

        self._tour = PointRun(
            robot,
            list(self.points),
            self.context.mover,
            lambda text: self.context.post(lambda: self.say(text, "error")),
            lambda point: joint_target(sim, robot, point),
            done,
        )
        sim.tasks.add(self._tour)

    def unsaved(self) -> list[Work]:
        if self.session.replay is not None:
            return []
        found = []
        for robot, points in self.context.points.lists().items():
            if robot in self.sim.robots:
                some = "1 taught point" if len(points) == 1 else f"{len(points)} taught points"
                text = as_program(robot, points, self.sim.cell.name)
                found.append(Work(f"{robot}: {some}", {f"{robot}-points.yaml": text}, robot))
        return found

    def _end_tour(self) -> None:
        if self._tour is not None:
            self._tour.pause()
            self._tour = None
