"""Simulation panel: single step, reset, speed, physics settings and faults.

Physics settings are the time step, the engine, gravity and the contact response of each robot.  A
change of the time step, gravity or engine requires a new physics model.  The simulation is then
rebuilt and continues from the current state, with its faults.  A running motion, program or
recording cannot continue in the new simulation and must be stopped first.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from brazo.errors import BrazoError
from brazo.lab.app.context import PanelContext
from brazo.lab.app.opening import rebuilt, require_idle
from brazo.lab.app.panel import Panel, Values
from brazo.lab.app.quantities import fixed, read_quantity
from brazo.lab.panels.common.html import (
    button,
    buttons,
    column,
    note,
    number,
    row,
    section,
    segments,
    select,
    slider,
    table,
    text,
    toggle,
)
from brazo.recording.numbers import counted
from brazo.simulation import (
    CommandDelay,
    EncoderBias,
    EncoderFrozen,
    EncoderNoise,
    Fault,
    JointFree,
    JointLocked,
    TorqueLoss,
)
from brazo.world.cell import GREATEST_STEP, LEAST_STEP, STEP_RANGE

MOST_GRAVITY = 100.0  # m/s², max of each component
MODES = {"contact": "Contact", "exact": "Exact"}


@dataclass(frozen=True, slots=True)
class Kind:
    """Kind of fault that can be injected.

    `make(robot, joint, amount)` creates the fault.  `amount` is in `unit`; for the unit "joint", it
    is in rad or m.
    """

    title: str
    make: Callable[[str, str, float], Fault]
    unit: str = ""  # of the amount; "joint": ° or mm on the page; empty if the fault has no amount
    amount: float = 0.0  # default, in the unit on the page
    of_joint: bool = True  # whether a joint must be selected


KINDS: dict[str, Kind] = {
    "locked": Kind("Joint locked", lambda r, j, _: JointLocked(r, j)),
    "free": Kind("Joint unpowered", lambda r, j, _: JointFree(r, j)),
    "torque": Kind("Torque loss", lambda r, j, x: TorqueLoss(r, j, 0.01 * x), "%", 50.0),
    "bias": Kind("Encoder bias", EncoderBias, "joint", 2.0),
    "noise": Kind("Encoder noise", EncoderNoise, "joint", 0.2),
    "frozen": Kind("Encoder stuck", lambda r, j, _: EncoderFrozen(r, j)),
    "delay": Kind(
        "Command delay", lambda r, _, x: CommandDelay(r, 1e-3 * x), "ms", 20.0, of_joint=False
    ),
}


class SimulationPanel(Panel):
    """Panel with speed, physics settings and faults of the simulation."""

    id, title, icon, side, order = "simulation", "Simulation", "clock", "right", 10
    rate = 10.0

    def __init__(self, context: PanelContext) -> None:
        super().__init__(context)
        self._kind = "locked"
        self._joint = 0
        self._amount = 0.0
        self.on_number("speed", context.clock.set_speed, unit="percent")
        self.on_number("dt", self._set_step, unit="ms")
        self.on_number("gravity", self._set_gravity, int)
        self.on("mode", self._set_mode, str)
        self.on("feedback", self._set_feedback, str, bool)
        self.on("fault", self._set_kind, str)
        self.on("fault-joint", self._set_joint, str)
        self.on_number("amount", self._set_amount)
        self.on("inject", self._inject)
        self.on("mend", self._mend, int)
        self.on("mend-all", lambda: context.session.sim.faults.clear())

    # ---- display -------------------------------------------------------------------------------

    def html(self) -> str:
        return "".join(
            [
                section(
                    "Time",
                    buttons(
                        button("Step", "/step", 1, icon="step", title="Single step (.)"),
                        button("Reset", "/reset", icon="restart", title="To the start state"),
                    ),
                    slider(
                        "speed", "%", label="Speed", least=0, most=400, digits=0,
                        marks=[0, 100, 200, 300, 400],
                        title="Simulated time per real time; 50 % is half speed.",
                    ),
                    row("Real-time factor", text("factor"), text("late", wide=True)),
                ),
                section(
                    "Physics",
                    row("Time step", number("dt", "ms", label="Time step", digits=3)),
                    row(
                        "Engine",
                        segments("mode", MODES, label="Engine"),
                        title="Contact: with contacts, implicit integration. Exact: without "
                        "contacts, Runge–Kutta integration.",
                    ),
                    row("Gravity, m/s²", self._gravity(), title="Along the world axes x, y, z"),
                    row("Step time", text("cost", "µs"), title="Mean time of the last steps"),
                ),
                self._feedback(),
                self._faults(),
            ]
        )  # fmt: skip

    def values(self) -> Values:
        sim = self.sim
        costs, player = sim.costs, sim.player
        shown: Values = {
            "speed": 100.0 * player.speed,
            "factor": fixed(player.real_time_factor, 2),
            "late": counted(player.overruns, "missed deadline") if player.overruns else "",
            "dt": 1e3 * sim.dt,
            "mode": sim.world.mode,
            "cost": fixed(costs.total, 0),
            **{f"gravity/{i}": float(g) for i, g in enumerate(sim.cell.gravity)},
            **{f"feedback/{name}": r.contact_response for name, r in sim.world.robots.items()},
        }
        if sim.robots:
            joints = self.session.robot.arm.joint_names
            shown |= {
                "fault": self._kind,
                "fault-joint": joints[self._selected()],
                "amount": self._amount,
                "faults": [
                    {"id": i, "text": fault.text_for(sim.robots[fault.robot].world)}
                    for i, fault in enumerate(self._active())
                ],
                "broken": bool(self._active()),
            }
        return shown

    def selection_changed(self) -> None:
        if self.session.selection.joint is not None:
            self._joint = self.session.selection.joint
        self._joint = min(self._joint, self.session.robot.n - 1)
        self.refresh()

    def _gravity(self) -> str:
        return "".join(
            number(f"gravity/{i}", label=f"Gravity {axis}", event="gravity", args=[i], digits=2)
            for i, axis in enumerate("xyz")
        )

    def _feedback(self) -> str:
        names = list(self.sim.robots)
        if not names:
            return ""
        return section(
            "Contact response",
            *(toggle(f"feedback/{n}", n, event="feedback", args=[n]) for n in names),
            note("If off, the robot passes through obstacles; contacts are still shown."),
            open=False,
        )

    def _faults(self) -> str:
        if not self.sim.robots:
            return ""
        kind, arm = KINDS[self._kind], self.session.robot.arm
        content = [
            row("Robot", '<brazo-text name="/selection/robot" class="words"></brazo-text>'),
            row("Fault", select("fault", {k: v.title for k, v in KINDS.items()}, label="Fault")),
        ]
        if kind.of_joint:
            content.append(row("Joint", select("fault-joint", arm.joint_names, label="Joint")))
        if kind.unit:
            content.append(row("Amount", number("amount", self._unit(), label="Fault amount")))
        return section(
            "Faults",
            *content,
            buttons(
                button("Inject", "inject", look="danger", icon="faults"),
                button("Clear all", "mend-all", enabled="broken"),
            ),
            table(
                "faults",
                [column("text", "Active faults"), column("", "Clear", event="mend", kind="button")],
                label="Active faults",
                empty="No active faults.",
            ),
            open=False,
        )

    # ---- user actions ----------------------------------------------------------------------------

    def _set_step(self, step: float) -> None:
        if not LEAST_STEP <= step <= GREATEST_STEP:
            raise BrazoError(f"time step {1e3 * step:g} ms: must be from {STEP_RANGE}")
        if step != self.sim.dt:
            self._rebuild(step=step)

    def _set_gravity(self, axis: int, value: float) -> None:
        if not (0 <= axis < 3 and abs(value) <= MOST_GRAVITY):
            raise BrazoError(f"gravity {value:g} m/s²: must be within ±{MOST_GRAVITY:g} m/s²")
        gravity = np.array(self.sim.cell.gravity)
        if gravity[axis] != value:
            gravity[axis] = value
            gravity.flags.writeable = False
            self._rebuild(gravity=gravity)

    def _set_mode(self, mode: str) -> None:
        if mode in MODES and mode != self.sim.world.mode:
            self._rebuild(mode)

    def _rebuild(self, mode: str = "", **changes: Any) -> None:
        """Rebuild the simulation with changed settings; the user can undo the change.

        `mode` is the new engine, by default the current one.  `changes` are fields of the cell.
        """

        def restore(state: tuple[Any, str]) -> None:
            require_idle(self.sim)
            settings = {name: getattr(state[0], name) for name in changes}
            cell = replace(self.sim.cell, **settings)  # robots may have been edited since
            self.session.replace(rebuilt(self.sim, cell, state[1]))

        wanted = (replace(self.sim.cell, **changes), mode or self.sim.world.mode)
        label = "engine" if mode else "gravity" if "gravity" in changes else "time step"
        self.context.history.record(
            label,
            lambda: restore(wanted),
            lambda: (self.sim.cell, self.sim.world.mode),
            restore,
        )

    def _set_feedback(self, robot: str, on: bool) -> None:
        with self.sim.lock:
            self.sim.robots[robot].world.contact_response = on

    def _set_kind(self, kind: str) -> None:
        if kind in KINDS:
            self._kind, self._amount = kind, KINDS[kind].amount
            self.refresh()

    def _set_joint(self, name: str) -> None:
        joints = self.session.robot.arm.joint_names
        if name in joints:
            changed = self._unit()
            self._joint = joints.index(name)
            if self._unit() != changed:
                self.refresh()

    def _set_amount(self, amount: float) -> None:
        self._amount = amount

    def _selected(self) -> int:
        """Index of the selected joint; if it no longer exists, the index of the last joint."""
        return min(self._joint, self.session.robot.n - 1)

    def _unit(self) -> str:
        unit = KINDS[self._kind].unit
        if unit == "joint":
            revolute = self.session.robot.arm.joint_kinds[self._selected()] == "revolute"
            return "°" if revolute else "mm"
        return unit

    def _inject(self) -> None:
        robot, kind = self.session.robot, KINDS[self._kind]
        amount = self._amount
        if kind.unit == "joint":
            amount = read_quantity(amount, "deg" if self._unit() == "°" else "mm")
        if not math.isfinite(amount):
            raise BrazoError("the amount of a fault must be a finite number")
        self.sim.inject(kind.make(robot.name, robot.arm.joint_names[self._selected()], amount))

    def _mend(self, number: int) -> None:
        active = self._active()
        if 0 <= number < len(active):
            fault = active[number]
            self.sim.faults.clear(fault.robot, fault)

    def _active(self) -> list[Fault]:
        return [fault for robot in self.sim.robots.values() for fault in robot.faults]
