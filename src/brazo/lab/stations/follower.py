"""Page of the follower station: robot state, mapping from the master, and local joint motion.

While no master is engaged, the joints can be moved from the page at reduced speed.  A master that
engages during such a motion waits until the robot is at rest.  STOP enters HOLD, even while a
master commands the robot: the robot brakes, and the master must disengage and engage again.
"""

from __future__ import annotations

import numpy as np

from brazo.kinematics.sampling import sampling_box
from brazo.lab.app.context import PanelContext
from brazo.lab.app.panel import Panel, Values
from brazo.lab.app.quantities import fixed
from brazo.lab.panels.common.html import button, buttons, note, row, section, slider, text
from brazo.lab.panels.pendant.layout import joint_scales
from brazo.lab.panels.view.panel import ViewPanel
from brazo.lab.stations.base import StationLab
from brazo.lab.stations.link_panel import LinkPanel
from brazo.lab.stations.status import StationStatus, follower_status
from brazo.teleop.bilateral.energy_balance import EnergyBalance
from brazo.teleop.stations import FollowerStation


class FollowerPanel(Panel):
    """Panel of the follower: joints, tool position, tracking error and mapping from the master."""

    id, title, icon, side, order = "follower", "Follower", "robot", "left", 10
    rate = 20.0
    scripts = ("stations/station.js",)

    def __init__(self, context: PanelContext, station: FollowerStation) -> None:
        super().__init__(context)
        self.station = station
        self._scales = joint_scales(self.station.robot.arm, False)
        self.on_number("revolute", self._move, int, unit="deg")
        self.on_number("prismatic", self._move, int, unit="mm")
        self.on("home", self._home)
        self.on("rest", lambda: self.station.stop("on the page"))

    def html(self) -> str:
        arm = self.station.robot.arm
        box = sampling_box(arm.limits, arm.joint_kinds) * self._scales[:, None]
        joints = [
            slider(
                f"q/{i}",
                "°" if arm.joint_kinds[i] == "revolute" else "mm",
                label=name,
                event=arm.joint_kinds[i],
                args=[i],
                least=float(box[i, 0]),
                most=float(box[i, 1]),
                digits=1,
                limited="low high",
            )
            for i, name in enumerate(arm.joint_names)
        ]
        return "".join(
            [
                section(
                    "Joints",
                    *joints,
                    *self._by_hand(),
                    f'<p class="pendant-why" role="status">{text("why", wide=True)}</p>',
                ),
                section(
                    "Tool",
                    *(row(axis.upper(), text(f"tool/{axis}", "mm")) for axis in "xyz"),
                    *self._following(),
                ),
                section("Mapping", *self._mapping()),
            ]
        )

    def _by_hand(self) -> list[str]:
        if not self.station.by_hand:
            return [note("This robot is force-controlled: only a master can move it.")]
        return [
            buttons(button("Home", "home", icon="restart"), button("Hold here", "rest")),
            note("Moves at 25 % of full speed, and only while no master is engaged."),
        ]

    def _following(self) -> list[str]:
        if not self.station.by_hand:
            return []
        return [
            row(
                "Tracking error", text("behind", "mm"), title="Distance of the tool from its target"
            ),
            row("Speed", text("share", "% of full")),
        ]

    def _mapping(self) -> list[str]:
        if "scale" not in self.station.mapping.settings():
            return [row("Kind", "joint to joint"), row("Gain", text("gain", wide=True))]
        return [
            row("Kind", "pose to pose" if self.station.by_hand else "force coupling"),
            row("Scale k", text("scale")),
            row("Master X, Y, Z", text("directions", wide=True), title="Follower axes"),
        ]

    def values(self) -> Values:
        station = self.station
        robot, mapping, step = station.robot, station.mapping, station.step
        q = robot.q * self._scales
        T = np.linalg.inv(robot.base) @ robot.tool()
        gap = np.zeros(3) if step is None else robot.arm.fk(step.sample.q)[:3, 3] - T[:3, 3]
        shown: Values = {f"q/{i}": float(x) for i, x in enumerate(q)}
        shown |= {f"tool/{a}": fixed(1e3 * x, 1) for a, x in zip("xyz", T[:3, 3], strict=True)}
        shown["behind"] = fixed(1e3 * float(np.linalg.norm(gap)), 2)
        shown["share"] = fixed(0.0 if step is None else 100.0 * step.share, 0)
        shown["why"] = "; ".join(step.warnings) if step is not None else ""
        settings = mapping.settings()
        if "scale" in settings:
            shown["scale"] = f"{settings['scale']:g}"
            shown["directions"] = directions_in_words(np.reshape(settings["directions"], (3, 3)))
        else:
            shown["gain"] = ", ".join(f"{g:g}" for g in settings.get("gain", ()))
        return shown

    def _move(self, joint: int, value: float) -> None:
        arm = self.station.robot.arm
        if not 0 <= joint < arm.n:
            return
        target = self.station.target_by_hand()
        target[joint] = value
        self.station.move_to(target)

    def _home(self) -> None:
        self.station.move_to(self.station.robot.world.start)


class FollowerLab(StationLab):
    """Lab of a `FollowerStation`.  Stopping the lab also closes the station."""

    role = "follower"

    def __init__(
        self,
        station: FollowerStation,
        host: str = "127.0.0.1",
        port: int = 8080,
        token: bool = False,
    ) -> None:
        self.station = station
        panels = (
            lambda context: FollowerPanel(context, station),
            lambda context: LinkPanel(context, self),
            ViewPanel,
        )
        super().__init__(station.sim, panels, host, port, token)
        try:
            station.start()
        except BaseException:
            self.stop()
            raise

    def status(self) -> StationStatus:
        return follower_status(self.station, self.watch)

    def time(self) -> float:
        return self.station.log.now()

    def energy_balance(self) -> EnergyBalance | None:
        return self.station.energy_balance

    def halt(self) -> str | None:
        if self.sim.player.error is not None:
            return "The simulation has stopped, so no robot is moving."
        self.station.stop("on the page")
        with self.sim.lock:
            for name, robot in self.session.sim.robots.items():
                if name != self.station.robot.name:
                    robot.stop()
        return None

    def stop(self) -> None:
        self.station.close()
        super().stop()


def directions_in_words(S: np.ndarray) -> str:
    """Text with the follower axes to which the master's X, Y and Z axes map, such as `Y, −Z, −X`.

    The columns of `S` (3, 3) are the directions of the master's X, Y and Z axes at the follower.  A
    column that is not parallel to a follower axis is shown as `rotated`.
    """
    return ", ".join(_axis(column) for column in S.T)


def _axis(column: np.ndarray) -> str:
    i = int(np.argmax(np.abs(column)))
    if abs(abs(column[i]) - 1.0) > 1e-6:
        return "rotated"
    return f"{'−' if column[i] < 0 else ''}{'XYZ'[i]}"
