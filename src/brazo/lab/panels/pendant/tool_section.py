"""Tool section of the pendant: select, edit or calibrate the tool centre point (TCP).

The calibration computes the TCP position from touches of one fixed point in several orientations.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from brazo.errors import BrazoError
from brazo.kinematics.orientation import matrix_from_rpy, rpy_from_matrix
from brazo.lab.app.cell_editor import CellEditor
from brazo.lab.app.panel import Panel, Values
from brazo.lab.app.quantities import fixed
from brazo.lab.app.session import with_new_names
from brazo.lab.panels.common.html import button, buttons, column, note, number, row, section, text
from brazo.lab.panels.common.html import table as table_html
from brazo.model.description import frozen
from brazo.model.transforms import invert
from brazo.operate.tcp_calibration import MIN_TOUCHES, TcpFit, tcp_from_touches
from brazo.world import Cell, CellRobot
from brazo.world.cell_edits import element, with_tcps
from brazo.world.tcp import Tcp, own_tcp

if TYPE_CHECKING:
    from brazo.simulation.robot import SimRobot

OWN = "own"  # shown for the tool frame of the robot itself
LENGTHS, TURNS = ("X", "Y", "Z"), ("Roll", "Pitch", "Yaw")
MAX_TOUCHES = 100


class ToolSection:
    """Section with the tool centre points of the selected robot.  Use on the lab's thread only."""

    def __init__(self, panel: Panel) -> None:
        self._panel = panel
        self._editor = CellEditor(panel.session, panel.context.history)
        self._touches: dict[str, list[np.ndarray]] = {}  # flange poses in the base, by robot
        self._fits: dict[str, TcpFit] = {}
        panel.session.on_rename(self._robots_renamed)
        panel.on("tcp-new", self._new)
        panel.on("tcp-use", self._use, int)
        panel.on("tcp-name", self._rename, int, str)
        panel.on("tcp-delete", self._delete, int)
        panel.on_number("tcp-length", self._set_length, int, unit="mm")
        panel.on_number("tcp-turn", self._set_turn, int, unit="deg")
        panel.on("tcp-touch", self._touch)
        panel.on("tcp-clear", self._clear)
        panel.on("tcp-compute", self._compute)

    def _robots_renamed(self, renamed: Mapping[str, str]) -> None:
        self._touches = with_new_names(self._touches, renamed)
        self._fits = with_new_names(self._fits, renamed)

    @property
    def _robot(self) -> SimRobot:
        return self._panel.session.robot

    @property
    def _given(self) -> CellRobot:
        found = element(self._panel.sim.cell, self._robot.name)
        assert isinstance(found, CellRobot)
        return found

    # ---- display ---------------------------------------------------------------------------

    def html(self) -> str:
        """HTML of the section for the selected robot; empty if its TCP cannot be changed."""
        try:
            own_tcp(self._given.source.model)
        except BrazoError:
            return ""
        columns = [
            column("name", "Tool", event="tcp-name"),
            column("where", "x, y, z", unit="mm"),
            column("", "Use", event="tcp-use", kind="button"),
            column("", "✕", event="tcp-delete", kind="button"),
        ]
        fields = ""
        if self._given.tcp:
            fields = row(
                "X, Y, Z, mm",
                *(
                    number(f"tcp/{i}", label=f"TCP {name}", event="tcp-length", args=[i], digits=2)
                    for i, name in enumerate(LENGTHS)
                ),
            ) + row(
                "RPY, °",
                *(
                    number(f"tcp/{i + 3}", label=f"TCP {name}", event="tcp-turn", args=[i])
                    for i, name in enumerate(TURNS)
                ),
            )
        return section(
            "Tool (TCP)",
            table_html("tcps", columns, label="Tools"),
            fields,
            buttons(button("New tool", "tcp-new", icon="plus")),
            row("Touches", text("touches", wide=True)),
            buttons(
                button("Record", "tcp-touch", title="Record the current pose as a touch"),
                button("Compute", "tcp-compute", enabled="touched"),
                button("Clear", "tcp-clear"),
            ),
            note(
                "Touch one fixed point with the tool tip in four or more orientations, record each "
                "touch, then compute. Positions are in the frame of the last link."
            ),
            open=False,
        )

    def values(self) -> Values:
        """Page values of the section for the selected robot."""
        given = self._given
        try:
            own = own_tcp(given.source.model)
        except BrazoError:
            return {}
        poses = [(OWN, own), *((one.name, one.pose) for one in given.tcps)]
        used = next((T for name, T in poses[1:] if name == given.tcp), own)
        angles = np.degrees(rpy_from_matrix(used[:3, :3]))
        rows = [
            {
                "id": i,
                "name": name,
                "where": "  ".join(fixed(1e3 * float(x), 1) for x in T[:3, 3]),
                "mark": name == (given.tcp or OWN) if i else not given.tcp,
            }
            for i, (name, T) in enumerate(poses)
        ]
        count = len(self._touches.get(given.name, ()))
        return {
            "tcps": rows,
            "touches": self._progress(given.name, count),
            "touched": count >= MIN_TOUCHES,
            **{f"tcp/{i}": float(1e3 * used[i, 3]) for i in range(3)},
            **{f"tcp/{i + 3}": float(angles[i]) for i in range(3)},
        }

    def _progress(self, robot: str, count: int) -> str:
        fit = self._fits.get(robot)
        if fit is not None:
            return f"{count} touches: RMS {_mm(fit.rms)}, max {_mm(fit.max)}"
        return f"{count} of {MIN_TOUCHES} touches" if count < MIN_TOUCHES else f"{count} touches"

    def forget(self) -> None:
        """Delete the recorded touches, after another cell was opened."""
        self._touches.clear()
        self._fits.clear()

    # ---- tools -----------------------------------------------------------------------------

    def _new(self) -> None:
        given, name = self._given, self._free_name()
        pose = own_tcp(given.model)  # the one in use
        self._change(f"add {name}", (*given.tcps, Tcp(name, pose)), name)

    def _free_name(self) -> str:
        names = {OWN, *(one.name for one in self._given.tcps)}
        return next(f"tool {k}" for k in range(1, 1000) if f"tool {k}" not in names)

    def _use(self, i: int) -> None:
        given = self._given
        name = given.tcps[i - 1].name if 0 < i <= len(given.tcps) else ""
        if name != given.tcp:
            self._change(f"use {name or OWN} tool", given.tcps, name)

    def _rename(self, i: int, name: str) -> None:
        given, name = self._given, " ".join(name.split())
        old = self._at(i)
        if not name or name == old.name:
            return
        if name == OWN:
            raise BrazoError(f"'{OWN}' is reserved for the robot's own tool: choose another name")
        tcps = tuple(Tcp(name, one.pose) if one is old else one for one in given.tcps)
        selected = name if given.tcp == old.name else given.tcp
        self._change(f"rename {old.name}", tcps, selected)

    def _delete(self, i: int) -> None:
        given, old = self._given, self._at(i)
        tcps = tuple(one for one in given.tcps if one is not old)
        self._change(f"delete {old.name}", tcps, "" if given.tcp == old.name else given.tcp)

    def _set_length(self, axis: int, value: float) -> None:
        if 0 <= axis < 3:
            T = self._used()
            T[axis, 3] = value
            self._set(T)

    def _set_turn(self, axis: int, value: float) -> None:
        if 0 <= axis < 3:
            T = self._used()
            angles = np.array(rpy_from_matrix(T[:3, :3]))
            angles[axis] = value
            T[:3, :3] = matrix_from_rpy(angles)
            self._set(T)

    def _at(self, i: int) -> Tcp:
        tcps = self._given.tcps
        if not 0 < i <= len(tcps):
            raise BrazoError("the robot's own tool frame cannot be changed: add a new tool")
        return tcps[i - 1]

    def _used(self) -> np.ndarray:
        return np.array(own_tcp(self._given.model))

    def _set(self, T: np.ndarray) -> None:
        given = self._given
        if not given.tcp:
            raise BrazoError("the robot's own tool frame cannot be changed: add a new tool first")
        tcps = tuple(Tcp(o.name, frozen(T)) if o.name == given.tcp else o for o in given.tcps)
        self._change(f"tool {given.tcp}", tcps, given.tcp)

    def _change(
        self,
        label: str,
        tcps: tuple[Tcp, ...],
        selected: str,
        after: Callable[[], None] = lambda: None,
    ) -> None:
        """Replace the TCPs of the robot by `tcps`, and use the TCP named `selected`.

        If `selected` is empty, the robot's own TCP is used.  A background job first compiles the
        robot's functions for the TCP.  Then the change is made, and `after()` is called.
        """
        given, sim, jobs = self._given, self._panel.sim, self._panel.context.jobs
        name, before, used = given.name, given.tcps, given.tcp

        def change(cell: Cell) -> Cell:
            return with_tcps(cell, name, tcps, selected)

        def back(cell: Cell) -> Cell:
            return with_tcps(cell, name, before, used)

        def go() -> None:
            self._editor.do(f"{name}: {label}", change, back)
            after()

        def done(_: None) -> None:
            self._panel.context.post(lambda: jobs.cancel(job.number))  # its result is visible
            if self._panel.session.shown is sim:
                self._panel.context.notices.guard(go)

        change(sim.cell)  # raises if that is not possible
        job = jobs.start(f"{name}: {label}", lambda _: sim.prepare(change(sim.cell)), done)

    # ---- touches ---------------------------------------------------------------------------

    def _touch(self) -> None:
        robot = self._robot
        touches = self._touches.setdefault(robot.name, [])
        if len(touches) >= MAX_TOUCHES:
            raise BrazoError(f"at most {MAX_TOUCHES} touches: press Compute or Clear")
        model = robot.arm.model
        touches.append(robot.arm.fk(robot.reference.q) @ invert(np.array(own_tcp(model))))
        self._fits.pop(robot.name, None)

    def _clear(self) -> None:
        self._touches.pop(self._robot.name, None)
        self._fits.pop(self._robot.name, None)

    def _compute(self) -> None:
        given, T = self._given, self._used()
        fit = tcp_from_touches(self._touches.get(given.name, []))
        T[:3, 3] = fit.position
        name = given.tcp or self._free_name()
        tcps = tuple(one for one in given.tcps if one.name != name)
        where = ", ".join(fixed(1e3 * float(x), 2) for x in fit.position)

        def done() -> None:
            self._fits[given.name] = fit
            self._panel.say(
                f"{name} of {given.name}: {where} mm; residual RMS {_mm(fit.rms)}, "
                f"max {_mm(fit.max)}"
            )

        self._change(f"{name} by touch", (*tcps, Tcp(name, frozen(T))), name, done)


def _mm(length: float) -> str:
    digits = 2 if length >= 1e-5 or math.isclose(length, 0.0, abs_tol=1e-9) else 4
    return f"{fixed(1e3 * length, digits)} mm"
