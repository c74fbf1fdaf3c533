"""Control loops of master and follower: read the robot, evaluate the scheme, apply the force.

    packet = MasterLoop(port, scheme, hand).step(t, received)
    packet = FollowerLoop(port, scheme, map).step(t, received)

The two loops exchange only packets, over a `DelayLine` in one process or over a network.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from brazo.teleop.bilateral.hand import Hand
from brazo.teleop.bilateral.packet import Packet
from brazo.teleop.bilateral.scheme import Array, EndState, Scheme
from brazo.teleop.bilateral.task_map import TaskMap
from brazo.teleop.bilateral.tool_port import ToolPort


@dataclass(frozen=True, slots=True, eq=False)
class LoopState:
    """Values of one side (master or follower) in one cycle, in the master's task space."""

    t: float
    x: Array  # (3,) m, relative to the start position
    v: Array
    force: Array  # (3,) N, applied to the tool by the scheme
    outside: Array  # (3,) N, of the operator at the master, of the contacts at the follower
    goal: Array  # (3,) m, reference of the operator (master) or of the scheme (follower)
    state: EndState


class MasterLoop:
    """Control loop of the master.

    `hand` is the operator model; if it is None, other forces have to move the handle.
    """

    def __init__(self, port: ToolPort, scheme: Scheme, hand: Hand | None = None) -> None:
        self.port, self.scheme, self.hand = port, scheme, hand
        self.now: LoopState | None = None
        self._start = port.state()[0]

    def step(self, t: float, received: Sequence[Packet]) -> Packet:
        """Run one cycle at time t (s) and return the packet to send."""
        x, v = self.port.state()
        force, packet = self.scheme.master(t, x, v, received)
        self.port.push(force)
        moved = goal = x - self._start
        pull = np.zeros(3)
        if self.hand is not None:
            goal, speed = self.hand.wanted(t)
            pull = self.hand.pull(goal, speed, moved, v)
            self.port.pull(pull)
        self.now = LoopState(t, moved, v, force, pull, goal, self.scheme.state("master"))
        return packet


class FollowerLoop:
    """Control loop of the follower; `task_map` converts its motion to the master's task space."""

    def __init__(self, port: ToolPort, scheme: Scheme, task_map: TaskMap | None = None) -> None:
        self.port, self.scheme, self.map = port, scheme, task_map or TaskMap()
        self.now: LoopState | None = None
        self._start = port.state()[0]

    def step(self, t: float, received: Sequence[Packet]) -> Packet:
        """Run one cycle at time t (s) and return the packet to send."""
        x, v = self.port.state()
        x, v = self.map.to_master(x - self._start), self.map.to_master(v)
        f = self.map.force_to_master(self.port.contact())
        command, packet = self.scheme.follower(t, x, v, f, received)
        self.port.push(self.map.force_to_follower(command.force))
        self.now = LoopState(t, x, v, command.force, f, command.x, self.scheme.state("follower"))
        return packet
