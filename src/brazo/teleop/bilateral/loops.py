"""The loop of each end: read the robot, ask the scheme, move the robot.

    packet = MasterLoop(port, scheme, hand).step(t, received)
    packet = FollowerLoop(port, scheme, map).step(t, received)

The two know nothing of each other but packets: a delay line in one process, or a network, lies
between them.
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
class Moment:
    """One end in one cycle, in the master's task space."""

    t: float
    x: Array  # (3,) m from where it was at the start
    v: Array
    force: Array  # (3,) N that the scheme puts on the tool
    outside: Array  # (3,) N from the hand at the master, from contacts at the follower
    goal: Array  # (3,) where the hand wants to be; where the follower is pulled to
    state: EndState


class MasterLoop:
    """The master's end; without a hand the handle is left to whoever else pulls it."""

    def __init__(self, port: ToolPort, scheme: Scheme, hand: Hand | None = None) -> None:
        self.port, self.scheme, self.hand = port, scheme, hand
        self.now: Moment | None = None
        self._start = port.state()[0]

    def step(self, t: float, received: Sequence[Packet]) -> Packet:
        """One cycle."""
        x, v = self.port.state()
        force, packet = self.scheme.master(t, x, v, received)
        self.port.push(force)
        way = goal = x - self._start
        pull = np.zeros(3)
        if self.hand is not None:
            goal, speed = self.hand.wanted(t)
            pull = self.hand.pull(goal, speed, way, v)
            self.port.pull(pull)
        self.now = Moment(t, way, v, force, pull, goal, self.scheme.state("master"))
        return packet


class FollowerLoop:
    """The follower's end."""

    def __init__(self, port: ToolPort, scheme: Scheme, task_map: TaskMap | None = None) -> None:
        self.port, self.scheme, self.map = port, scheme, task_map or TaskMap()
        self.now: Moment | None = None
        self._start = port.state()[0]

    def step(self, t: float, received: Sequence[Packet]) -> Packet:
        """One cycle."""
        x, v = self.port.state()
        x, v = self.map.to_master(x - self._start), self.map.to_master(v)
        f = self.map.force_to_master(self.port.contact())
        command, packet = self.scheme.follower(t, x, v, f, received)
        self.port.push(self.map.force_to_follower(command.force))
        self.now = Moment(t, x, v, command.force, f, command.x, self.scheme.state("follower"))
        return packet
