"""Stations with force feedback: contact forces at the follower are reflected to the master.

Each side runs its `MasterLoop` or `FollowerLoop` in every step of its own simulation, in simulation
time.  The two sides exchange packets.  The master sends them in the field `extra` of its commands,
and the follower sends them in the field `extra` of its reports.  The field contains

    energy, then the numbers of the packet

where `energy` (J) is the energy that the sender's robot has put into the link since pairing.
A packet contains positions and sums, not increments, so it replaces all earlier packets (see
`brazo.teleop.bilateral.packet`).  With wave variables, lost or delayed packets reduce the accuracy
but never add energy.

The safety rules of the follower take precedence over the scheme.  The scheme is active only while
the follower follows commands; otherwise a spring and a damper hold the tool in place.  Every
engagement, the end of a clutch and every change of the mapping restart the follower's side: master
and follower then pair again at their current positions.
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
from brazo.teleop.bilateral.energy_balance import EnergyBalance
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
ARM_STIFFNESS, ARM_DAMPING = 300.0, 20.0  # N/m, N s/m, of the operator, as in `bilateral.Hand`


def scheme_named(name: str) -> Scheme:
    """Return a new bilateral scheme: `waves` or `position-force`.

    The id of the scheme is the current time, so a newer scheme has a higher id.
    """
    if name not in SCHEMES:
        raise BrazoError(f"no bilateral scheme '{name}'; schemes: {', '.join(SCHEMES)}")
    return SCHEMES[name](time.time_ns() // 1_000_000)


class CoupledMap:
    """Mapping for force feedback: directions and scale k of displacements and forces.

    Stiffness and damping are k² times as high in the follower's space as in the master's space.
    Therefore k is limited to `COUPLED_SCALES`, so that loops at the usual rates are stable.
    """

    def __init__(self, increments: IncrementMap | None = None) -> None:
        self.increments = self._checked(increments or IncrementMap())
        self.changes = 0

    @staticmethod
    def _checked(increments: IncrementMap) -> IncrementMap:
        scale_of(increments.scale, "scale of a coupled pair", *COUPLED_SCALES)
        return increments

    def set(self, name: str, value: Any) -> None:
        """Change the setting `scale` or `directions`."""
        if name in ("scale", "directions"):
            self.increments = self._checked(self.increments.changed(name, value))
        else:
            raise BrazoError(f"no setting {name!r}; settings: scale, directions")
        self.changes += 1

    def settings(self) -> dict[str, Any]:
        """Return the current `scale` and `directions`."""
        return self.increments.settings()

    def obstacle(self, master: MasterPoint, q: Array) -> str:
        """Return "", because the follower can always engage."""
        return ""

    def anchor(self, master: MasterPoint, q: Array) -> None:
        """Store the joint values q (n,) of the follower as its target."""
        self._q = q.copy()

    def step(self, master: MasterPoint, dt: float) -> JointTarget:
        """Return the stored joint values; the robot is moved by forces, not by this target."""
        # Forces move the robot, not the mapping.
        return JointTarget(self._q)


class ReflectingFollower(FollowerStation):
    """Follower station with force feedback: forces move the robot; contact forces are sent back."""

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
        """Whether the bilateral scheme currently moves the robot."""
        return self._loop is not None

    @property
    def energy_balance(self) -> EnergyBalance:
        """Energies of both robots as known to the follower, in the master's task space."""
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
    """Master station with force feedback.

    The operator and the reflected force move a simulated master arm, the only robot of `sim`.
    """

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
    def energy_balance(self) -> EnergyBalance:
        """Energies of both robots as known to the master, in the master's task space."""
        state = self.scheme.state("master")
        force = () if self._loop.now is None else self._loop.now.force
        return _account(self.scheme, state, state.energy, self._packets.energy, force)

    def start(self, play: bool = True) -> ReflectingMaster:
        """Add the station as a task to the simulation, so that every step calls `tick`.

        If `play`, the simulation is started; otherwise the caller must step it.
        """
        self._robot.controller = None
        self._sim.tasks.add(self)
        if play:
            self._sim.player.play()
        return self

    def close(self) -> None:
        """Pause the simulation, release the enable switch and finish the recording."""
        self._sim.player.pause()
        self._sim.tasks.remove(self)
        self._end()

    def run(self, seconds: float | None = None, tell: Callable[[str], None] | None = None) -> None:
        """Run until the device is done, or for at most `seconds` of wall-clock time.

        `tell` is called with each line of the log.
        """
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
        """Apply the forces on the master arm for one step and send a command if one is due.

        Called by the simulation.
        """
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
        """Return the pose (4, 4) of the simulated handle.

        The input `hand` sets the position to which the operator pulls the handle.
        """
        self._goal = hand.moved
        self._q = self._robot.q
        return self.robot.fk(self._q) if self.robot is not None else np.eye(4)

    def _extra(self) -> tuple[float, ...]:
        packet = self._packet
        if packet is None:
            return ()
        return (self.scheme.state("master").energy, *packet.numbers())


class _Inlet:
    """Reader of packets received over the link; each packet is returned once."""

    def __init__(self) -> None:
        self.energy = 0.0  # J, as reported by the peer for its robot
        self.refused = 0
        self._last: tuple[float, ...] = ()

    def take(self, extra: tuple[float, ...]) -> Sequence[Packet]:
        """Return the packet in `extra`; return an empty sequence if it is not new or not valid."""
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
) -> EnergyBalance:
    x, y, z = map(float, force) if len(force) else (0.0, 0.0, 0.0)
    return EnergyBalance(
        scheme.name, master, follower, state.buffered, state.delay.round_trip, (x, y, z)
    )
