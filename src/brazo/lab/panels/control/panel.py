"""Control panel: controller and gains of each robot, tracking errors and step response.

An edited gain is written into the running controller and takes effect at the next control step.  A
new controller, or one with changed options, is compiled in the background and then starts from the
current state.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from brazo.control import Controller, TorqueFunctions, controllers
from brazo.errors import BrazoError
from brazo.lab.app.context import PanelContext
from brazo.lab.app.panel import Panel, Values
from brazo.lab.app.quantities import read_quantity
from brazo.lab.app.session import with_new_names
from brazo.lab.app.unsaved import Work
from brazo.lab.panels.common.controller_names import title_of
from brazo.lab.panels.common.feeds import Feed, Figure, PlotLine
from brazo.lab.panels.common.html import (
    fixed,
    note,
)
from brazo.lab.panels.control.controller_choice import as_program, changed
from brazo.lab.panels.control.layout import (
    FORCE,
    SHOWN,
    WHAT,
    WINDOWS,
    WITHOUT_MASSES,
    gain_rows,
    layout,
    options_of,
)
from brazo.lab.panels.control.step_response import BAND, USUAL, Response, StepTest
from brazo.lab.server.channel import Typed
from brazo.operate.playing import require_free
from brazo.program.controller_file import controllers_in, controllers_yaml
from brazo.project.folder import CONTROLLERS, Project
from brazo.project.history import Edit
from brazo.simulation.motion import Rest
from brazo.simulation.robot_control import IDEAL

if TYPE_CHECKING:
    from brazo.robot import Robot
    from brazo.simulation import Simulation
    from brazo.simulation.robot import SimRobot


class ControlPanel(Panel):
    """Panel with controller, gains, tracking errors and step response of the selected robot."""

    id, title, icon, side, order = "control", "Control", "control", "left", 40
    scripts = ("panels/common/plot.js",)

    def __init__(self, context: PanelContext) -> None:
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
        self._opened = 0  # value of `session.cells` for which `_chosen` is valid
        self._tuned: dict[str, Controller] = {}  # by robot: controller whose gains were edited
        self._chosen: dict[str, Controller | str] = {}  # by robot: chosen here; a project keeps it
        self._torques: dict[str, list[str]] = {}  # expressions by robot
        self._sim: Simulation | None = None
        self._robots: list[SimRobot] = []  # of `_sim`, when the cell was last edited
        context.session.on_rename(self._robots_renamed)
        self.on("robot", context.session.select, str)
        self.on("controller", self._choose_controller, str)
        self.on("option", self._choose_option, str, str)
        self.on("defaults", self._defaults)
        self.on("scale", self._scale, float)
        self.on("joint", self._choose_joint, str)
        self.on_setting("what", "_what", WHAT, then=self._draw_lines)
        self.on_setting("compare", "_compare", then=self._draw_lines)
        self.on_setting("window", "_window", WINDOWS)
        self.on("step/size", self._set_size, Typed)
        self.on("step/start", self._step)
        self.on("torque", self._set_torque, int, str)
        self.on("torque-apply", self._apply_torques)
        self.on("torque-zero", lambda: self._use(self.session.robot, TorqueFunctions()))

    # ---- display ---------------------------------------------------------------------------------

    def simulation_changed(self) -> None:
        if self._opened != self.session.cells:
            self._opened = self.session.cells
            self._chosen.clear()
        self._return_controllers()
        self._response = None
        self._live.collect()
        self._renew()

    def _return_controllers(self) -> None:
        """Restore the controllers of robots that undo has put back into the cell."""
        sim = self.sim
        for name, robot in sim.robots.items() if sim is self._sim else ():
            if name in self._chosen and not any(one is robot for one in self._robots):
                try:
                    with sim.lock:
                        _return_controller(robot, self._chosen[name])
                except BrazoError:  # another robot of this name
                    del self._chosen[name]
        self._sim, self._robots = sim, list(sim.robots.values())

    def _robots_renamed(self, renamed: Mapping[str, str]) -> None:
        self._chosen = with_new_names(self._chosen, renamed)
        self._torques = with_new_names(self._torques, renamed)
        self._tuned = with_new_names(self._tuned, renamed)

    def selection_changed(self) -> None:
        joint = self.session.selection.joint
        if joint is not None and joint != self._joint:
            self._joint = joint
            self._response = None
        self._renew()

    def _renew(self) -> None:
        """Rebuild the HTML and the plots for the selected robot and its controller."""
        if self.sim.robots:
            robot = self.session.robot
            if self._joint >= robot.n:
                self._joint = 0
            if self._response is not None and self._response.robot != robot.name:
                self._response = None
            controller = robot.controller
            self._shown = (robot.name, robot.arm, controller, robot.controller_name)
            for gain in controller.gains if controller is not None else ():
                self.on_number(f"gain/{gain}", self._gain_setter(gain), int)
        self.refresh()
        if self.sim.robots:
            self._draw_lines()
            self._draw_response()

    def html(self) -> str:
        if not self.sim.robots:
            return note("There is no robot in this cell.")
        return layout(self.session.robot, list(self.sim.robots), self._joint)

    def values(self) -> Values:
        if not self.sim.robots:
            return {}
        robot = self.session.robot
        controller = robot.controller
        if self._shown != (robot.name, robot.arm, controller, robot.controller_name):
            self._renew()  # a program or a script set another controller
        self._live.collect()
        found: Values = {
            "robot": robot.name,
            "controller": robot.controller_name,
            "joint": str(self._joint),
            "what": self._what,
            "compare": self._compare,
            "window": self._window,
            "errors": self._errors(robot),
            "step/size": self._size * self._scale_of(robot.arm),
        }
        if robot.arm.has_dynamics:
            found |= self._torque_values(robot)
        for option in options_of(controller):
            found[f"option/{option.name}"] = option.shown(getattr(controller, option.name))
        if controller is not None:
            found |= gain_rows(controller)
        return found | self._feed.values() | self._numbers(robot.arm)

    def _errors(self, robot: SimRobot) -> list[dict[str, Any]]:
        live, arm = self._live, robot.arm
        names = [f"{robot.name}.error.{joint}" for joint in arm.joint_names]
        if live.end == live.first or names[0] not in live.columns:
            return []
        e = live.window(float(self._window), names)
        rms, most, now = np.sqrt((e * e).mean(axis=0)), np.abs(e).max(axis=0), e[-1]
        controller = robot.controller
        saturated = controller.saturated if controller is not None else np.zeros(arm.n, bool)
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
        lines = [PlotLine(f"{name}.{self._what}.{joint}", joint, color=0)]
        if self._compare and self._what in ("q", "qd"):
            lines.append(PlotLine(f"{name}.{self._what}_ref.{joint}", "reference", True, 1))
        self._feed.lines = lines

    # ---- controllers and gains -------------------------------------------------------------------

    def _choose_controller(self, name: str) -> None:
        robot = self.session.robot
        if name == robot.controller_name:
            return
        if name == IDEAL:
            self._activate(robot, IDEAL)
        elif name in controllers():
            self._use(robot, controllers()[name]())
        else:
            raise BrazoError(f"no controller named '{name}': choose one from the list")

    def _choose_option(self, name: str, value: str) -> None:
        robot = self.session.robot
        controller = robot.controller
        option = next((one for one in options_of(controller) if one.name == name), None)
        if option is not None and controller is not None:
            new = changed(controller, **{name: option.read(value)})
            if self._tuned.get(robot.name) is controller:
                self._tuned[robot.name] = new  # has the same edited gains
            self._use(robot, new)

    def _defaults(self) -> None:
        controller = self._controller()
        options = {one.name: getattr(controller, one.name) for one in options_of(controller)}
        self._use(self.session.robot, type(controller)(**options))

    def _use(self, robot: SimRobot, controller: Controller) -> None:
        """Compile a controller in the background, then activate it.

        The controller is not activated if another one was chosen meanwhile.
        """
        if not robot.arm.has_dynamics:
            raise BrazoError(WITHOUT_MASSES)
        sim, arm = self.sim, robot.arm
        self._binding += 1
        number = self._binding

        def done(_: Any) -> None:
            if number == self._binding and self.sim is sim and robot.arm is arm:
                self._activate(robot, controller)
            # Remove the finished job from the list; the panel shows its result.
            self.context.post(lambda: self.context.jobs.cancel(job.number))

        job = self.context.jobs.start(
            f"Compile {controller.name} for {robot.name}",
            lambda _: controller.bind(arm, sim.dt),
            done,
        )

    def _activate(self, robot: SimRobot, controller: Controller | str) -> None:
        """Set a compiled controller, or `"ideal"`, on a robot, as an edit that can be undone."""
        name = robot.name
        shown = controller if isinstance(controller, str) else controller.name

        def state() -> Controller | str:
            now = self.sim.robots[name]
            return IDEAL if now.controller is None else now.controller

        def restore(value: Controller | str) -> None:
            now = self.sim.robots[name]
            with self.sim.lock:
                if isinstance(now.controller, TorqueFunctions):
                    now.motion = Rest(now.q)  # the robot has left its reference
                now.controller = value
            self._chosen[name] = value
            self._renew()

        label = f"controller {title_of(shown)} of {name}"
        self.context.history.record(label, lambda: restore(controller), state, restore)

    # ---- torque functions ------------------------------------------------------------------------

    def _torque_values(self, robot: SimRobot) -> Values:
        controller = robot.controller
        active = isinstance(controller, TorqueFunctions)
        free = active and not controller.torques
        state = "Zero torque: the robot moves freely." if free else "Torque functions are active."
        rows = [
            {"id": i, "number": i + 1, "name": joint, "torque": text, "unit": FORCE[kind]}
            for i, (joint, kind, text) in enumerate(
                zip(
                    robot.arm.joint_names,
                    robot.arm.joint_kinds,
                    self._torques_of(robot),
                    strict=True,
                )
            )
        ]
        return {"torques": rows, "torque-active": state if active else ""}

    def _torques_of(self, robot: SimRobot) -> list[str]:
        """Torque expressions of a robot, one per joint.

        They are the expressions entered in this panel, else the active ones, else "0".
        """
        controller = robot.controller
        kept = self._torques.get(robot.name, [])
        if len(kept) != robot.n and isinstance(controller, TorqueFunctions):
            kept = [one.strip() for one in controller.torques.split(";")]
        return kept if len(kept) == robot.n else ["0"] * robot.n

    def _set_torque(self, joint: int, text: str) -> None:
        """Change the torque expression of a joint.

        If torque functions are active, the change takes effect immediately.
        """
        robot = self.session.robot
        if not 0 <= joint < robot.n:
            return
        name, torques = robot.name, list(self._torques_of(robot))
        torques[joint] = text.strip().replace(";", "") or "0"
        new = TorqueFunctions("; ".join(torques))
        new.bind(robot.arm, self.sim.dt)  # raises for an invalid expression
        active = isinstance(robot.controller, TorqueFunctions)

        def take(value: list[str]) -> None:
            self._torques[name] = value

        before = self._torques_of(robot)

        def apply() -> None:
            take(torques)
            if active:
                self._activate(robot, new)

        def revert() -> None:
            take(before)
            if active:
                self._activate(robot, TorqueFunctions("; ".join(before)))

        self.context.history.do(Edit(f"torque of joint {joint + 1} of {name}", apply, revert))

    def _apply_torques(self) -> None:
        robot = self.session.robot
        self._use(robot, TorqueFunctions("; ".join(self._torques_of(robot))))

    def _edit_gains(self, label: str, key: str, change: Callable[[Controller], None]) -> None:
        """Call `change(controller)` with the active controller, as an edit that can be undone.

        The controller is that of the selected robot.  Consecutive edits with the same non-empty
        `key` are undone together.
        """
        controller, robot = self._controller(), self.session.robot.name

        def state() -> dict[str, list[float]]:
            return {name: controller.gains[name].tolist() for name in controller.gains}

        def restore(gains: dict[str, list[float]]) -> None:
            with self.sim.lock:
                for name, values in gains.items():
                    controller.gains[name] = values
            self._chosen[robot] = self._tuned[robot] = controller

        def make() -> None:
            with self.sim.lock:
                change(controller)
            self._chosen[robot] = self._tuned[robot] = controller

        self.context.history.record(f"{label} of {robot}", make, state, restore, key)

    def kept(self) -> Mapping[str, str]:
        return {CONTROLLERS: controllers_yaml(controllers_in(self.sim.cell, self._chosen))}

    def restore(self, project: Project) -> None:
        kept = project.controllers()
        for name, robot in self.sim.robots.items():
            if name in kept:
                self._chosen[name] = IDEAL if robot.controller is None else robot.controller

    def _controller(self) -> Controller:
        controller = self.session.robot.controller
        if controller is None:
            raise BrazoError(
                f"{self.session.robot.name} has no controller with gains: choose one first"
            )
        return controller

    def _gain_setter(self, gain: str):
        def set_gain(entry: int, value: float) -> None:
            def change(controller: Controller) -> None:
                controller.gains[gain, entry] = value

            if gain in self._controller().gains:
                self._edit_gains(f"gain {gain}", f"gain/{gain}/{entry}", change)

        return set_gain

    def _scale(self, factor: float) -> None:
        def change(controller: Controller) -> None:
            for gain in controller.gains:
                controller.gains[gain] = factor * controller.gains[gain]

        if 0.1 <= factor <= 10.0:
            self._edit_gains(f"gains × {factor:g}", "", change)

    def unsaved(self) -> list[Work]:
        if self.session.replay is not None:  # a recording has no controllers
            return []
        robots = self.sim.robots
        found = []
        for name, controller in self._tuned.items():
            if name in robots and robots[name].controller is controller:
                title = f"{name}: gains ({title_of(controller.name)})"
                text = as_program(name, controller, self.sim.cell.name)
                found.append(Work(title, {f"{name}-gains.yaml": text}, name))
        return found

    # ---- plot settings ---------------------------------------------------------------------------

    def _choose_joint(self, which: str) -> None:
        robot = self.session.robot
        if which.isdecimal() and int(which) < robot.n:
            self.session.select(robot.name, int(which))

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
            sim.tasks.add(
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
                (PlotLine("", joint, color=0), unit, scale * response.q),
                (PlotLine("", "step", True, 1), unit, np.full(len(response.t), goal)),
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


def _return_controller(robot: SimRobot, controller: Controller | str) -> None:
    """Set a controller on a robot without changing the gains of the controller.

    Setting a controller binds it to the robot, which resets its gains; they are restored here.
    """
    if isinstance(controller, str):
        robot.controller = controller
        return
    gains = {name: controller.gains[name].tolist() for name in controller.gains}
    robot.controller = controller
    for name, values in gains.items():
        controller.gains[name] = values


NUMBERS = ("overshoot", "rise", "settling", "error", "torque")


def _milliseconds(seconds: float) -> str:
    return "–" if math.isnan(seconds) else fixed(1e3 * seconds, 0)
