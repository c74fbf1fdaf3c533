"""Stations with force feedback: contact forces at the follower are reflected to the master.

Both sides run their loop of `brazo.teleop.bilateral` in every step of their own simulation, in
simulation time, and exchange packets: the master in `extra` of its commands, the follower in
`extra` of its reports, both as

    energy, then the numbers of the packet

where `energy` (J) is the energy that the sender's robot has put into the link so far.  Packets
carry sums, so the newest is sufficient; lost or delayed packets cost accuracy but never add energy.

The safety rules of the follower take precedence over the scheme.  The scheme is active only while
the follower follows; otherwise a spring and a damper hold the tool in place.  Every engagement, the
end of a clutch and every change of the mapping restart the follower's side: the two pair again at
their current positions.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from brazo.errors import BrazoError
from brazo.teleop.bilateral.account import Account
from brazo.teleop.bilateral.loops import FollowerLoop, MasterLoop
from brazo.teleop.bilateral.packet import LARGEST_SUM, Packet
from brazo.teleop.bilateral.position_force import PositionForce
from brazo.teleop.bilateral.scheme import EndState, Scheme, limited
from brazo.teleop.bilateral.task_map import TaskMap
from brazo.teleop.bilateral.tool_port import ToolPort
from brazo.teleop.bilateral.waves import WaveVariables
from brazo.teleop.devices.device import Device, HandState
from brazo.teleop.follow.follower import FollowerStep
from brazo.teleop.follow.safety import Rules, SafetyState
from brazo.teleop.link.follower_link import FollowerLink
from brazo.teleop.link.master_link import VALID, MasterLink
from brazo.teleop.mapping.base import IncrementMap, JointTarget, MasterPoint, scale_of
from brazo.teleop.stations.follower import FollowerStation
from brazo.teleop.stations.master import RATE, MasterStation
from brazo.trajectory.base import Sample

if TYPE_CHECKING:
    from brazo.simulation import Simulation

Array = np.ndarray
SCHEMES: dict[str, Callable[[int], Scheme]] = {
    "waves": lambda id: WaveVariables(id=id),
    "position-force": lambda id: PositionForce(id=id),
}
COUPLED_SCALES = (0.25, 4.0)
STATUS_RATE = 500.0  # Hz, rate of reports on a link with force feedback
HOLD_STIFFNESS, HOLD_DAMPING, HOLD_FORCE = 2000.0, 60.0, 40.0  # N/m, N s/m, N
ARM_STIFFNESS, ARM_DAMPING = 300.0, 20.0  # N/m, N s/m, of the operator: see `bilateral.HandState`


def scheme_named(name: str) -> Scheme:
    """Return a scheme for one side, with an id larger than that of any side created before."""
    if name not in SCHEMES:
        raise BrazoError(f"no bilateral scheme '{name}'; there are {', '.join(SCHEMES)}")
    return SCHEMES[name](time.time_ns() // 1_000_000)


class CoupledMap:
    """Mapping of a coupled pair: directions and scale k, for displacements and forces.

    In the follower's space the springs and dampers of the master's space are k² times as strong, so
    k is limited to `COUPLED_SCALES`: beyond them, a loop of the usual rate could not keep them
    stable.
    """

    def __init__(self, increments: IncrementMap | None = None) -> None:
        self.increments = self._checked(increments or IncrementMap())
        self.changes = 0

    @staticmethod
    def _checked(increments: IncrementMap) -> IncrementMap:
        scale_of(increments.scale, "scale of a coupled pair", *COUPLED_SCALES)
        return increments

    def set(self, name: str, value: Any) -> None:
        """Set `scale` or `directions`."""
        if name in ("scale", "directions"):
            self.increments = self._checked(self.increments.changed(name, value))
        else:
            raise BrazoError(f"no setting {name!r}; there are scale, directions")
        self.changes += 1

    def settings(self) -> dict[str, Any]:
        """Return the current settings."""
        return self.increments.settings()

    def obstacle(self, master: MasterPoint, q: Array) -> str:
        """Return an empty text: the follower can always engage."""
        return ""

    def anchor(self, master: MasterPoint, q: Array) -> None:
        """Keep q (n,) as the target."""
        self._q = q.copy()

    def step(self, master: MasterPoint, dt: float) -> JointTarget:
        """Return the kept joint values."""
        # Forces move the robot, not the mapping.
        return JointTarget(self._q)


class ReflectingFollower(FollowerStation):
    """Follower robot that is moved by forces and reports its contact force."""

    def __init__(
        self,
        sim: Simulation,
        link: FollowerLink,
        robot: str | None = None,
        mapping: CoupledMap | None = None,
        *,
        scheme: Scheme,
        rules: Rules | None = None,
        record: str | Path | None = None,
        replace: bool = False,
    ) -> None:
        self._coupled = mapping or CoupledMap()
        super().__init__(
            sim, link, robot, self._coupled, rules=rules, record=record, replace=replace
        )
        self.by_hand = False
        self.scheme = scheme
        # The follower pushes with k times the scheme's force; limit it to the value at the start.
        self._limit = scheme.force_limit
        self._force = self._limit * self._coupled.increments.scale
        self.port = ToolPort(sim.world, self.robot.name)
        self._loop: FollowerLoop | None = None
        self._changes = 0
        self._clutched = False
        self._place = self.port.state()[0]
        self._packets = _Inlet()
        self._packet: Packet | None = None

    @property
    def coupled(self) -> bool:
        """Whether the scheme moves the robot now."""
        return self._loop is not None

    @property
    def account(self) -> Account:
        """Energies as known to this side, in the master's task space."""
        state = self.scheme.state("follower")
        force = () if self._loop is None or self._loop.now is None else self._loop.now.force
        return _account(self.scheme, state, self._packets.energy, state.energy, force)

    def start(self, play: bool = True) -> ReflectingFollower:
        self.robot.controller = None
        super().start(play)
        return self

    def move_to(self, q: Any, share: float = 0.0) -> None:
        raise BrazoError("this robot is force-controlled: only a master can move it")

    def next(self) -> Sample:
        super().next()
        assert self.step is not None
        latest = self.link.view().latest
        command = None if latest is None else latest.command
        fresh = self._packets.take(() if command is None else command.extra)
        moving = self.step.state in (SafetyState.ENGAGED, SafetyState.DEGRADED)
        clutched = latest is not None and latest.clutch
        if not moving or clutched or self._coupled.changes != self._changes:
            self._uncouple()
            self._changes = self._coupled.changes
        elif self._loop is None:
            self._couple()
        if self._loop is None:
            self._hold()
        else:
            self._packet = self._loop.step(self.sim.time, fresh)
        return self.step.sample

    def _as_is(self, step: FollowerStep) -> FollowerStep:
        # Forces move the robot: its reference is its current position.
        q, rest = self.robot.q, np.zeros(self.robot.n)
        return replace(step, sample=Sample(q, rest, rest))

    def _couple(self) -> None:
        self.scheme.force_limit = min(self._limit, self._force / self._coupled.increments.scale)
        self.scheme.restart("follower")
        self._loop = FollowerLoop(self.port, self.scheme, TaskMap(self._coupled.increments))

    def _uncouple(self) -> None:
        if self._loop is not None:
            self._loop = self._packet = None
            self._place = self.port.state()[0]

    def _hold(self) -> None:
        x, v = self.port.state()
        pull = HOLD_STIFFNESS * (self._place - x) - HOLD_DAMPING * v
        self.port.push(limited(pull, HOLD_FORCE))

    def _extra(self) -> tuple[float, ...]:
        packet = self._packet
        if packet is None:
            return ()
        return (self.scheme.state("follower").energy, *packet.numbers())


class ReflectingMaster(MasterStation):
    """Simulated master arm, moved by the operator and the reflected force."""

    def __init__(
        self,
        link: MasterLink,
        device: Device,
        sim: Simulation,
        *,
        scheme: Scheme,
        rate: float = RATE,
        valid: float = VALID,
        record: str | Path | None = None,
        replace: bool = False,
    ) -> None:
        (name,) = sim.robots
        arm = sim.robots[name]
        super().__init__(
            link, device, arm.arm, arm.q, rate=rate, valid=valid, record=record, replace=replace
        )
        self._sim, self._robot = sim, arm
        self.scheme = scheme
        self.port = ToolPort(sim.world, name)
        self._loop = MasterLoop(self.port, scheme)
        self._origin = self.port.state()[0]
        self._packets = _Inlet()
        self._packet: Packet | None = None
        self._coupled = False
        self._every = max(1, round(1.0 / (rate * sim.dt)))
        self._count = 0
        self._goal = np.zeros(3)
        self._tell: Callable[[str], None] = lambda text: None

    @property
    def sim(self) -> Simulation:
        return self._sim

    @property
    def failure(self) -> BaseException | None:
        return self._sim.player.error

    @property
    def account(self) -> Account:
        """Energies as known to this side."""
        state = self.scheme.state("master")
        force = () if self._loop.now is None else self._loop.now.force
        return _account(self.scheme, state, state.energy, self._packets.energy, force)

    def start(self, play: bool = True) -> ReflectingMaster:
        """Start sending, and run the simulation unless the caller steps it."""
        self._robot.controller = None
        self._sim.tasks.add(self)
        if play:
            self._sim.player.play()
        return self

    def close(self) -> None:
        """Release the switch and end."""
        self._sim.player.pause()
        self._sim.tasks.remove(self)
        self._end()

    def run(self, seconds: float | None = None, tell: Callable[[str], None] | None = None) -> None:
        """Send commands until the device is done, or for `seconds`."""
        self._tell = tell or self._tell
        end = math.inf if seconds is None else time.monotonic() + seconds
        self.start()
        try:
            while not self.hand.done and time.monotonic() < end:
                if self._sim.player.error is not None:
                    raise BrazoError(f"the simulation stopped: {self._sim.player.error}")
                time.sleep(0.02)
        finally:
            self.close()

    def tick(self, sim: Simulation) -> None:
        """Run one step of the arm; called by the simulation."""
        report = self.link.status() if self.link.connected else None
        follows = report is not None and report.status.state in (
            SafetyState.ENGAGED,
            SafetyState.DEGRADED,
        )
        if self._coupled and not follows:
            # Reset, so that no force from before the follower released is reflected after it.
            self.scheme.restart("master")
        self._coupled = follows
        extra = report.status.extra if report is not None and follows else ()
        self._packet = self._loop.step(sim.time, self._packets.take(extra))
        x, v = self.port.state()
        pull = ARM_STIFFNESS * (self._origin + self._goal - x) - ARM_DAMPING * v
        self.port.pull(pull)
        self._count += 1
        if self._count % self._every == 0:
            self.cycle(self._tell)

    def _held(self, hand: HandState) -> Array:
        """Return the actual handle pose (4, 4); the operator only pulls it."""
        self._goal = hand.moved
        self._q = self._robot.q
        return self.robot.fk(self._q) if self.robot is not None else np.eye(4)

    def _extra(self) -> tuple[float, ...]:
        packet = self._packet
        if packet is None:
            return ()
        return (self.scheme.state("master").energy, *packet.numbers())


class _Inlet:
    """Reader of packets from the link: returns the newest once."""

    def __init__(self) -> None:
        self.energy = 0.0  # J, as reported by the peer for its robot
        self.refused = 0
        self._last: tuple[float, ...] = ()

    def take(self, extra: tuple[float, ...]) -> Sequence[Packet]:
        """Return the packet in `extra` if it is new."""
        if not extra or extra is self._last:
            return ()
        self._last = extra
        try:
            packet = Packet.read(extra[1:])
        except BrazoError:
            self.refused += 1
            return ()
        self.energy = min(max(float(extra[0]), -LARGEST_SUM), LARGEST_SUM)
        return (packet,)


def _account(
    scheme: Scheme, state: EndState, master: float, follower: float, force: Sequence[float] | Array
) -> Account:
    x, y, z = map(float, force) if len(force) else (0.0, 0.0, 0.0)
    return Account(scheme.name, master, follower, state.buffered, state.delay.round_trip, (x, y, z))
