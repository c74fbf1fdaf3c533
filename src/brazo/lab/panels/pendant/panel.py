"""Teach pendant: jog joints and tool, enter targets, teach points, drag the tool, use the gripper.

Joint mode moves single joints.  Base mode moves the tool along and about the axes of the robot's
base, Tool mode along and about the tool's own axes.  The buttons − and + move while they are held,
or by one jog step.  A typed value is a target: it is marked as pending until Enter or a Move button
sends all targets together.

The panel displays degrees and mm, or rad and m; everything else is in SI units.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from brazo.errors import BrazoError
from brazo.kinematics.orientation import (
    matrix_from_oat,
    matrix_from_rpy,
    oat_from_matrix,
    rpy_from_matrix,
)
from brazo.lab.app.context import Context
from brazo.lab.app.panel import Panel, Values
from brazo.lab.app.point_program import as_program
from brazo.lab.app.quantities import fixed, read_quantity
from brazo.lab.app.unsaved import Work
from brazo.lab.panels.common.gizmo import Gizmo
from brazo.lab.panels.common.html import note
from brazo.lab.panels.pendant.layout import ANGLES, MODES, STEPS, Layout, joint_scales
from brazo.operate import JogKeys, PointRun, Points
from brazo.operate.contacts import held_up, struck
from brazo.operate.mover import Frame, displaced

if TYPE_CHECKING:
    from brazo.simulation.robot import SimRobot


ANGLE = ("a0", "a1", "a2")


class PendantPanel(Panel):
    """Teach pendant of the selected robot."""

    id, title, icon, side, order = "pendant", "Teach pendant", "pendant", "left", 10
    rate = 30.0
    scripts = ("panels/pendant/pendant.js",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.mode: Frame = "joint"
        self.step = "hold"
        self.angles = "oat"
        self.si = False  # whether rad and m are displayed instead of degrees and mm
        self._points: dict[str, Points] = {}
        self._opened = 0  # value of `session.cells` for which the points are valid
        self._tour: PointRun | None = None
        self._gizmo = Gizmo(context, self._drag)
        self._gizmo_on = False
        self._clicks = False  # whether a click on a link moves its joint
        self.keys = JogKeys(context.mover)
        context.channel.on_halt(self.keys.stop)
        self._moved = 0
        self.on("mode", self._set_mode, str)
        self.on("robot", context.session.select, str)
        self.on("step", self._set_step, str)
        self.on("angles", self._set_angles, str)
        self.on("units", self._set_units, str)
        self.on_number("override", self._set_override, unit="percent")
        self.on("reduced", self._set_reduced, bool)
        self.on("jog", self._jog, int, int, bool, now=True)
        self.on("jog-end", self._jog_end, now=True)
        self.on("move", self._move, list, str)
        self.on("slide", self._slide, int, float)
        self.on("pose", self._go_to_pose, str)
        self.on("zero", self._go_to_zero)
        self.on("joint", lambda i: context.session.select(self.robot.name, i), int)
        self.on("gizmo", self._set_gizmo, bool)
        self.on("clicks", self._set_clicks, bool)
        self.on("grip", self._grip)
        self.on("release", lambda: self.robot.open())
        self.on_number("opening", lambda value: self.robot.open(value), unit="mm")
        self.on("teach", self._teach)
        self.on("play", self._play)
        self.on("point-go", lambda n: self._go_to_point(n, False), int)
        self.on("point-line", lambda n: self._go_to_point(n, True), int)
        self.on("point-set", self._set_point, int)
        self.on("point-name", self._rename_point, int, str)
        self.on("point-delete", self._delete_point, int)

    @property
    def robot(self) -> SimRobot:
        return self.session.robot

    @property
    def points(self) -> Points:
        """Taught points of the selected robot."""
        return self._points.setdefault(self.robot.name, Points())

    # ---- display ---------------------------------------------------------------------------

    def html(self) -> str:
        if not self.sim.robots:
            return note("There is no robot in this cell.")
        return Layout(self.robot, list(self.sim.robots), self.mode, self.angles, self.si).html()

    def values(self) -> Values:
        if not self.sim.robots:
            return {}
        robot, joint = self.robot, self.session.selection.joint
        self._settle()
        shown: Values = {
            "robot": robot.name,
            "mode": self.mode,
            "step": self.step,
            "angles": self.angles,
            "units": "si" if self.si else "deg",
            "override": 100.0 * self.context.mover.override,
            "reduced": self.context.mover.reduced,
            "gizmo": self._gizmo_on,
            "clicks": self._clicks,
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
        shown |= self._pose_values(robot.arm.fk(q))
        clamp = robot.world.clamp
        if clamp is not None:
            grasp = self.sim.world.grasp(robot.name)
            shown |= {
                "opening": 1000.0 * clamp.opening,
                "holds": f"holds {grasp.held}" if grasp.held else "empty",
            }
        return shown | {"points": self._point_rows()}

    def simulation_changed(self) -> None:
        if self.session.cells != self._opened:  # an edited robot keeps its points
            self._opened = self.session.cells
            self._points.clear()
        self._end_tour()
        self.keys.forget()
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
        """Tool pose T (4, 4) in the base frame, in the displayed units and angles."""
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
            xyz = 1000.0 * self.robot.arm.fk(point.q)[:3, 3]
            where = "  ".join(fixed(v, 0) for v in xyz)
            rows.append(
                {
                    "id": point.number,
                    "name": point.name,
                    "where": where,
                    "mark": point.number == going,
                }
            )
        return rows

    def _why(self) -> str:
        if self._gizmo.reason:
            return self._gizmo.reason
        if reason := self.keys.reason(self.robot):
            return reason
        contacts = self.sim.world.contacts()
        return struck(contacts, self.robot.name) or held_up(contacts, self.robot)

    # ---- settings --------------------------------------------------------------------------

    def _set_mode(self, mode: str) -> None:
        if mode in MODES:
            self.keys.release()
            self.mode = mode  # type: ignore[assignment]
            self.refresh()

    def _set_step(self, step: str) -> None:
        if step in STEPS:
            self.step = step

    def _set_angles(self, angles: str) -> None:
        if angles in ANGLES:
            self.angles = angles
            self.refresh()

    def _set_units(self, units: str) -> None:
        self.si = units == "si"
        self.refresh()

    def _set_override(self, share: float) -> None:
        self.context.mover.override = share

    def _set_reduced(self, on: bool) -> None:
        self.context.mover.reduced = on

    # ---- jogging ---------------------------------------------------------------------------

    def _jog(self, axis: int, sign: int, fresh: bool) -> None:
        # Runs on the network thread.
        if sign not in (-1, 1) or not 0 <= axis < 64:
            return
        press = self.keys.press(axis, sign) if fresh else self.keys.renew(axis, sign)
        if press is not None and (fresh or self.step == "hold"):
            begin = self.context.channel.unless_stopped(lambda: self._begin(axis, sign, press))
            self.context.post(begin)

    def _jog_end(self) -> None:
        # Runs on the network thread.
        self.keys.release()
        self.context.post(self._settle)

    def _begin(self, axis: int, sign: int, press: int) -> None:
        robot = self.robot
        if axis >= (robot.n if self.mode == "joint" else 6):
            return
        self._end_tour()
        if self.step != "hold":
            self.keys.release()
            self.context.mover.step(robot, self.mode, axis, sign * self._increment(axis))
        else:
            self._warn(self.keys.begin(robot, self.mode, press))

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
        """Return 1° or 1 mm in SI units, depending on the kind of the joint."""
        return math.pi / 180.0 if self.robot.arm.joint_kinds[joint] == "revolute" else 1e-3

    # ---- moves -----------------------------------------------------------------------------

    def _move(self, targets: list[Any], how: str) -> None:
        """Move to all typed targets together.

        `targets` are pairs `[["q0", 45], …]` in Joint mode, otherwise of x, y, z and a0, a1, a2.
        `how` is "line" for a linear motion of the tool, else the motion is a joint motion.
        """
        given: dict[str, float | str] = {}
        for pair in targets:
            if not (isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], str)):
                return
            if not isinstance(pair[1], int | float | str) or isinstance(pair[1], bool):
                return
            given[pair[0]] = pair[1]
        known = [f"q{i}" for i in range(self.robot.n)] if self.mode == "joint" else [*"xyz", *ANGLE]
        if not given:
            raise BrazoError("no target: type a value first")
        if any(name not in known for name in given):
            return  # sent by a page that still shows another mode
        self._end_tour()
        robot, arm = self.robot, self.robot.arm
        if self.mode == "joint":
            q = self.context.mover.goal(robot).copy()
            for i, kind in enumerate(arm.joint_kinds):
                if f"q{i}" in given:
                    q[i] = read_quantity(given[f"q{i}"], self._quantity(kind))
            if how == "line":
                self.context.mover.move_tool(robot, arm.fk(q), straight=True)
            else:
                self.context.mover.go_to(robot, q)
        else:
            T = self._typed_pose(arm.fk(robot.reference.q), given)
            self.context.mover.move_tool(robot, T, straight=how == "line")
        self._moved += 1

    def _typed_pose(self, T: np.ndarray, given: dict[str, float | str]) -> np.ndarray:
        length = self._quantity("prismatic")
        xyz = {n: read_quantity(given[n], length) for n in "xyz" if n in given}
        if self.mode == "tool":
            twist = np.zeros(6)
            for i, n in enumerate("xyz"):
                twist[i] = xyz.get(n, 0.0)
            return displaced(T, twist, "tool")
        T = T.copy()
        for i, n in enumerate("xyz"):
            T[i, 3] = xyz.get(n, T[i, 3])
        if any(n in given for n in ANGLE):
            to, back = (
                (oat_from_matrix, matrix_from_oat)
                if self.angles == "oat"
                else (rpy_from_matrix, matrix_from_rpy)
            )
            angles = np.array(to(T[:3, :3]))
            for i, n in enumerate(ANGLE):
                if n in given:
                    angles[i] = read_quantity(given[n], self._quantity("revolute"))
            T[:3, :3] = back(angles)
        return T

    def _quantity(self, kind: str) -> Any:
        if kind == "revolute":
            return "rad" if self.si else "deg"
        return "m" if self.si else "mm"

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

    def _set_gizmo(self, on: bool) -> None:
        self._gizmo_on = on
        self._show_gizmo()

    def _show_gizmo(self) -> None:
        self._gizmo.show(self.robot if self._gizmo_on and self.sim.robots else None)

    def _set_clicks(self, on: bool) -> None:
        self._clicks = on

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

    def _grip(self) -> None:
        self.robot.grip()

    # ---- points ----------------------------------------------------------------------------

    def _teach(self) -> None:
        point = self.points.teach(self.robot.reference.q)
        self.say(f"{point.name} taught")  # its row may be out of view

    def _go_to_point(self, n: int, straight: bool) -> None:
        self._end_tour()
        q = self.points.get(n).q
        if straight:
            self.context.mover.move_tool(self.robot, self.robot.arm.fk(q), straight=True)
        else:
            self.context.mover.go_to(self.robot, q)

    def _set_point(self, n: int) -> None:
        self.points.update(n, self.robot.reference.q)
        self.say(f"{self.points.get(n).name} updated")

    def _rename_point(self, n: int, name: str) -> None:
        self.points.rename(n, name)

    def _delete_point(self, n: int) -> None:
        self.points.delete(n)

    def _play(self) -> None:
        if not len(self.points):
            raise BrazoError("no points: teach some first")
        self.session.require_running()
        self._end_tour()
        self._tour = PointRun(
            self.robot,
            list(self.points),
            self.context.mover,
            lambda text: self.context.post(lambda: self.say(text, "error")),
        )
        self.sim.add_task(self._tour)

    def unsaved(self) -> list[Work]:
        if self._opened != self.session.cells:  # the points are of a cell no longer open
            return []
        found = []
        for robot, points in self._points.items():
            if len(points):
                some = "1 taught point" if len(points) == 1 else f"{len(points)} taught points"
                text = as_program(robot, points, self.sim.cell.name)
                found.append(Work(f"{robot}: {some}", {f"{robot}-points.yaml": text}, robot))
        return found

    def _end_tour(self) -> None:
        if self._tour is not None:
            self._tour.pause()
            self._tour = None
