"""Panel with the link statistics, the contact force, the energies and the events of a station.

The pages of the master and of the follower both have this panel.  It shows the values known at its
own end of the link; see `brazo.lab.stations.status`.
"""

from __future__ import annotations

import math

import numpy as np

from brazo.lab.app.context import PanelContext
from brazo.lab.app.panel import Panel, Values
from brazo.lab.app.quantities import fixed
from brazo.lab.panels.common.html import column, escape, row, section, table, text
from brazo.lab.stations.base import StationLab

SCALE = 40.0  # N, full scale of a force bar
ROWS = 12
SLOW = 0.9  # real-time factor below which the panel shows the warning `SOFT`
SOFT = "Real-time factor {:.2f}, below 0.9: contacts feel too soft."


class LinkPanel(Panel):
    """Panel with link statistics, contact force, energies and events of a station."""

    id, title, icon, side, order = "link", "Link", "teleop", "right", 10
    rate = 10.0
    scripts = ("stations/station.js",)

    def __init__(self, context: PanelContext, lab: StationLab) -> None:
        super().__init__(context)
        self.station_lab = lab

    def html(self) -> str:
        return "".join(
            [
                '<brazo-follower-state name="/station/now"></brazo-follower-state>',
                section(
                    "Link",
                    row("Peer", text("peer", wide=True)),
                    row(
                        "Round trip",
                        text("trip", "ms"),
                        title="Minimum round-trip time of the last pings",
                    ),
                    row(
                        "Last message",
                        text("heard", "ms ago"),
                        '<brazo-heartbeat name="/station/now"></brazo-heartbeat>',
                        title="Time since the last valid frame; heartbeats every 100 ms",
                    ),
                    row(
                        "Command age",
                        text("age", "ms"),
                        title="Age of the newest valid command at the follower",
                    ),
                    row("Commands", text("rate", "/s"), "·", text("received")),
                    row(
                        "Lost · dropped",
                        text("lost"),
                        "·",
                        text("dropped"),
                        title="Missing sequence numbers · rejected frames",
                    ),
                ),
                section(
                    "Contact force",
                    *(_bar(f"force/{i}", axis) for i, axis in enumerate(("Fx", "Fy", "Fz"))),
                    _bar("force/3", "|F|", signed=False),
                    '<p class="brazo-note"><brazo-text name="force-about"></brazo-text></p>',
                ),
                self.energies(),
                section(
                    "Events",
                    table(
                        "history",
                        [column("t", "t, s", digits=1), column("text", "")],
                        label="Events",
                        empty="No events yet.",
                    ),
                ),
            ]
        )

    def energies(self) -> str:
        """HTML section with the energies of the bilateral scheme; empty if there is no scheme."""
        energy_balance = self.station_lab.energy_balance()
        if energy_balance is None:
            return ""
        return section(
            f"Energy · {energy_balance.scheme}",
            _bar("energy/0", "Master", unit="J", most=2.0),
            _bar("energy/1", "Follower", unit="J", most=2.0),
            _bar("energy/2", "Total", unit="J", most=2.0),
            row("Buffered", text("buffered", "ms"), title="Received samples that are not used yet"),
            row("Delay", text("delay", "ms"), title="Round-trip time of the scheme's packets"),
            f'<p class="pendant-why" role="status">{text("soft", wide=True)}</p>',
        )

    def values(self) -> Values:
        state = self.station_lab.status()
        force = [None] * 4
        if state.wrench is not None:
            force = [*state.wrench[:3].tolist(), float(np.linalg.norm(state.wrench[:3]))]
        rows = [
            {"id": i, "t": t, "text": what, "mark": "HOLD" in what}
            for i, (t, what) in enumerate(state.history)
        ]
        shown: Values = {
            "peer": state.peer or "–",
            "trip": _ms(state.round_trip, 2),
            "heard": _ms(state.heard, 0),
            "age": _ms(state.age, 1) if state.age < 10.0 else "–",
            "received": str(state.received),
            "rate": fixed(self._rate(state.received), 0),
            "lost": str(state.lost),
            "dropped": str(state.dropped),
            **{f"force/{i}": f for i, f in enumerate(force)},
            "force-about": (
                "Force on the follower's tool (N), in its base frame."
                if state.wrench is not None
                else "Unknown: no message from the follower yet or link lost."
            ),
            "history": rows[::-1][:ROWS],
        }
        return shown | self._account()

    def _account(self) -> Values:
        energy_balance = self.station_lab.energy_balance()
        if energy_balance is None:
            return {}
        factor = self.station_lab.sim.player.real_time_factor
        return {
            "energy/0": energy_balance.master,
            "energy/1": energy_balance.follower,
            "energy/2": energy_balance.together,
            "buffered": fixed(1e3 * energy_balance.buffered, 1),
            "delay": _ms(energy_balance.round_trip, 1),
            "soft": SOFT.format(factor) if factor < SLOW else "",
        }

    def _rate(self, received: int) -> float:
        """Return the rate of commands (1/s), averaged over at least 1 s of real time.

        `received` is the number of commands so far.
        """
        t = self.station_lab.time()
        before = getattr(self, "_counted", (t, received, 0.0))
        if t < before[0] or received < before[1]:
            before = (t, received, 0.0)
        dt = t - before[0]
        if dt >= 1.0:
            self._counted = (t, received, (received - before[1]) / dt)
        elif not hasattr(self, "_counted"):
            self._counted = before
        return self._counted[2]


def _ms(seconds: float, digits: int) -> str:
    # The clocks of the two ends can drift and make a delay negative: then it is unknown.
    return fixed(1e3 * seconds, digits) if 0.0 <= seconds < math.inf else "–"


def _bar(
    name: str, label: str, *, signed: bool = True, unit: str = "N", most: float = SCALE
) -> str:
    return (
        f'<brazo-bar name="{name}" label="{escape(label)}" unit="{unit}" most="{most:g}" '
        f"{'signed' if signed else ''}></brazo-bar>"
    )
