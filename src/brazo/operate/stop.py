"""`StopAll`: STOP for every robot of a simulation."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from brazo.simulation import Simulation
    from brazo.simulation.motion import Motion


class StopAll:
    """STOP: pauses the tasks of a simulation and brakes its robots within their limits."""

    def __init__(self) -> None:
        self._brakes: dict[str, Motion] = {}  # braking motion of each robot at the last STOP

    def stop(self, sim: Simulation) -> None:
        """Pause all tasks and start to brake all robots; thread-safe.

        Tasks without a method `pause` are not paused.
        """
        with sim.lock:
            before = {name: robot.motion for name, robot in sim.robots.items()}
            for task in sim.tasks:
                pause = getattr(task, "pause", None)
                if callable(pause):
                    pause()
            for name, robot in sim.robots.items():
                # A program brakes its robots along their paths; a second STOP must not divert them.
                if robot.motion is before[name] and robot.motion is not self._brakes.get(name):
                    robot.stop()
                self._brakes[name] = robot.motion
