"""Control panel: controller and gains of each robot, tracking errors and step response.

Gains are written into the running controller and take effect at its next step.  A new controller,
or another option, is compiled in the background and starts from the current state.
"""

from __future__ import annotations

import math
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from brazo.control import Controller, controllers
from brazo.errors import BrazoError
from brazo.lab.app.context import Context
from brazo.lab.app.panel import Panel, Values
from brazo.lab.app.quantities import read_quantity
from brazo.lab.app.unsaved import Work
from brazo.lab.panels.common.feeds import Feed, Figure, Line, plot
from brazo.lab.panels.common.html import (
    button,
    buttons,
    column,
    escape,
    fixed,
    note,
    number,
    row,
    section,
    segments,
    select,
    table,
    text,
    toggle,
)
from brazo.lab.panels.control.controller_choice import OPTIONS, Option, as_program, changed, titles
from brazo.lab.panels.control.step_response import BAND, USUAL, Response, StepTest
from brazo.lab.server.channel import Typed
from brazo.operate.playing import require_free
from brazo.simulation.robot import IDEAL

if TYPE_CHECKING:
    from brazo.control import Parameter
    from brazo.robot import Robot
    from brazo.simulation.robot import SimRobot

WINDOWS = {"1": "1 s", "5": "5 s", "20": "20 s", "60": "60 s"}
SHOWN = {"revolute": ("deg", 180.0 / math.pi), "prismatic": ("mm", 1e3)}
FORCE = {"revolute": "N m", "prismatic": "N"}


class ControlPanel(Panel):
    """Controller and gains of the selected robot."""

    id, title, icon, side, order = "control", "Control", "control", "left", 40
    scripts = ("panels/common/plot.js",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._live = context.live
        self._feed = Feed(self, "plot")
        self._figure = Figure(self, "step/plot")
        self._window = "5"
        self._compare = True
        self._what = "q"
        self._joint = 0
        self._sizes = dict(USUAL)
        self._response: Response | None = None
        self._shown: tuple[Any, ...] = ()  # robot, arm and controller of the page's fields
        self._binding = 0
        self._tuned: dict[str, Controller] = {}  # by robot: controller whose gains were edited
        self.on("robot", context.session.select, str)
        self.on("law", self._choose_law, str)
        self.on("option", self._choose_option, str, str)
        self.on("defaults", self._defaults)
        self.on("scale", self._scale, float)
        self.on("joint", self._choose_joint, str)
        self.on("what", self._choose_what, str)
        self.on("compare", self._set_compare, bool)
        self.on("window", self._set_window, str)
        self.on("step/size", self._set_size, Typed)
        self.on("step/start", self._step)

    # ---- display ---------------------------------------------------------------------------------

    def simulation_changed(self) -> None:
        self._response = None
        self._live.collect()
        self._renew()

    def selection_changed(self) -> None:
        joint = self.session.selection.joint
        if joint is not None and joint != self._joint:
            self._joint = joint
            self._response = None
        self._renew()

    def _renew(self) -> None:
        """Rebuild fields and plots for the selected robot and its controller."""
        if self.sim.robots:
            robot = self.session.robot
            if self._joint >= robot.n:
                self._joint = 0
            if self._response is not None and self._response.robot != robot.name:
                self._response = None
            law = robot.controller
            self._shown = (robot.name, robot.arm, law, robot.controller_name)
            for gain in law.gains if law is not None else ():
                self.on_number(f"gain/{gain}", self._gain_setter(gain), int)
        self.refresh()
        if self.sim.robots:
            self._draw_lines()
            self._draw_response()

    def html(self) -> str:
        if not self.sim.robots:
            return note("There is no robot in this cell.")
        robot = self.session.robot
        several = list(self.sim.robots)
        names = robot.arm.joint_names
        return (
            section(
                "Controller",
                row("Robot", select("robot", several, label="Robot")) if len(several) > 1 else "",
                row(
                    "Controller", select("law", titles(robot.arm.has_dynamics), label="Controller")
                ),
                *(self._option_html(one) for one in _options(robot.controller)),
                "" if robot.arm.has_dynamics else note(WITHOUT_MASSES),
                id="law",
            )
            + (self._gains_html(robot.controller) if robot.controller is not None else "")
            + section(
                "Tracking",
                row("Joint", select("joint", _numbered(names), label="Joint")),
                segments("what", WHAT, label="Show"),
                # Above the plot, because the height of the legend depends on this switch.
                toggle("compare", "Compare with the reference"),
                plot("plot", "Tracking", height=150, empty="Simulation paused."),
                toggle(
                    "/view/desired",
                    "Reference robot (ghost)",
                    event="/view/show",
                    args=["desired"],
                ),
                row("Errors over", segments("window", WINDOWS, label="Errors over")),
                table(
                    "errors",
                    [
                        column("name", "Joint"),
                        column("rms", "RMS", digits=4),
                        column("max", "Max", digits=4),
                        column("now", "Current", digits=4),
                        column("unit", ""),
                    ],
                    label="Tracking errors",
                ),
                id="tracking",
            )
            + self._step_html(robot)
        )

    def _option_html(self, option: Option) -> str:
        name = f"option/{option.name}"
        return row(
            option.title,
            select(name, option.values, label=option.title, event="option", args=[option.name]),
        )

    def _gains_html(self, law: Controller) -> str:
        parts = []
        for labels, group in groupby(law.parameters(), key=lambda one: one.labels):
            some = list(group)
            # At most three gains per table, to fit the width of the panel.
            for k in range(0, len(some), 3):
                columns = [column("name", "Joint" if labels == _joints(law) else "Axis")]
                columns += [
                    column(one.name, one.name.replace("_", " "), digits=2, event=f"gain/{one.name}")
                    for one in some[k : k + 3]
                ]
                parts.append(table(f"gains/{some[k].name}", columns, label=f"Gains {some[k].name}"))
        return section(
            "Gains",
            *parts,
            buttons(
                button("Halve", "scale", 0.5, title="Halves all gains"),
                button("Double", "scale", 2.0, title="Doubles all gains"),
                button("Defaults", "defaults", title="Default gains for this robot"),
            ),
            "".join(_meaning(one) for one in law.parameters()),
            id="gains",
        )

    def _step_html(self, robot: SimRobot) -> str:
        unit = SHOWN[robot.arm.joint_kinds[self._joint]][0]
        force = FORCE[robot.arm.joint_kinds[self._joint]]
        return section(
            "Step response",
            row("Step amplitude", number("step/size", unit, label="Step amplitude", digits=2)),
            buttons(button("Step", "step/start", look="primary", icon="step")),
            plot("step/plot", "Step response", height=150, empty="No step response yet."),
            '<div class="brazo-figures">',
            row("Overshoot", text("step/overshoot", "%")),
            row("Rise time (10–90 %)", text("step/rise", "ms")),
            row("Settling time", text("step/settling", "ms"), title=f"Within {100 * BAND:g} %"),
            row("Steady-state error", text("step/error", unit)),
            row("Max torque", text("step/torque", force)),
            "</div>",
            id="step",
        )

    def values(self) -> Values:
        if not self.sim.robots:
            return {}
        robot = self.session.robot
        law = robot.controller
        if self._shown != (robot.name, robot.arm, law, robot.controller_name):
            self._renew()  # a program or a script set another controller
        self._live.collect()
        found: Values = {
            "robot": robot.name,
            "law": robot.controller_name,
            "joint": str(self._joint),
            "what": self._what,
            "compare": self._compare,
            "window": self._window,
            "errors": self._errors(robot),
            "step/size": self._size * self._scale_of(robot.arm),
        }
        for option in _options(law):
            found[f"option/{option.name}"] = option.shown(getattr(law, option.name))
        if law is not None:
            found |= _gain_rows(law)
        return found | self._feed.values() | self._numbers(robot.arm)

    def _errors(self, robot: SimRobot) -> list[dict[str, Any]]:
        live, arm = self._live, robot.arm
        names = [f"{robot.name}.error.{joint}" for joint in arm.joint_names]
        if live.end == live.first or names[0] not in live.columns:
            return []
        e = live.window(float(self._window), names)
        rms, most, now = np.sqrt((e * e).mean(axis=0)), np.abs(e).max(axis=0), e[-1]
        law = robot.controller
        saturated = law.saturated if law is not None else np.zeros(arm.n, bool)
        found = []
        for i, (joint, kind) in enumerate(zip(arm.joint_names, arm.joint_kinds, strict=True)):
            unit, scale = SHOWN[kind]
            shown = {"rms": rms[i], "max": most[i], "now": now[i]}
            found.append(
                {"id": i, "name": joint, "unit": unit, "mark": bool(saturated[i])}
                | {key: fixed(scale * value, 4) for key, value in shown.items()}
            )
        return found

    def _draw_lines(self) -> None:
        robot = self.session.robot
        joint = robot.arm.joint_names[self._joint]
        name = robot.name
        lines = [Line(f"{name}.{self._what}.{joint}", joint, color=0)]
        if self._compare and self._what in ("q", "qd"):
            lines.append(Line(f"{name}.{self._what}_ref.{joint}", "reference", True, 1))
        self._feed.lines = lines

    # ---- controllers and gains -------------------------------------------------------------------

    def _choose_law(self, name: str) -> None:
        robot = self.session.robot
        if name == robot.controller_name:
            return
        if name == IDEAL:
            robot.controller = IDEAL
            self._renew()
        elif name in controllers():
            self._use(robot, controllers()[name]())
        else:
            raise BrazoError(f"no controller named '{name}'")

    def _choose_option(self, name: str, value: str) -> None:
        robot = self.session.robot
        law = robot.controller
        option = next((one for one in _options(law) if one.name == name), None)
        if option is not None and law is not None:
            new = changed(law, **{name: option.read(value)})
            if self._tuned.get(robot.name) is law:
                self._tuned[robot.name] = new  # has the same edited gains
            self._use(robot, new)

    def _defaults(self) -> None:
        law = self._law()
        options = {one.name: getattr(law, one.name) for one in _options(law)}
        self._use(self.session.robot, type(law)(**options))

    def _use(self, robot: SimRobot, law: Controller) -> None:
        """Compile a controller in the background, then activate it."""
        if not robot.arm.has_dynamics:
            raise BrazoError(WITHOUT_MASSES)
        sim, arm = self.sim, robot.arm
        self._binding += 1
        number = self._binding

        def done(_: Any) -> None:
            if number == self._binding and self.sim is sim and robot.arm is arm:
                robot.controller = law
                self._renew()
            # Remove the finished job from the list; the panel shows its result.
            self.context.post(lambda: self.context.jobs.cancel(job.number))

        job = self.context.jobs.start(
            f"Compile {law.name} for {robot.name}",
            lambda _: law.bind(arm, sim.dt),
            done,
        )

    def _law(self) -> Controller:
        law = self.session.robot.controller
        if law is None:
            raise BrazoError(f"{self.session.robot.name} has no controller with gains: choose one")
        return law

    def _gain_setter(self, gain: str):
        def set_gain(entry: int, value: float) -> None:
            law = self._law()
            if gain in law.gains:
                with self.sim.lock:
                    law.gains[gain, entry] = value
                self._tuned[self.session.robot.name] = law

        return set_gain

    def _scale(self, factor: float) -> None:
        law = self._law()
        if 0.1 <= factor <= 10.0:
            with self.sim.lock:
                for gain in law.gains:
                    law.gains[gain] = factor * law.gains[gain]
            self._tuned[self.session.robot.name] = law

    def unsaved(self) -> list[Work]:
        if self.session.replay is not None:  # a recording has no controllers
            return []
        robots = self.sim.robots
        found = []
        for name, law in self._tuned.items():
            if name in robots and robots[name].controller is law:
                title = f"{name}: gains ({titles(True).get(law.name, law.name)})"
                text = as_program(name, law, self.sim.cell.name)
                found.append(Work(title, {f"{name}-gains.yaml": text}, name))
        return found

    # ---- plot settings ---------------------------------------------------------------------------

    def _choose_joint(self, which: str) -> None:
        robot = self.session.robot
        if which.isdecimal() and int(which) < robot.n:
            self.session.select(robot.name, int(which))

    def _choose_what(self, what: str) -> None:
        if what in WHAT:
            self._what = what
            self._draw_lines()

    def _set_compare(self, on: bool) -> None:
        self._compare = on
        self._draw_lines()

    def _set_window(self, window: str) -> None:
        if window in WINDOWS:
            self._window = window

    # ---- step response ---------------------------------------------------------------------------

    @property
    def _size(self) -> float:
        return self._sizes[self.session.robot.arm.joint_kinds[self._joint]]

    def _scale_of(self, arm: Robot) -> float:
        return SHOWN[arm.joint_kinds[self._joint]][1]

    def _set_size(self, given: float | str) -> None:
        kind = self.session.robot.arm.joint_kinds[self._joint]
        self._sizes[kind] = read_quantity(given, "deg" if kind == "revolute" else "mm")

    def _step(self) -> None:
        self.session.require_running()
        sim, robot = self.sim, self.session.robot
        with sim.lock:
            require_free(sim, robot)
            sim.add_task(
                StepTest(
                    sim,
                    robot,
                    self._joint,
                    self._size,
                    lambda response: self.context.post(lambda: self._answered(response)),
                )
            )

    def _answered(self, response: Response | None) -> None:
        if response is None:
            self.say("step response aborted", "warn")
            return
        self._response = response
        self._draw_response()

    def _draw_response(self) -> None:
        response = self._response
        if response is None or response.joint != self._joint:
            self._figure.clear()
            return
        robot = self.sim.robots[response.robot]
        joint = robot.arm.joint_names[response.joint]
        unit, scale = SHOWN[robot.arm.joint_kinds[response.joint]]
        goal = float(scale * response.size)
        edge = abs(BAND * goal)
        self._figure.show(
            response.t,
            [
                (Line("", joint, color=0), unit, scale * response.q),
                (Line("", "step", True, 1), unit, np.full(len(response.t), goal)),
            ],
            [{"unit": unit, "low": goal - edge, "high": goal + edge}],
        )

    def _numbers(self, arm: Robot) -> Values:
        response = self._response
        if response is None or response.joint != self._joint:
            return dict.fromkeys((f"step/{name}" for name in NUMBERS), "–")
        return {
            "step/overshoot": fixed(100.0 * response.overshoot, 2),
            "step/rise": _milliseconds(response.rise),
            "step/settling": _milliseconds(response.settling),
            "step/error": fixed(self._scale_of(arm) * response.error, 4),
            "step/torque": fixed(response.peak_torque, 3),
        }


NUMBERS = ("overshoot", "rise", "settling", "error", "torque")
WHAT = {"q": "Position", "qd": "Velocity", "error": "Error", "torque": "Torque"}
WITHOUT_MASSES = (
    "The file of this robot gives no masses: forces cannot move it. Its joints are set to the "
    "reference."
)


def _options(law: Controller | None) -> tuple[Option, ...]:
    return OPTIONS.get(law.name, ()) if law is not None else ()


def _joints(law: Controller) -> tuple[str, ...]:
    return tuple(law.robot.joint_names)


def _numbered(names: Any) -> dict[str, str]:
    return {str(i): f"{i + 1}  {name}" for i, name in enumerate(names)}


def _meaning(one: Parameter) -> str:
    """HTML note with the meaning of a gain and the units of its entries."""
    units = ", ".join(dict.fromkeys(one.units))
    return (
        f'<p class="brazo-note"><b>{escape(one.name.replace("_", " "))}</b> '
        f"{escape(one.about)}, {escape(units)}</p>"
    )


def _gain_rows(law: Controller) -> Values:
    """Rows of the tables of gains, split into tables as in `_gains_html`."""
    found: Values = {}
    for labels, group in groupby(law.parameters(), key=lambda one: one.labels):
        some = list(group)
        for k in range(0, len(some), 3):
            found[f"gains/{some[k].name}"] = [
                {"id": i, "name": label}
                | {one.name: f"{one.values[i]:.4g}" for one in some[k : k + 3]}
                for i, label in enumerate(labels)
            ]
    return found


def _milliseconds(seconds: float) -> str:
    return "–" if math.isnan(seconds) else fixed(1e3 * seconds, 0)
