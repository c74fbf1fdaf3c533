"""Bad networks on real sockets: HOLD in time, no jump, no replay, recovery only on request."""

import threading
import time

import pytest

from brazo.teleop.follow.safety import Cause, SafetyState
from brazo.teleop.link import channel, master_link, wire_format
from brazo.teleop.proxy import FaultProxy
from brazo.trajectory.jerk_limited import RuckigPlanner
from tests.teleop.rig import LIMITS, FollowerRig, MasterRig, until

STALE, LONG_PAUSE = 0.12, 0.03  # the rule, and the pause of the loop up to which 150 ms hold


@pytest.fixture
def stations():
    with (
        FollowerRig() as follower,
        FaultProxy(follower.link.url) as proxy,
        MasterRig(f"127.0.0.1:{proxy.port}") as master,
    ):
        yield follower, proxy, master
    follower.check()


def disturbed(follower, since):
    """The transition to HOLD after `since`, and the time of the last valid data before it."""
    until(lambda: follower.state is SafetyState.HOLD, "HOLD")
    hold = next(t for t in reversed(follower.follower.safety.log) if t.after is SafetyState.HOLD)
    if hold.t < since:
        raise AssertionError(f"it held before anything was disturbed: {hold}")
    # The state changes during a step, which is listed only after it.
    until(lambda: follower.steps[-1].t >= hold.t, "the step to HOLD is listed")
    last = max(received.sent for step, received in follower.taken if step.t <= hold.t)
    return hold, last


def stands(follower, master):
    """At rest, and it stays so while the hand still holds the switch."""
    until(follower.rested, "at rest")
    q = follower.steps[-1].sample.q
    begin = time.perf_counter()
    time.sleep(0.25)
    after = [step for step in follower.steps if step.t > begin]
    assert all((step.sample.q == q).all() and step.seq == 0 for step in after)
    assert follower.state is SafetyState.HOLD


FAULTS = {
    "delay": ("up", {"delay": 0.4}),
    "jitter": ("up", {"jitter": 2.0}),
    "loss": ("up", {"loss": 0.1, "stall": 0.4}),
    "throttle": ("up", {"throttle": 1000.0}),
    "half open": (None, {"half_open": True}),
    "half open towards the follower": ("up", {"half_open": True}),
    "freeze": ("up", {"freeze": True}),
}


@pytest.mark.parametrize("name", FAULTS)
def test_bad_network_causes_hold_in_time_and_recovers(stations, name):
    follower, proxy, master = stations
    master.set_moving(follower)
    way, faults = FAULTS[name]
    begin = time.perf_counter()
    proxy.set(way, **faults)
    hold, last = disturbed(follower, begin)
    assert hold.cause in (Cause.STALE, Cause.LINK, Cause.LATE)
    pause = follower.longest_pause(last)
    assert hold.t - last <= STALE + pause + 1e-3
    if pause <= LONG_PAUSE:
        assert hold.t - last <= 0.150
    # It brakes as its drives allow, from where it was.
    until(follower.rested, "at rest")
    s = next(step for step in follower.steps if step.t >= hold.t).sample
    stop = RuckigPlanner(LIMITS, "velocity", "none").plan(s.q, s.qd, s.qdd, [0.0, 0.0])
    assert follower.steps[-1].sample.q == pytest.approx(stop.at_time(stop.duration)[0], abs=1e-6)
    # The network recovered: delayed frames arrive together and cause no motion.
    proxy.set()
    stands(follower, master)
    master.set_moving(follower)


def test_cut_connection_causes_hold_and_recovers(stations):
    follower, proxy, master = stations
    master.set_moving(follower)
    session = master.link.session
    begin = time.perf_counter()
    proxy.cut()
    hold, last = disturbed(follower, begin)
    assert hold.cause in (Cause.LINK, Cause.STALE, Cause.LATE)
    assert hold.t - last <= STALE + follower.longest_pause(last) + 1e-3
    until(lambda: master.link.connected and master.link.session != session, "connected again")
    stands(follower, master)
    master.set_moving(follower)


def test_half_open_towards_the_master_breaks_the_link(stations):
    follower, proxy, master = stations
    master.set_moving(follower)
    begin = time.perf_counter()
    proxy.set("down", half_open=True)
    # The follower still receives; the master closes the link without an answer.
    hold, _ = disturbed(follower, begin)
    assert hold.cause in (Cause.LINK, Cause.STALE, Cause.LATE)
    until(lambda: master.link.counts["gone silent"] == 1, "the master gave up")
    proxy.set()
    stands(follower, master)
    master.set_moving(follower)


@pytest.mark.parametrize(
    "faults", [{"duplicate": 1.0}, {"reorder": 0.3}, {"duplicate": 0.5, "reorder": 0.5}]
)
def test_duplicate_and_reordered_frames_are_dropped(stations, faults):
    follower, proxy, master = stations
    proxy.set("up", **faults)
    master.set_moving(follower, seconds=1.0)
    assert follower.link.counts["replayed"] > 20
    seqs = [received.command.seq for _, received in follower.taken]
    assert seqs == sorted(set(seqs))


def test_frames_delayed_by_a_freeze_are_not_replayed(stations):
    follower, proxy, master = stations
    master.set_moving(follower)
    begin = time.perf_counter()
    proxy.set("up", freeze=True)
    disturbed(follower, begin)
    until(lambda: proxy.counts["up"]["frozen"] > 30, "frames waiting")
    before = follower.link.counts["expired"]
    proxy.set()
    until(lambda: follower.link.counts["expired"] > before, "old ones dropped")
    stands(follower, master)


def test_master_limits_unacknowledged_data(stations):
    _, proxy, master = stations
    until(lambda: master.link.counts["commands"] > 50, "commands")
    proxy.set("up", freeze=True)
    until(lambda: master.link.counts["held back"] > 20, "held back")
    kept = proxy.counts["up"]["frozen"]
    assert kept < 0.6 / 0.002  # what 250 ms and the round trip make, and a slow machine


def test_clock_jump_causes_hold(stations, monkeypatch):
    follower, _, master = stations
    true, own = wire_format.now_us, {master._thread, master.link._background._thread}
    ahead, counts = [0], follower.link.counts

    def jumped():
        return true() + (ahead[0] if threading.current_thread() in own else 0)

    def seen():
        return counts["from the future"] + counts["clock jumps"]

    for module in (channel, master_link):
        monkeypatch.setattr(module, "now_us", jumped)
    for _ in range(10):
        master.set_moving(follower)
        session, begin = master.link.session, time.perf_counter()
        ahead[0] += 3_000_000
        hold, _ = disturbed(follower, begin)
        assert hold.cause in (Cause.CLOCK, Cause.STALE, Cause.LATE, Cause.LINK)
        # A busy machine may lose the link just then, and a new one has no clock offset.
        until(lambda s=session: seen() or master.link.session != s, "the jump seen")
        if seen():
            return
    raise AssertionError("never seen")
