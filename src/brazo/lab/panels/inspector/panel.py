"""Inspector panel: tool pose, joints, IK solutions, Jacobian and dynamics of the selected robot.

All values belong to the same simulation step, except the IK solutions, which are computed every
`BRANCHES_EVERY` seconds.  Positions are in mm, angles in degrees, matrices in SI units.  *All
digits* shows 9 decimals.
"""

from __future__ import annotations

import json
import math
import threading
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from brazo.kinematics.orientation import oat_from_matrix, rpy_from_matrix
from brazo.lab.app.context import PanelContext
from brazo.lab.app.panel import Panel, Values
from brazo.lab.panels.common.choice import robot_choice
from brazo.lab.panels.common.html import (
    column,
    escape,
    fixed,
    note,
    row,
    section,
    segments,
    table,
    text,
    toggle,
)
from brazo.lab.panels.inspector import inspection
from brazo.lab.scene.shown import ShownRobot

if TYPE_CHECKING:
    from brazo.kinematics.kernels import JacobianFrame
    from brazo.kinematics.result import Branch
    from brazo.robot import Robot

Array = np.ndarray
ANGLES = {"oat": ("O", "A", "T"), "rpy": ("roll", "pitch", "yaw")}
FRAMES = {"base": "Base", "world": "World"}
JACOBIANS = {"base": "Base axes", "tool": "Tool axes"}
ROWS = ["vx", "vy", "vz", "ωx", "ωy", "ωz"]
BRANCHES_EVERY = 0.3  # s, period; IK solutions are the most expensive values of the panel
BRANCHES = (
    '<brazo-branches name="branches" event="branch" empty="The inverse kinematics of this arm is '
    'numeric and gives no list of solutions."></brazo-branches>'
)
SHORT, ALL = 3, 9  # decimals of mm and degrees


class InspectorPanel(Panel):
    """Panel that shows kinematics and dynamics of the selected robot."""

    id, title, icon, side, order = "inspector", "Inspector", "search", "right", 30
    used_for = ("cell", "replay")
    rate = 10.0
    scripts = ("panels/inspector/inspector.js",)

    def __init__(self, context: PanelContext) -> None:
        super().__init__(context)
        self.angles, self.frame, self.precise = "oat", "base", False
        self.jacobian_in: JacobianFrame = "base"
        self._branches: tuple[Branch, ...] = ()
        self._branches_due = 0.0
        self._branch_pose: Array | None = None  # tool pose, during a move to an IK solution
        self._compiled: Robot | None = None  # arm whose functions are compiled
        self._compiling = False
        self.on("robot", context.session.select, str)
        self.on("angles", lambda which: self._set("angles", which, ANGLES), str)
        self.on("frame", lambda which: self._set("frame", which, FRAMES), str)
        self.on("jacobian-in", lambda which: self._set("jacobian_in", which, JACOBIANS), str)
        self.on_setting("precise", "precise")
        self.on("branch", self._take_branch, str)
        self.on("branch-hover", self._show_branch, str, still=True, passive=True)
        self.on("branch-hover-end", context.scene.target.hide, still=True, passive=True)

    def simulation_changed(self) -> None:
        self._forget()

    def selection_changed(self) -> None:
        self._forget()

    def stopped(self) -> None:
        self._branch_pose = None

    def reset(self) -> None:
        self._branch_pose = None

    # ---- display ---------------------------------------------------------------------------

    def html(self) -> str:
        robots = list(self.session.shown.robots)
        if not robots:
            return note("There is no robot in this cell.")
        arm = self.session.shown_robot.arm
        return "".join(
            [
                robot_choice(robots),
                section("Tool", self._tool_html()),
                section("Joints", *(self._bar(arm, i) for i in range(arm.n))),
                section("IK solutions", BRANCHES, id="branches"),
                # Below the solutions: its warning, which comes and goes, must not move them.
                section("Dexterity", self._dexterity_html()),
                self._table_html(arm),
                section("Transforms", self._transforms_html(arm), open=False),
                section("Jacobian", self._jacobian_html(arm), open=False),
                section("Dynamics", self._dynamics_html(arm), open=False),
            ]
        )

    def _tool_html(self) -> str:
        cells = []
        for i, (axis, angle) in enumerate(zip("XYZ", ANGLES[self.angles], strict=True)):
            cells += [_figure(f"tool/{i}", axis, "mm"), _figure(f"tool/{i + 3}", angle, "°")]
        return (
            '<div class="inspector-line">'
            + segments("frame", FRAMES, label="Tool pose")
            + segments("angles", {"oat": "O-A-T", "rpy": "RPY"}, label="Angles")
            + f'</div><div class="inspector-pose">{"".join(cells)}</div>'
            + row("Configuration", text("configuration", wide=True))
            + toggle("precise", "All digits", title="Shows 9 decimals")
        )

    def _bar(self, arm: Robot, i: int) -> str:
        scale, unit = _shown(arm, i)
        low, high = (scale * arm.limits[i]).tolist()
        ends = f'min="{low!r}" max="{high!r}"' if np.isfinite([low, high]).all() else ""
        name = escape(arm.joint_names[i])
        return f'<brazo-joint name="q/{i}" label="{name}" unit="{unit}" {ends}></brazo-joint>'

    def _dexterity_html(self) -> str:
        figures = {
            "w": ("Manipulability", "Yoshikawa: the product of the singular values σ"),
            "condition": ("Condition number, σ₁ / σₘ", "1 is best, ∞ at a singularity"),
            "smallest": ("Smallest singular value, σₘ", "Tool speed in the worst direction"),
        }
        return (
            '<div class="inspector-figures">'
            + "".join(
                f'<span class="name" title="{escape(about)}">{escape(name)}</span>'
                + text(f"dexterity/{key}", label=name)
                for key, (name, about) in figures.items()
            )
            + '</div><brazo-warning name="dexterity/warning"></brazo-warning>'
            + '<p class="brazo-note"><brazo-text name="dexterity/about"></brazo-text></p>'
        )

    def _table_html(self, arm: Robot) -> str:
        model = arm.model
        if model.lengths:
            columns = [
                column("name", ""),
                column("length", "Length", unit="mm", digits=2),
                column("about", "Part"),
            ]
            return section("Lengths", table("lengths", columns, label="Lengths"), open=False)
        if not model.dh:
            return section("D-H table", note("The robot file has no D-H table."), open=False)
        titles = {"theta": ("θ", "°"), "d": ("d", "mm"), "a": ("a", "mm"), "alpha": ("α", "°")}
        columns = [column("name", "Joint")] + [
            column(key, title, unit=unit, digits=0) for key, (title, unit) in titles.items()
        ]
        return section(
            "D-H table",
            table("dh", columns, label="D-H table"),
            note(f"{model.require_tree().convention} convention"),
            open=False,
        )

    def _transforms_html(self, arm: Robot) -> str:
        names = [*arm.body_names, "tool"]
        matrices = [
            f'<brazo-matrix name="frame/{i}" title="{escape(name)}"></brazo-matrix>'
            for i, name in enumerate(names)
        ]
        return row("Frames", segments("frame", FRAMES, label="Frames")) + "".join(matrices)

    def _jacobian_html(self, arm: Robot) -> str:
        columns = escape(_json([f"q̇{i + 1}" for i in range(arm.n)]))
        return (
            row("Tool Jacobian", segments("jacobian-in", JACOBIANS, label="Jacobian"))
            + f'<brazo-matrix name="jacobian" rows="{escape(_json(ROWS))}" columns="{columns}">'
            "</brazo-matrix>" + note("Tool velocity (m/s, rad/s) per unit joint velocity")
        )

    def _dynamics_html(self, arm: Robot) -> str:
        if not arm.has_dynamics:
            return note("No dynamics: the robot file gives no masses.")
        columns = [
            column("name", "Joint"),
            column("G", "G", digits=3),
            column("C", "C q̇", digits=3),
            column("tau", "τ", digits=3),
            column("unit", ""),
        ]
        return (
            '<brazo-matrix name="M" title="M(q)"></brazo-matrix>'
            '<brazo-matrix name="C" title="C(q, q̇)"></brazo-matrix>'
            + table("forces", columns, label="Torques")
            + note("G: gravity torques, C q̇: Coriolis and centrifugal torques, τ: drive torques.")
        )

    def values(self) -> Values:
        if not self.session.shown.robots:
            return {}
        robot = self.session.shown_robot
        arm = robot.arm
        with self.session.shown.lock:
            q, qd, tau, base = robot.q, robot.qd, robot.torque, robot.base
        found: Values = {
            "robot": robot.name,
            "angles": self.angles,
            "frame": self.frame,
            "jacobian-in": self.jacobian_in,
            "precise": self.precise,
            **{f"q/{i}": self._joint_value(arm, i, q[i]) for i in range(arm.n)},
        }
        if not self._ready(arm, q):
            return found
        T = np.array(arm.fk(q))
        found["configuration"] = arm.configuration(q).replace(" ", " · ") or "–"
        found |= self._tool_values(base @ T if self.frame == "world" else T)
        found |= self._branch_values(robot, q)
        return found | self._matrices(arm, q, qd, tau, base, T)

    def _matrices(
        self, arm: Robot, q: Array, qd: Array, tau: Array, base: Array, T: Array
    ) -> Values:
        measures = inspection.dexterity(arm, q)
        frames = np.array([*arm.frames(q), T])
        if self.frame == "world":
            frames = base @ frames
        found: Values = {
            "dexterity/w": _significant(measures.manipulability),
            "dexterity/condition": _significant(measures.condition),
            "dexterity/smallest": _significant(measures.smallest),
            "dexterity/warning": measures.warning,
            "dexterity/about": f"Characteristic length {measures.length:.3f} m for rotation.",
            "dh": list(inspection.dh_table(arm.model)),
            "jacobian": self._rounded(arm.jacobian(q, frame=self.jacobian_in), 4),
        }
        found |= {f"frame/{i}": self._rounded(F, 4) for i, F in enumerate(frames)}
        if arm.model.lengths:
            found["lengths"] = inspection.length_table(arm.model)
        if arm.has_dynamics:
            C = arm.coriolis(q, qd)
            found |= {"M": self._rounded(arm.mass_matrix(q), 4), "C": self._rounded(C, 4)}
            rows = zip(arm.joint_names, arm.gravity(q), C @ qd, tau, strict=True)
            found["forces"] = [
                {
                    "id": i,
                    "name": name,
                    "G": round(float(g), 6),
                    "C": round(float(c), 6),
                    "tau": round(float(t), 6),
                    "unit": "N m" if arm.joint_kinds[i] == "revolute" else "N",
                }
                for i, (name, g, c, t) in enumerate(rows)
            ]
        return found

    def _tool_values(self, T: Array) -> Values:
        digits = ALL if self.precise else SHORT
        angles = (oat_from_matrix if self.angles == "oat" else rpy_from_matrix)(T[:3, :3])
        numbers = [*(1000.0 * T[:3, 3]), *np.degrees(angles)]
        return {f"tool/{i}": fixed(float(x), digits) for i, x in enumerate(numbers)}

    def _joint_value(self, arm: Robot, i: int, q: float) -> list[Any]:
        """Return the position of joint i in degrees or mm, as a number and as text."""
        value = float(q) * _shown(arm, i)[0]
        return [round(value, 4), fixed(value, ALL if self.precise else 2)]

    def _rounded(self, matrix: Any, digits: int) -> list[list[str]]:
        digits = ALL if self.precise else digits
        return [[fixed(float(x), digits) for x in line] for line in np.atleast_2d(matrix)]

    # ---- IK solutions ----------------------------------------------------------------------

    def _branch_values(self, robot: ShownRobot, q: Array) -> Values:
        now = time.monotonic()
        arm = robot.arm
        if self._branch_pose is not None and not robot.moving:
            self._branch_pose = None
        if now >= self._branches_due:
            self._branches_due = now + BRANCHES_EVERY
            T = np.array(arm.fk(q)) if self._branch_pose is None else self._branch_pose
            self._branches = inspection.branches(arm, T, q)
        present = inspection.present(arm, q, self._branches)
        rows = [
            {
                "name": one.name,
                "words": one.name.replace(" ", " · "),
                "q": [_joint_words(arm, i, x) for i, x in enumerate(one.q)],
                "beyond": inspection.beyond(arm, one),
                "now": one.name == present and self._branch_pose is None,
            }
            for one in self._branches
        ]
        return {"branches": rows}

    def _take_branch(self, name: str) -> None:
        robot = self.session.robot
        if self._branch_pose is None or not robot.moving:
            self._branch_pose = np.array(robot.arm.fk(robot.reference.q))
        found = inspection.branches(robot.arm, self._branch_pose, robot.reference.q)
        chosen = next((one for one in found if one.name == name), None)
        if chosen is not None:
            self.context.mover.go_to(robot, chosen.q)  # raises if q is out of limits

    def _show_branch(self, name: str) -> None:
        """Draw a transparent copy of the robot at the IK solution with this name."""
        chosen = next((one for one in self._branches if one.name == name), None)
        if chosen is not None:
            robot = self.session.shown_robot
            self.context.scene.target.show(robot.arm, robot.base, chosen.q)

    # ---- internal --------------------------------------------------------------------------

    def _set(self, what: str, which: str, known: dict[str, Any]) -> None:
        if which in known:
            setattr(self, what, which)
            if what == "angles":
                self.refresh()

    def _forget(self) -> None:
        self._branches, self._branches_due, self._branch_pose = (), 0.0, None
        self.refresh()

    def _ready(self, arm: Robot, q: Array) -> bool:
        """Return whether all functions of the arm that the panel uses are compiled.

        If not, compile them on a background thread, for one arm at a time.
        """
        if self._compiled is not arm and not self._compiling:
            self._compiling = True

            def compile_all() -> None:
                try:
                    compile_for(arm, q)
                finally:
                    self.context.post(lambda: self._now_ready(arm))

            threading.Thread(target=compile_all, name="brazo inspector", daemon=True).start()
        return self._compiled is arm

    def _now_ready(self, arm: Robot) -> None:
        self._compiled, self._compiling = arm, False


def compile_for(arm: Robot, q: Array) -> None:
    """Compile every function of the arm that the panel uses, by calling it once at q (n,)."""
    inspection.branches(arm, np.array(arm.fk(q)), q)
    arm.configuration(q)
    arm.frames(q)
    arm.jacobian(q, frame="tool")
    inspection.dexterity(arm, q)
    if arm.has_dynamics:
        arm.mass_matrix(q)
        arm.coriolis(q, q)
        arm.gravity(q)


def _figure(name: str, label: str, unit: str) -> str:
    return (
        f'<span class="name">{escape(label)}</span>{text(name, label=label)}'
        f'<span class="unit">{escape(unit)}</span>'
    )


def _shown(arm: Robot, i: int) -> tuple[float, str]:
    """Display unit of joint i ("°" or "mm") with its factor from SI, as (factor, unit)."""
    return (180.0 / math.pi, "°") if arm.joint_kinds[i] == "revolute" else (1000.0, "mm")


def _joint_words(arm: Robot, i: int, q: float) -> str:
    scale, unit = _shown(arm, i)
    return fixed(scale * float(q), 1) + (unit if unit == "°" else f" {unit}")


def _significant(value: float) -> str:
    """Format a value with four significant digits."""
    if math.isinf(value):
        return "∞"
    return f"{value:.4g}".replace("-", "−")


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
