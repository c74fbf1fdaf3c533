"""Forces over the real link: two Deltas, a stiff wall, and a proxy with delay.

Both worlds are stepped by the test, in turn and no faster than the wall's clock, so both accounts
can be read at one moment.  On a slow machine the worlds are slower than the wall and the delay, in
their time, is shorter: what is passive for every delay stays so, and what swings up still does.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from brazo.errors import BrazoError
from brazo.simulation import Simulation
from brazo.teleop import FollowerLink, LinkRules, MasterLink, Rules, SafetyState
from brazo.teleop.bilateral.scheme import EndState
from brazo.teleop.devices.device import HandState
from brazo.teleop.mapping.base import IncrementMap
from brazo.teleop.proxy import FaultProxy
from brazo.teleop.stations import CoupledMap, ReflectingFollower, ReflectingMaster, scheme_named
from brazo.world import load_cell

PATIENT = Rules(degrade=5.0, recover=4.0, stale=10.0, late=30.0)
LINK = LinkRules(status_rate=500.0, silence=10.0, stalled=10.0)
ROUNDING = 1e-14  # J
WALL = -0.04  # m, below where the follower starts
PRESSED = -0.08  # m, reference of the hand
LINES = {"50 ms": (0.05, 0.0), "200 ± 100 ms": (0.2, 0.1)}


class Presser:
    """A hand that engages on request and moves down."""

    name = "presser"

    def __init__(self) -> None:
        self.run, self.down, self.clutch = False, 0.0, False
        self._engage = 0

    def engage(self) -> None:
        self.run = True
        self._engage += 1

    def read(self, t: float, state: int) -> HandState:
        return HandState(
            np.array([0.0, 0.0, self.down]), np.zeros(3), self.run, self._engage, self.clutch
        )

    def close(self) -> None:
        pass


@dataclass
class Coupled:
    """Both ends, stepped together."""

    follower: ReflectingFollower
    master: ReflectingMaster
    hand: Presser
    proxy: FaultProxy
    start: float  # m, of both tools
    energy: list[float] = field(default_factory=list)  # of both ports, while they are joined
    place: list[tuple[float, float]] = field(default_factory=list)  # of both tools, z
    force: list[float] = field(default_factory=list)
    felt: list[float] = field(default_factory=list)

    def ends(self) -> tuple[EndState, EndState]:
        return self.master.scheme.state("master"), self.follower.scheme.state("follower")

    @property
    def joined(self) -> bool:
        m, f = self.ends()
        return self.follower.coupled and m.peer == f.id and f.peer == m.id

    def step(self) -> None:
        self.follower.sim.step()
        self.master.sim.step()
        if self.joined:
            m, f = self.ends()
            self.energy.append(m.energy + f.energy)
            self.place.append((self._way(self.master), self._way(self.follower)))
            self.force.append(float(np.linalg.norm(self.follower.port.contact())))
            self.felt.append(self.master.energy_balance.force[2])

    def _way(self, station) -> float:
        return float(station.port.state()[0][2]) - self.start

    def pass_(self, seconds: float, until=lambda: False) -> bool:
        """Let so much time of the worlds pass, no faster than the wall's."""
        begin, t = time.perf_counter(), self.master.sim.time
        while self.master.sim.time - t < seconds:
            self.step()
            if until():
                return True
            ahead = self.master.sim.time - t - (time.perf_counter() - begin)
            if ahead > 0.002:
                time.sleep(ahead)
        return False

    def engage(self) -> None:
        """Engage, until both ends are joined."""
        self.hand.run = False
        # After a STOP the follower may not know the switch is held; the master's loop does.
        sent = self.master.link.counts["commands"]
        assert self.pass_(20.0, lambda: self.master.link.counts["commands"] > sent + 1)
        assert self.pass_(20.0, lambda: self.follower.follower.safety._released)
        self.hand.engage()
        assert self.pass_(20.0, lambda: self.joined), self.follower.follower.safety.refusal

    def press(self, seconds: float = 1.0) -> None:
        """Go down smoothly."""
        for share in np.linspace(0.0, 1.0, 50):
            self.hand.down = PRESSED * float(share * share * (3.0 - 2.0 * share))
            self.pass_(seconds / 50)


@contextlib.contextmanager
def coupled(scheme: str, delay: float = 0.0, jitter: float = 0.0) -> Iterator[Coupled]:
    cell = load_cell("teleop-wall")
    by_name = {one.name: one for one in cell.robots}
    there = Simulation(replace(cell, robots=(by_name["follower"],)))
    here = Simulation(replace(cell, robots=(by_name["master"],), fixtures=()))
    hand = Presser()
    follower = ReflectingFollower(
        there,
        FollowerLink(rules=LINK),
        "follower",
        CoupledMap(IncrementMap(np.eye(3))),
        scheme=scheme_named(scheme),
        rules=PATIENT,
    )
    with contextlib.ExitStack() as stack:
        stack.callback(follower.close)
        follower.start(play=False)
        proxy = stack.enter_context(FaultProxy(f"127.0.0.1:{follower.link.port}"))
        proxy.set(delay=delay, jitter=jitter)
        link = stack.enter_context(MasterLink(f"127.0.0.1:{proxy.port}", rules=LINK))
        link.wait(30.0)
        master = ReflectingMaster(link, hand, here, scheme=scheme_named(scheme), valid=9.0)
        stack.callback(master.close)
        master.start(play=False)
        yield Coupled(follower, master, hand, proxy, float(master.port.state()[0][2]))


@pytest.mark.parametrize("line", LINES)
def test_contact_with_wave_variables_is_passive_and_settles(line):
    with coupled("waves", *LINES[line]) as pair:
        pair.engage()
        pair.press()
        pair.pass_(3.0)
        m, f = pair.ends()
        assert pair.joined, "one life from the first touch to the last"
        # What a port gives was there before, to the last bits of a sum.
        assert min(pair.energy) >= -ROUNDING
        for here, there in ((m, f), (f, m)):
            assert here.spent <= here.received <= there.sent
            assert abs(here.energy - (here.coupling + here.sent - here.spent)) < 1e-12
        way = np.array(pair.place)
        assert np.abs(way).max() < 0.1, "nothing runs away"
        assert np.ptp(way[-500:, 0]) < 0.03, "nothing swings"
        # The follower leans on the wall, the hand farther down.
        assert WALL - 0.002 < way[-1, 1] < WALL + 0.001 and way[-1, 0] < WALL - 0.01
        assert np.mean(pair.force[-500:]) > 0.1
        # The contact force is sent over the link and applied to the hand.
        reported = pair.master.link.status()
        assert reported is not None and reported.status.wrench is not None
        assert pair.master.energy_balance.follower == pytest.approx(f.energy, abs=0.05)
        assert np.mean(pair.felt[-500:]) > 0.1


@pytest.mark.parametrize("line", LINES)
def test_position_force_scheme_is_unstable_with_delay(line):
    with coupled("position-force", *LINES[line]) as pair:
        pair.engage()
        pair.press()
        # Joules out of nothing, and no end to it.
        assert pair.pass_(60.0, lambda: pair.energy[-1] < -5.0), min(pair.energy)


def test_force_feedback_ends_with_the_link_and_resumes():
    with coupled("waves") as pair:
        pair.engage()
        pair.press()
        pair.pass_(0.5)
        assert pair.master.energy_balance.force[2] > 0.5
        first = pair.ends()[1].id
        pair.follower.stop("for the test")
        assert pair.follower.follower.safety.state is SafetyState.HOLD
        assert pair.pass_(20.0, lambda: pair.master.energy_balance.force[2] == 0.0)
        assert not pair.follower.coupled
        place = pair.follower.port.state()[0]
        pair.hand.down = 0.0
        pair.pass_(0.5)
        assert np.abs(pair.follower.port.state()[0] - place).max() < 2e-3, "held where it was"
        pair.engage()
        assert pair.ends()[1].id > first
        pair.pass_(0.3)
        assert min(pair.energy) >= -ROUNDING


def test_mapping_change_and_clutch_resume_without_motion():
    with coupled("waves") as pair:
        pair.engage()
        place = pair.follower.port.state()[0]
        first = pair.ends()[1].id
        pair.master.link.set("scale", 2.0)
        assert pair.pass_(20.0, lambda: pair.ends()[1].id > first and pair.joined)
        assert pair.follower.mapping.settings()["scale"] == 2.0
        pair.hand.clutch = True
        assert pair.pass_(20.0, lambda: not pair.follower.coupled)
        pair.hand.down = -0.02
        pair.pass_(0.3)
        pair.hand.clutch = False
        assert pair.pass_(20.0, lambda: pair.joined)
        assert np.abs(pair.follower.port.state()[0] - place).max() < 1e-3
        # A finer follower pushes with more of the scheme's force, but never beyond its own limit.
        assert pair.follower.scheme.force_limit == 40.0 / 2.0
        pair.master.link.set("scale", 5.0)
        assert pair.pass_(20.0, lambda: any("expected 0.25 to 4" in text for text in said(pair)))
        assert pair.follower.mapping.settings()["scale"] == 2.0
        with pytest.raises(BrazoError, match="force-controlled"):
            pair.follower.move_to(np.zeros(3))


def said(pair) -> list[str]:
    return [text for _, text in pair.master.log.last(20)]


def test_invalid_packets_are_rejected():
    with coupled("waves") as pair:
        pair.engage()
        assert pair.follower._packets.take((0.0, 1.0, 2.0)) == ()
        assert pair.follower._packets.refused == 1
        pair.pass_(0.05)
        assert pair.joined
    with pytest.raises(BrazoError, match="schemes: waves, position-force"):
        scheme_named("magic")
