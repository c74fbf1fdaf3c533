"""The follower in virtual time: every fault ends in a bounded stop, nothing is replayed."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import brazo
from brazo.errors import BrazoError
from brazo.teleop.follow.follower import LONGEST_STEP, Follower, LinkView
from brazo.teleop.follow.safety import Cause, SafetyState
from brazo.teleop.link.inbox import Received
from brazo.teleop.link.wire_format import CLUTCH, RUN, Command, Setting
from brazo.teleop.mapping.base import JointTarget
from brazo.teleop.mapping.joint_map import JointMap
from brazo.teleop.mapping.pose_map import PoseMap
from brazo.trajectory import Limits, limits_of
from brazo.trajectory.cartesian_jog import ToolLimits

LIMITS = Limits([2.0, 2.0], [8.0, 8.0], [80.0, 80.0], [[-3, 3]] * 2)
DT = 0.002


class Bench:
    """A follower, a clock and a perfect link that can be disturbed."""

    def __init__(self):
        self.follower = Follower(LIMITS, JointMap(LIMITS), [0.0, 0.0])
        self.t, self.seq, self.session = 0.0, 0, 1
        self.engagement = 0
        self.latest = None
        self.jumps = self.missing = 0
        self.before, self.looked = self.follower.tracker.state, 0.0
        self.steps = []

    def send(self, q=(0.0, 0.0), flags=RUN, age=0.0, valid=0.1, clock=0.0):
        self.seq += 1
        sent = self.t - age
        command = Command(
            self.session,
            self.seq,
            round(1e6 * (sent + clock)),
            0,
            round(1e6 * valid),
            flags,
            self.engagement,
            tuple(q),
        )
        self.latest = Received(command, self.t, sent, sent + valid)

    def step(self, dt=DT):
        self.t += dt
        view = LinkView(self.session, self.latest, self.jumps, self.missing)
        step = self.follower.step(self.t, view)
        sample, dt = step.sample, min(self.t - self.looked, LONGEST_STEP)
        # The reference never moves faster than the drives allow.
        assert (np.abs(sample.q - self.before.q) <= LIMITS.speed * dt + 1e-9).all()
        assert (np.abs(sample.qdd) <= LIMITS.acceleration * (1 + 1e-9)).all()
        if dt > 0:
            assert (np.abs(sample.qdd - self.before.qdd) <= LIMITS.jerk * dt * (1 + 1e-6)).all()
        self.before, self.looked = sample, self.t
        self.steps.append(step)
        return step

    def engage(self, q=(0.0, 0.0)):
        self.send(q, flags=0)
        self.step()
        self.engagement += 1
        self.send(q)
        assert self.step().state is SafetyState.ENGAGED, self.steps[-1].cause

    def run(self, seconds, motion):
        """Follow a hand that moves both joints by motion(t)."""
        start = self.t
        while self.t - start < seconds:
            self.send((motion(self.t - start),) * 2)
            step = self.step()
        return step


def moving():
    """A follower in full motion: 0.8 rad/s."""
    bench = Bench()
    bench.engage()
    step = bench.run(0.6, lambda t: 0.8 * t)
    assert step.state is SafetyState.ENGAGED and step.sample.qd[0] == pytest.approx(0.8, abs=0.05)
    return bench


def rest(bench):
    """Let it brake; return the braking distance."""
    q = bench.before.q[0]
    for _ in range(500):
        step = bench.step()
    assert not bench.follower.tracker.moving and not step.sample.qd.any()
    return step.sample.q[0] - q


def test_follower_tracks_the_master():
    bench = Bench()
    bench.engage((1.0, -1.0))
    start = bench.t
    errors = []
    for _ in range(1500):
        x = 0.3 * math.sin(2 * (bench.t - start))
        bench.send((1.0 + x, -1.0 - x))
        step = bench.step()
        errors.append(abs(step.sample.q[0] - x))
        assert step.seq == bench.seq and step.share == 1.0
    assert max(errors[500:]) < 0.01
    assert step.sample.q[1] == pytest.approx(-step.sample.q[0], abs=1e-6)


def test_a_stall_slows_down_and_then_holds_in_time():
    bench = moving()
    last = bench.latest.sent
    states = []
    while bench.t - last < 0.3:
        step = bench.step()
        states.append((step.t, step.state))
    hold = next(t for t, state in states if state is SafetyState.HOLD) - last
    slow = next(t for t, state in states if state is SafetyState.DEGRADED) - last
    assert 0.05 <= slow <= 0.05 + 2 * DT
    assert 0.12 <= hold <= 0.12 + 2 * DT
    assert bench.follower.safety.cause is Cause.STALE


def test_backlog_is_not_replayed():
    bench = moving()
    stood = bench.before.q[0]
    stalled, start = [], bench.t
    while bench.t - start < 0.5:
        # What the master keeps sending into the stalled network; it moves away.
        bench.send((0.48 + 0.8 * (bench.t - start),) * 2)
        stalled.append(bench.latest)
        bench.latest = None
        bench.step()
    assert bench.follower.safety.state is SafetyState.HOLD
    held = bench.before.q[0]
    assert held - stood < 0.15
    for received in stalled:
        bench.latest = Received(received.command, bench.t, received.sent, received.expires)
        step = bench.step(0.0001)
        assert step.seq == 0 and step.state is SafetyState.HOLD
    assert bench.follower.unused >= 200
    assert rest(bench) == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize(
    ("disturb", "cause"),
    [
        (lambda b: setattr(b, "session", 0), Cause.LINK),
        (lambda b: setattr(b, "session", 2), Cause.LINK),
        (lambda b: setattr(b, "jumps", 1), Cause.CLOCK),
        (lambda b: setattr(b, "missing", 25), Cause.GAP),
        (lambda b: b.send((5.0, 5.0)), Cause.JUMP),
        (lambda b: b.send(()), Cause.JUMP),
        (lambda b: b.follower.stop(b.t), Cause.STOP),
        (lambda b: setattr(b, "t", b.t + 0.11), Cause.LATE),
    ],
)
def test_fault_brakes_and_recovery_needs_a_request(disturb, cause):
    bench = moving()
    disturb(bench)
    step = bench.step()
    assert (step.state, bench.follower.safety.cause) == (SafetyState.HOLD, cause)
    way = rest(bench)
    # From 0.8 rad/s with 8 rad/s² and 80 rad/s³: v/2 (v/a + a/j), and what a cycle adds.
    assert 0.0 < way <= 0.4 * (0.1 + 0.1) + 0.8 * 2 * DT + 0.01
    # The hand still holds the switch: nothing.
    bench.session = max(bench.session, 1)
    for _ in range(20):
        bench.send((1.0, 1.0))
        assert bench.step().state is SafetyState.HOLD
    held = bench.before.q.copy()
    bench.engage((1.0, 1.0))
    step = bench.run(0.2, lambda t: 1.0 + 0.1 * t)
    assert step.state is SafetyState.ENGAGED
    assert step.sample.q == pytest.approx(held + 0.02, abs=0.005)


def test_stop_during_local_motion_blocks_a_waiting_master():
    bench = Bench()
    bench.send(flags=0)
    bench.step()
    bench.follower.tracker.target([0.5, 0.5], None, 0.25)
    bench.step()
    bench.engagement += 1
    for _ in range(100):  # the master holds its switch and waits
        bench.send()
        step = bench.step()
    assert step.state is SafetyState.IDLE and step.sample.qd.all()
    assert "still braking" in step.cause
    bench.follower.stop(bench.t, "on the page")
    for k in range(500):
        bench.send((1e-4 * k,) * 2)
        step = bench.step()
        assert step.state is SafetyState.HOLD, f"{step.state.name} {1e3 * DT * k:.0f} ms after STOP"
    assert not bench.follower.tracker.moving and bench.before.q[0] < 0.49
    assert (
        step.cause == "stopped at the follower: on the page; release, then press and hold to resume"
    )
    bench.engage()


def test_release_stops_without_a_fault():
    bench = moving()
    bench.send((0.48, 0.48), flags=0)
    assert bench.step().state is SafetyState.IDLE
    assert 0.0 < rest(bench) < 0.1


def test_few_missing_sequence_numbers_are_no_fault():
    bench = moving()
    bench.missing = 24
    assert bench.step().state is SafetyState.ENGAGED


def test_clutch_lets_the_master_move_alone():
    bench = Bench()
    bench.engage()
    bench.run(0.5, lambda t: 0.2 * t)
    rested = None
    for k in range(250):
        bench.send((0.1 - 0.002 * k,) * 2, flags=RUN | CLUTCH)
        step = bench.step()
        assert step.state is SafetyState.ENGAGED
    assert step.warnings == ("clutch: only the master moves",)
    rested = step.sample.q[0]
    assert rested == pytest.approx(0.1, abs=0.01)
    for k in range(250):
        bench.send((-0.398 + 0.0004 * k,) * 2)
        step = bench.step()
    assert step.sample.q[0] == pytest.approx(rested + 0.1, abs=0.01)


def test_an_obstacle_at_the_end_of_a_clutch_is_not_a_jump_of_the_master():
    bench = Bench()
    bench.engage()
    bench.follower.set(Setting(1, 1, 0, 0, "absolute", True))
    for k in range(100):
        bench.send((0.002 * k,) * 2, flags=RUN | CLUTCH)
        bench.step()
    bench.send((0.2, 0.2))
    step = bench.step()
    assert (step.state, bench.follower.safety.cause) == (SafetyState.HOLD, Cause.LOST)
    assert "master and follower differ by" in step.cause


def test_old_commands_are_followed_more_slowly():
    bench = Bench()
    bench.engage()
    start = bench.t
    while bench.t - start < 1.5:
        bench.send((1.6 * (bench.t - start),) * 2, age=0.1, valid=0.2)
        step = bench.step()
    assert step.state is SafetyState.DEGRADED
    assert 0.1 < step.share < 0.5
    assert step.sample.qd[0] <= step.share * 2.0 + 1e-9


def test_grip_command_is_passed_on():
    bench = Bench()
    bench.engage()
    bench.send()
    bench.latest = Received(
        Command(1, 99, 0, 0, 100, RUN, 1, (0.0, 0.0), None, 0.7),
        bench.t,
        bench.t,
        bench.t + 0.1,
    )
    assert bench.step().grip == 0.7


class Broken(JointMap):
    """A mapping that fails when the hand is past 0.1."""

    def __init__(self, how):
        super().__init__(LIMITS)
        self.how = how

    def step(self, master, dt):
        if master.q[0] > 0.1:
            return self.how()
        return super().step(master, dt)


def raising(error):
    raise error


@pytest.mark.parametrize(
    ("how", "said"),
    [
        (lambda: raising(BrazoError("the arm cannot be there")), "the arm cannot be there"),
        (lambda: raising(ZeroDivisionError("division by zero")), "ZeroDivisionError: division"),
        (lambda: JointTarget(np.array([0.1, math.nan])), "every value must be finite"),
    ],
)
def test_a_mapping_that_fails_in_motion_is_a_hold_and_a_stop(how, said):
    bench = Bench()
    bench.follower.mapping = Broken(how)
    bench.engage()
    step = bench.run(0.5, lambda t: 0.4 * t)
    assert (step.state, bench.follower.safety.cause) == (SafetyState.HOLD, Cause.LOST)
    assert said in bench.follower.safety.detail
    assert not bench.follower.tracker.moving and step.sample.q[0] < 0.15
    bench.engage((0.0, 0.0))
    assert bench.run(0.1, lambda t: 0.4 * t).state is SafetyState.ENGAGED


def test_a_mapping_that_fails_before_motion_does_not_begin():
    bench = Bench()
    bench.follower.mapping.obstacle = lambda master, q: raising(BrazoError("no such pose"))
    bench.send(flags=0)
    bench.step()
    bench.engagement += 1
    bench.send()
    step = bench.step()
    assert step.state is SafetyState.IDLE and step.cause.endswith("; no such pose")
    del bench.follower.mapping.obstacle
    bench.follower.mapping.anchor = lambda master, q: raising(BrazoError("no such pose"))
    bench.send()
    assert bench.step().state is SafetyState.HOLD
    assert bench.follower.safety.cause is Cause.LOST


VALUES = (True, 1.0, 0.0, -1.0, 5e-324, 1e-310, 1e-3, 1e3, 1e308, "abc", "1", "", (), (1.0,),
          (1.0,) * 2, (1e308,) * 9, (0.0,) * 9, (5e-324,) * 9)  # fmt: skip


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", ["pose", "joint"])
def test_follower_continues_with_any_settings_of_the_master(kind):
    """The arm keeps moving within its limits, and its own clamps stay below where it set them."""
    arm = brazo.load("teleop-scara")
    limits = limits_of(arm)
    home = np.clip(arm.poses["home"], *arm.limits.T)
    mapping = PoseMap(arm, limits) if kind == "pose" else JointMap(limits)
    names = ("scale", "directions", "turn_scale", "orientation", "tool_speed", "gain", "absolute")
    follower = Follower(limits, mapping, home)
    t, seq = 0.0, 0

    def step(run, engagement, x):
        nonlocal t, seq
        t, seq = t + 0.004, seq + 1
        turn = (math.cos(x), 0.0, 0.0, math.sin(x))
        q = tuple((home + x).tolist()) if kind == "joint" else ()
        pose = (x, 0.0, -x, *turn) if kind == "pose" else None
        flags = RUN if run else 0
        command = Command(7, seq, round(1e6 * t), 0, 150_000, flags, engagement, q, pose)
        return follower.step(t, LinkView(7, Received(command, t, t, t + 0.15)))

    x, engagement = 0.0, 0
    for name in names:
        for value in VALUES:
            follower.set(Setting(1, 1, 1, 1, name, value))
            if not follower.safety.moving:
                step(False, engagement, x)
                engagement += 1
            for k in range(3):
                x += 2e-3 * (-1.0) ** (k % 2)
                found = step(True, engagement, x)
                assert np.isfinite(found.sample.q).all()
                assert (np.abs(found.sample.qd) <= limits.speed * (1 + 1e-9)).all()
    if isinstance(mapping, PoseMap):
        assert mapping.tool_speed <= mapping.tool.speed


def test_a_master_may_slow_the_tool_down_but_not_speed_it_up():
    arm = brazo.load("teleop-scara")
    mapping = PoseMap(arm, limits_of(arm), tool=ToolLimits(speed=0.2))
    mapping.set("tool_speed", 0.1)
    with pytest.raises(
        BrazoError, match=r"tool_speed is 0\.3 m/s; it must not exceed the follower's limit of 0\.2"
    ):
        mapping.set("tool_speed", 0.3)
    assert mapping.tool_speed == 0.1


EVENTS = st.one_of(
    st.tuples(st.just("send"), st.floats(-4, 4), st.integers(0, 3), st.floats(0, 0.2)),
    st.tuples(st.just("near"), st.floats(-0.02, 0.02), st.integers(0, 3), st.just(0.0)),
    st.tuples(
        st.just("link"), st.sampled_from(["session", "jumps", "missing"]), st.integers(0, 30)
    ),
    st.tuples(st.just("engage")),
    st.tuples(st.just("time"), st.sampled_from([0.0, 0.001, 0.002, 0.01, 0.06, 0.2])),
)


@settings(max_examples=120)
@given(st.lists(EVENTS, max_size=50))
def test_reference_stays_within_limits_for_any_input(events):
    bench = Bench()
    x = 0.0
    for kind, *rest in events:
        if kind in ("send", "near"):
            x = rest[0] if kind == "send" else x + rest[0]
            bench.send((x, -x), flags=rest[1], age=rest[2])
        elif kind == "link":
            setattr(bench, rest[0], rest[1])
        elif kind == "engage":
            bench.engagement += 1
        bench.step(rest[0] if kind == "time" else DT)
        if bench.steps[-1].share:
            assert bench.steps[-1].age <= 0.12
