"""Layout of the control panel: controller, gains, tracking errors and step response."""

from __future__ import annotations

import math
from itertools import groupby
from typing import TYPE_CHECKING, Any

from brazo.control import Controller
from brazo.lab.app.panel import Values
from brazo.lab.panels.common.controller_names import title_of, titles
from brazo.lab.panels.common.feeds import plot
from brazo.lab.panels.common.html import (
    button,
    buttons,
    caution,
    column,
    escape,
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
from brazo.lab.panels.control.controller_choice import OPTIONS, Option
from brazo.lab.panels.control.step_response import BAND

if TYPE_CHECKING:
    from brazo.control import Parameter
    from brazo.simulation.robot import SimRobot

WINDOWS = {"1": "1 s", "5": "5 s", "20": "20 s", "60": "60 s"}
SHOWN = {"revolute": ("deg", 180.0 / math.pi), "prismatic": ("mm", 1e3)}
FORCE = {"revolute": "N m", "prismatic": "N"}
WHAT = {"q": "Position", "qd": "Velocity", "error": "Error", "torque": "Torque"}
WITHOUT_MASSES = (
    "The robot file gives no masses: forces cannot move the robot. Its joints follow the reference "
    "exactly."
)


def layout(robot: SimRobot, several: list[str], joint: int) -> str:
    """HTML of the panel for one robot.

    `several` are the names of all robots of the cell.  `joint` is the index of the plotted joint.
    """
    names = robot.arm.joint_names
    return (
        section(
            "Controller",
            row("Robot", select("robot", several, label="Robot")) if len(several) > 1 else "",
            row(
                "Controller",
                select("controller", _titles(robot), label="Controller"),
            ),
            *(_option(one) for one in options_of(robot.controller)),
            "" if robot.arm.has_dynamics else note(WITHOUT_MASSES),
            id="controller",
        )
        + (_gains(robot.controller) if robot.controller and robot.controller.GAINS else "")
        + (_torques() if robot.arm.has_dynamics else "")
        + section(
            "Tracking",
            row("Joint", select("joint", numbered(names), label="Joint")),
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
        + _step_response(robot, joint)
    )


def _titles(robot: SimRobot) -> dict[str, str]:
    """Labels of the selectable controllers and of the active controller, by controller name."""
    found = titles(robot.arm.has_dynamics)
    return found | {robot.controller_name: title_of(robot.controller_name)}


def _torques() -> str:
    return section(
        "Torque functions",
        caution("torque-active"),
        table(
            "torques",
            [
                column("number", "", digits=0),
                column("name", "Joint"),
                column("torque", "Torque", event="torque"),
                column("unit", ""),
            ],
            label="Torque functions",
        ),
        buttons(
            button("Apply", "torque-apply", title="Apply these torques to the joints"),
            button("Zero torque", "torque-zero", title="Zero torque at all joints: free motion"),
        ),
        note(
            "Expressions of time t, joint positions q1, q2, … and velocities qd1, qd2, … in rad, m "
            "and s, for example 2*sin(3*t) - 0.5*qd1. To hold the robot again, choose a controller."
        ),
        open=False,
        id="torques",
    )


def options_of(controller: Controller | None) -> tuple[Option, ...]:
    """Selectable options of a controller; empty for None."""
    return OPTIONS.get(controller.name, ()) if controller is not None else ()


def numbered(names: Any) -> dict[str, str]:
    return {str(i): f"{i + 1}  {name}" for i, name in enumerate(names)}


def gain_rows(controller: Controller) -> Values:
    """Rows of the gain tables, by the name of the table on the page (see `_gains`)."""
    found: Values = {}
    for labels, group in groupby(controller.parameters(), key=lambda one: one.labels):
        some = list(group)
        for k in range(0, len(some), 3):
            found[f"gains/{some[k].name}"] = [
                {"id": i, "name": label}
                | {one.name: f"{one.values[i]:.4g}" for one in some[k : k + 3]}
                for i, label in enumerate(labels)
            ]
    return found


def _option(option: Option) -> str:
    name = f"option/{option.name}"
    return row(
        option.title,
        select(name, option.values, label=option.title, event="option", args=[option.name]),
    )


def _gains(controller: Controller) -> str:
    parts = []
    for labels, group in groupby(controller.parameters(), key=lambda one: one.labels):
        some = list(group)
        # At most three gains per table, to fit the width of the panel.
        for k in range(0, len(some), 3):
            columns = [
                column("name", "Joint" if labels == tuple(controller.robot.joint_names) else "Axis")
            ]
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
        "".join(_meaning(one) for one in controller.parameters()),
        id="gains",
    )


def _step_response(robot: SimRobot, joint: int) -> str:
    unit = SHOWN[robot.arm.joint_kinds[joint]][0]
    force = FORCE[robot.arm.joint_kinds[joint]]
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


def _meaning(one: Parameter) -> str:
    """HTML note with the meaning of a gain and the units of its entries."""
    units = ", ".join(dict.fromkeys(one.units))
    return (
        f'<p class="brazo-note"><b>{escape(one.name.replace("_", " "))}</b> '
        f"{escape(one.about)}, {escape(units)}</p>"
    )
