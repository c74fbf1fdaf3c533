"""Time: play, pause, step, reset, and how fast it passes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from brazo.lab.panels.base import Panel, Values
from brazo.lab.panels.html import button, buttons, section, slider

if TYPE_CHECKING:
    from brazo.lab.app import Lab


class SimulationPanel(Panel):
    """The simulation's clock and settings."""

    id, title, icon, side, order = "simulation", "Simulation", "clock", "right", 10

    def __init__(self, lab: Lab) -> None:
        super().__init__(lab)
        self.on_number("speed", lab.clock.set_speed, unit="percent")

    def values(self) -> Values:
        return {"speed": 100.0 * self.lab.sim.player.speed}

    def html(self) -> str:
        return section(
            "Time",
            buttons(
                button("Play", "/play", look="primary", icon="play"),
                button("Pause", "/pause", icon="pause"),
                button("Step", "/step", 1, icon="step"),
                button("Reset", "/reset", icon="restart"),
            ),
            slider(
                "speed", "%", label="Speed", least=0, most=400, digits=0, marks=[0, 100, 200, 400]
            ),
        )
