"""Page of the master station: the master arm, its hold-to-run switch and the mapping.

The operator moves the handle with the gizmo in the scene, with keys or with the buttons of the
panel.  The force reflected by the follower is drawn as an arrow at the handle and as bars in the
Link panel.  The mapping belongs to the follower: the page shows the settings that the follower
reports, and sends requests for changes to the follower.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from brazo.errors import BrazoError
from brazo.kinematics.orientation import rotvec_from_matrix
from brazo.lab.app.opening import as_cell
from brazo.lab.app.panel import Panel, Values
from brazo.lab.app.quantities import fixed
from brazo.lab.panels.common import gamepad as pad
from brazo.lab.panels.common.gizmo import Gizmo
from brazo.lab.panels.common.html import (
    button,
    buttons,
    caution,
    gamepad,
    hold,
    note,
    number,
    row,
    section,
    segments,
    select,
    text,
    toggle,
)  # fmt: skip
from brazo.lab.panels.pendant.layout import joint_scales
from brazo.lab.panels.view.panel import ViewPanel
from brazo.lab.stations.arrow import ForceArrow
from brazo.lab.stations.base import StationLab
from brazo.lab.stations.follower import directions_in_words
from brazo.lab.stations.follower_view import FollowerView
from brazo.lab.stations.link_panel import LinkPanel
from brazo.lab.stations.status import StationStatus, master_status
from brazo.simulation import Simulation
from brazo.simulation.robot_control import IDEAL
from brazo.teleop.devices import PageHandle
from brazo.teleop.devices.device import resume_hint
from brazo.teleop.mapping.base import DIRECTIONS
from brazo.teleop.stations import MasterStation
from brazo.trajectory import Sample

if TYPE_CHECKING:
    from brazo.lab.app.context import PanelContext
    from brazo.robot import Robot
    from brazo.simulation.robot import SimRobot
    from brazo.teleop.bilateral.energy_balance import EnergyBalance

STEP = 5e-3  # s, time step of the simulation that only displays the arm
KEYS = (("ArrowUp", "ArrowDown"), ("ArrowLeft", "ArrowRight"), ("PageUp", "PageDown"))
AXES = {
    f"{sign}{axis}": f"{'−' if sign == '-' else '+'}{axis.upper()}"
    for axis in "xyz"
    for sign in "+-"
}
NOTHING_HELD = "The master was not engaged. To stop the follower, press STOP on its own page."
GRIPPER = {"open": "Open", "closed": "Closed"}
PAD_ACTIONS = (
    {"key": "clutch", "label": "Clutch", "button": 4, "event": "clutch", "hold": True},
    {"key": "open", "label": "Open gripper", "button": 2, "event": "gripper", "args": ["open"]},
    {"key": "close", "label": "Close gripper", "button": 1, "event": "gripper", "args": ["closed"]},
    pad.STOP,
)


class MasterPanel(Panel):
    """Panel of the master: input device, mapping, joints and the reported follower state."""

    id, title, icon, side, order = "master", "Master", "teleop", "left", 10
    rate = 20.0
    scripts = ("stations/station.js", pad.SCRIPT)

    def __init__(self, context: PanelContext, lab: MasterLab) -> None:
        super().__init__(context)
        self.master_lab = lab
        self.station = lab.station
        self.hand = lab.station.device if isinstance(lab.station.device, PageHandle) else None
        self._gizmo = Gizmo(context, self._drag)
        self._arrow = ForceArrow()
        self.follower = FollowerView(
            context.scene, context.post, self._follower_drawn, lab.follower_source
        )
        self._dragged = False
        if self.hand is not None:
            context.channel.on_refused(self._gizmo.resend)
            self._listen(self.hand)

    def _listen(self, hand: PageHandle) -> None:
        # Hold-to-run events are handled on the network thread, where no other work delays them.
        self.on("run", hand.press, bool, now=True)
        self.on("run-end", hand.release, now=True)
        self.on("grasp", hand.renew_grasp, now=True)
        self.on("push", self._push, int, int, bool, now=True)
        self.on("push-end", hand.let_keys_go, now=True)
        self.on("stick", self._steer, list, bool, now=True)
        self.on("stick-end", hand.release_stick, now=True)
        self.on("clutch", self._set_clutch, bool)
        self.on("drag-runs", self._set_drag_runs, bool)
        self.on("gripper", self._set_gripper, str)
        self.on("back", lambda: hand.point(np.zeros(3), np.zeros(3)))
        self.on_number("scale", lambda k: self._ask("scale", float(k)))
        self.on("axis", self._set_axis, str, str)
        self.on("crossed", lambda: self._set_directions(DIRECTIONS))
        self.on("same", lambda: self._set_directions(np.eye(3)))

    # ---- display -------------------------------------------------------------------------------

    def html(self) -> str:
        arm = self.session.robot.arm
        joints = [
            row(name, text(f"q/{i}", "°" if arm.joint_kinds[i] == "revolute" else "mm"))
            for i, name in enumerate(arm.joint_names)
        ]
        received = section(
            "Follower (reported)",
            *(row(f"Tool {axis.upper()}", text(f"tool/{axis}", "mm")) for axis in "xyz"),
            row(
                "Joints", text("joints", wide=True), title="Rotary joints in °, linear joints in mm"
            ),
            caution("follower"),
        )
        return "".join([*self._control(), section("Joints", *joints), received])

    def _control(self) -> list[str]:
        if self.hand is None:
            device = self.station.device.name
            about = note(f"Input device: {device}. STOP releases its enable switch.")
            why = f'<p class="pendant-why" role="status">{text("why", wide=True)}</p>'
            return [section("Input", about, why)]
        axes = [
            row(
                axis,
                hold("−", "push", i, -1, title=f"{axis} minus", key=KEYS[i][1]),
                text(f"at/{i}", "mm"),
                hold("+", "push", i, 1, title=f"{axis} plus", key=KEYS[i][0]),
            )
            for i, axis in enumerate("XYZ")
        ]
        return [
            '<div class="station-run">',
            hold("Hold to run", "run", title="Hold to run (E)", key="e"),
            '<kbd class="station-keys">E</kbd></div>',
            f'<p class="pendant-why" role="status">{text("why", wide=True)}</p>',
            toggle(
                "drag-runs",
                "Dragging counts as hold-to-run",
                title="Dragging the handle in the scene counts as pressing the switch. "
                "Only the button, or E, recovers from HOLD.",
            ),
            toggle(
                "clutch", "Clutch", title="Move the handle without the follower (C)."
            ),
            section(
                "Handle",
                *axes,
                note("Keys: ↑ ↓ for X, ← → for Y, Page Up and Page Down for Z."),
                row("Gripper", segments("gripper", GRIPPER, label="Gripper")),
                buttons(button("Recentre", "back", icon="restart")),
            ),
            section(
                "Gamepad", gamepad("stick", "tool", self._pad_axes(), PAD_ACTIONS), open=False
            ),
            section(
                "Mapping",
                row(
                    "Scale k",
                    number("scale", label="Scale k", digits=2),
                    title="Master motion / follower motion; larger values give finer motion",
                ),
                row(
                    "Master X →",
                    select("axis/x", AXES, label="Master X", event="axis", args=["x"]),
                ),
                row(
                    "Master Y →",
                    select("axis/y", AXES, label="Master Y", event="axis", args=["y"]),
                ),
                row("Master Z →", text("axis/z", wide=True), title="Determined by master X and Y"),
                buttons(button("Default axes", "crossed"), button("Same axes", "same")),
            ),
        ]  # fmt: skip

    def _pad_axes(self) -> list[str]:
        turns = ["Rx", "Ry", "Rz"] if self.session.robot.arm.mobility > 3 else []
        return ["X", "Y", "Z", *turns]

    def values(self) -> Values:
        station, robot = self.station, self.session.robot
        scales = joint_scales(robot.arm, False)
        shown: Values = {f"q/{i}": fixed(x, 2) for i, x in enumerate(robot.q * scales)}
        T = np.linalg.inv(robot.base) @ robot.tool()
        shown |= {f"at/{i}": fixed(1e3 * x, 1) for i, x in enumerate(T[:3, 3])}
        state = self.master_lab.status()
        received = station.link.status() if state.link in ("up", "late") else None
        pose = None if received is None else received.status.pose
        for i, axis in enumerate("xyz"):
            shown[f"tool/{axis}"] = "–" if pose is None else fixed(1e3 * pose[i], 1)
        q = () if received is None else received.status.q
        shown["joints"] = self._follower_joints(q)
        shown["follower"] = self.follower.problem
        shown["why"] = self._why(state)
        if self.hand is not None:
            S = self.master_lab.directions
            axes = directions_in_words(S).split(", ")
            shown |= {
                "drag-runs": self.hand.drag_runs,
                "clutch": self.hand.clutch,
                "gripper": {None: "", 0.0: "open"}.get(self.hand.grip, "closed"),
                "scale": self.master_lab.scale,
                "axis/x": _key(axes[0]),
                "axis/y": _key(axes[1]),
                "axis/z": axes[2],
            }
        return shown

    def _follower_joints(self, q: tuple[float, ...]) -> str:
        arm = self.follower.arm
        if arm is None or arm.n != len(q):
            return ", ".join(fixed(x, 3) for x in q) + " (rad, m)" if q else "–"
        units = ["°" if kind == "revolute" else " mm" for kind in arm.joint_kinds]
        values = np.array(q) * joint_scales(arm, False)
        return ", ".join(f"{fixed(x, 1)}{unit}" for x, unit in zip(values, units, strict=True))

    def _why(self, state: StationStatus) -> str:
        """Message that explains why the follower does not move and what the operator can do."""
        if self._gizmo.reason:
            return self._gizmo.reason
        if self.station.blocked:
            return f"the handle does not move: {self.station.blocked}"
        hint = resume_hint(self.station.device)
        if state.link == "dead":
            return f"no link; when the link is restored: {hint}"
        if state.state == "HOLD":
            return f"HOLD; to resume: {hint}"
        if self.station.stopped:
            return f"stopped; to resume: {hint}"
        return "; ".join(state.warnings)

    def simulation_changed(self) -> None:
        self._gizmo.forget()
        self._arrow.forget()
        if self.hand is not None:
            self._gizmo.show(self.session.robot)
        self.refresh()

    def follow(self) -> None:
        self._gizmo.follow()
        if self._dragged and not self._gizmo.dragging and self.hand is not None:
            self._dragged = False
            self.hand.drag(False)
        self._arrow.show(self.context.scene, self.session.robot, self.master_lab.felt())
        status = self.station.link.status()
        self.follower.follow(self.station.scene, None if status is None else status.status.q)

    def _follower_drawn(self, parts: int) -> None:
        scene = self.context.scene
        scene.parts_beside = parts
        self.context.channel.put({"view/parts": scene.part_count, "station/beside": scene.root})

    # ---- user actions ----------------------------------------------------------------------------

    def _drag(self, robot: SimRobot, q: np.ndarray) -> None:
        assert self.hand is not None
        T, start = robot.arm.fk(q), self.station.start_pose
        turned = rotvec_from_matrix(T[:3, :3] @ start[:3, :3].T)
        if not self._dragged:
            self._dragged = True
            self.hand.drag(True)
        self.hand.point(T[:3, 3] - start[:3, 3], turned)

    def _push(self, axis: int, sign: int, fresh: bool) -> None:
        assert self.hand is not None
        if 0 <= axis < 3 and sign in (-1, 1):
            self.hand.push(axis, sign, fresh)

    def _steer(self, given: list[Any], fresh: bool) -> None:
        # Runs on the network thread.
        assert self.hand is not None
        deflections = pad.read_deflections(given)
        if deflections is not None:
            self.hand.steer((*deflections, *[0.0] * 6)[:6], fresh)

    def _set_clutch(self, on: bool) -> None:
        assert self.hand is not None
        self.hand.clutch = on

    def _set_drag_runs(self, on: bool) -> None:
        assert self.hand is not None
        self.hand.drag_runs = on

    def _set_gripper(self, which: str) -> None:
        assert self.hand is not None
        if which in GRIPPER:
            self.hand.grip = float(which == "closed")

    def _set_axis(self, axis: str, axis_key: str) -> None:
        """Request to map the master axis `axis` ("x" or "y") to a follower axis such as "+z".

        The other master axes are remapped if necessary, so that the mapping stays right-handed.
        """
        if axis not in ("x", "y") or axis_key not in AXES:
            return
        wanted = np.zeros(3)
        wanted["xyz".index(axis_key[1])] = 1.0 if axis_key[0] == "+" else -1.0
        S = self.master_lab.directions
        mine, other = (0, 1) if axis == "x" else (1, 0)
        kept = S[:, other].copy()
        if abs(kept @ wanted) > 1e-6:  # already used by the other axis: swap the two
            kept = S[:, mine] * (1.0 if kept @ wanted > 0 else -1.0)
        x, y = (wanted, kept) if axis == "x" else (kept, wanted)
        self._set_directions(np.column_stack([x, y, np.cross(x, y)]))

    def _set_directions(self, S: np.ndarray) -> None:
        self._ask("directions", [float(x) for x in S.ravel()])

    def _ask(self, name: str, value: Any) -> None:
        assert self.hand is not None
        if self.master_lab.status().link not in ("up", "late"):
            raise BrazoError(
                f"no link: cannot change the follower's {name} setting; try again later"
            )
        self.hand.ask(name, value)


class MasterLab(StationLab):
    """Lab of a `MasterStation` with a master arm.  Stopping the lab also closes the station.

    `follower` is the follower's cell: a name, a path, a `Cell` or a `Robot`.  The follower is drawn
    beside the master if `follower` is given, or if the follower reports a shipped cell or robot.
    """

    role = "master"

    def __init__(
        self,
        station: MasterStation,
        host: str = "127.0.0.1",
        port: int = 8080,
        token: bool = False,
        follower: Any = None,
    ) -> None:
        if station.robot is None:
            raise BrazoError(
                "the master's page needs a master arm: create the station with a robot"
            )
        self.station, self.follower_source = station, follower
        station.asks_scene = follower is None
        sim = station.sim or _stage(station.robot, station.q)
        panels = (
            lambda context: MasterPanel(context, self),
            lambda context: LinkPanel(context, self),
            ViewPanel,
        )
        super().__init__(sim, panels, host, port, token)
        if station.sim is None:
            self.session.robot.follow(_Shown(station))
        station.start()

    def status(self) -> StationStatus:
        return master_status(self.station, self.watch)

    def time(self) -> float:
        return self.station.log.now()

    def energy_balance(self) -> EnergyBalance | None:
        return self.station.energy_balance

    @property
    def scale(self) -> float:
        """Motion scale k reported by the follower; 1 before the first report."""
        return float(self.station.settings.get("scale", 1.0))

    @property
    def directions(self) -> np.ndarray:
        """Direction matrix S (3, 3) reported by the follower; `DIRECTIONS` before the first report.

        Its columns are the follower axes to which the master's axes map.
        """
        received: Any = self.station.settings.get("directions")
        return DIRECTIONS if received is None else np.array(received, dtype=float).reshape(3, 3)

    def felt(self) -> np.ndarray | None:
        """Force (3,) on the operator's hand, in N in the master's axes; None if unknown.

        With a bilateral scheme, it is the force that the scheme applies to the handle.  Otherwise
        it is the contact force of the follower, mapped back to the master.
        """
        energy_balance = self.station.energy_balance
        if energy_balance is not None:
            return np.array(energy_balance.force)
        wrench = self.status().wrench
        return None if wrench is None else self.directions.T @ wrench[:3] / self.scale

    def halt(self) -> str | None:
        return None if self.station.stop() else NOTHING_HELD

    def stop(self) -> None:
        self.station.close()
        super().stop()
        self.sim.player.close()


def _stage(robot: Robot, q: np.ndarray) -> Simulation:
    """Create a simulation that only displays the arm, with initial joint positions q (n,)."""
    sim = Simulation(replace(as_cell(robot), step=STEP), {robot.name: IDEAL})
    sim.robots[robot.name].world.set_state(q)
    return sim


class _Shown:
    """Motion source that keeps the displayed arm at the joint positions of the station."""

    moving = True

    def __init__(self, station: MasterStation) -> None:
        self._station = station
        self._rest = np.zeros(len(station.q))

    def next(self) -> Sample:
        return Sample(self._station.q, self._rest, self._rest)


def _key(label: str) -> str:
    """Convert an axis label such as `−Z` to a key of `AXES`; the label `rotated` gives ""."""
    return ("-" if label.startswith("−") else "+") + label[-1].lower() if len(label) <= 2 else ""
