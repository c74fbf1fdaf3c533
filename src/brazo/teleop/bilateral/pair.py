"""`Pair`: master and follower in one process, connected by one delay line per direction.

    pair = Pair(World("teleop-wall"), WaveVariables(), Hand(strokes([...])), delay=0.2, jitter=0.1)
    trace = pair.run(6.0)
    print(trace.report().text())

A pair can also be a task of a simulation: `sim.tasks.add(pair)`.  The two robots must have no
controller in the simulation.  The recording then contains the motion of both robots.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from brazo.errors import BrazoError
from brazo.teleop.bilateral.delay import DelayLine
from brazo.teleop.bilateral.hand import Hand
from brazo.teleop.bilateral.loops import FollowerLoop, MasterLoop
from brazo.teleop.bilateral.scheme import Scheme
from brazo.teleop.bilateral.task_map import TaskMap
from brazo.teleop.bilateral.tool_port import ToolPort
from brazo.teleop.bilateral.trace import Trace, Tracer
from brazo.world import World


class Pair:
    """Bilateral teleoperation between two robots of one world.

    `delay` (s) is the one-way delay, and `line` are further keyword arguments of `DelayLine`.  Both
    directions use the same values, except for the random seed: it is `seed` from master to follower
    and `seed` + 1 from follower to master.
    """

    def __init__(
        self,
        world: World,
        scheme: Scheme,
        hand: Hand | None = None,
        task_map: TaskMap | None = None,
        *,
        delay: float = 0.0,
        seed: int = 0,
        robots: tuple[str, str] = ("master", "follower"),
        **line: Any,
    ) -> None:
        master, follower = robots
        if master == follower:
            raise BrazoError(
                f"robots: master and follower are both '{master}'; specify two different robots"
            )
        self.world = world
        self.master = MasterLoop(ToolPort(world, master), scheme, hand)
        self.follower = FollowerLoop(ToolPort(world, follower), scheme, task_map)
        self.there = DelayLine(delay, seed=seed, **line)
        self.back = DelayLine(delay, seed=seed + 1, **line)
        self.tracer = Tracer()

    def tick(self, sim: object = None) -> None:
        """Run one cycle of master and follower at the current time, without stepping the world."""
        t = self.world.time
        self.there.send(t, self.master.step(t, self.back.receive(t)))
        self.back.send(t, self.follower.step(t, self.there.receive(t)))
        assert self.master.now is not None and self.follower.now is not None
        self.tracer.add(self.master.now, self.follower.now)

    def run(self, until: float) -> Trace:
        """Step the world until its time is `until` (s); return the trace of all cycles so far."""
        if not np.isfinite(until):
            raise BrazoError(f"until = {until}: expected a finite time in seconds")
        while self.world.time < until - 0.5 * self.world.dt:
            self.tick()
            self.world.step()
        return self.trace()

    def trace(self) -> Trace:
        """Return the trace recorded so far."""
        lines: Mapping[str, float] = {"delay": self.there.delay, "jitter": self.there.jitter}
        return self.tracer.trace(self.master.scheme.name, lines)
