"""The state machine, by example and by every sequence of events that can be thought of."""

import itertools
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brazo.errors import BrazoError
from brazo.teleop.follow.safety import FAULTS, Cause, Rules, Safety, SafetyState

RULES = Rules()


def engaged(now=0.0):
    safety = Safety(RULES, now)
    safety.command(now, now, False, 0)
    safety.tick(now)
    safety.command(now, now, True, 1)
    assert safety.tick(now).state is SafetyState.ENGAGED
    return safety


def test_state_machine_sequence():
    safety = engaged()
    safety.command(0.01, 0.01, True, 1)
    assert safety.tick(0.02).share == 1.0
    verdict = safety.tick(0.07)  # 60 ms old
    assert verdict.state is SafetyState.DEGRADED and 0.1 < verdict.share < 1.0
    safety.command(0.075, 0.074, True, 1)
    assert safety.tick(0.076).state is SafetyState.ENGAGED
    safety.tick(0.14)
    assert safety.tick(0.1941).state is SafetyState.HOLD
    assert [t.cause for t in safety.log] == [
        Cause.ENGAGED,
        Cause.OLD,
        Cause.FRESH,
        Cause.OLD,
        Cause.STALE,
    ]
    assert str(safety.log[-1]) == (
        "DEGRADED → HOLD, no valid command in time: the newest is 120 ms old"
    )


def test_hold_is_left_only_by_release_and_a_new_engagement():
    safety = engaged()
    safety.fault(0.01, Cause.LINK)
    assert safety.state is SafetyState.HOLD

    def then(run, engagement):
        safety.command(0.02, 0.02, run, engagement)
        return safety.tick(0.02).state

    assert then(True, 1) is SafetyState.HOLD  # the switch is still held
    assert then(True, 2) is SafetyState.HOLD  # a new number, but the switch was never let go
    assert safety.refusal == "release first, then press and hold"
    assert then(False, 2) is SafetyState.HOLD
    assert then(True, 1) is SafetyState.HOLD
    assert safety.refusal == "release, then press and hold to resume"
    assert then(True, 2) is SafetyState.ENGAGED


def test_release_is_no_fault_but_needs_a_new_engagement():
    safety = engaged()
    safety.command(0.01, 0.01, False, 1)
    assert safety.tick(0.01).state is SafetyState.IDLE
    safety.command(0.02, 0.02, True, 1)
    assert safety.tick(0.02).state is SafetyState.IDLE
    safety.command(0.03, 0.03, True, 2)
    assert safety.tick(0.03).state is SafetyState.ENGAGED


def test_master_connecting_with_held_switch_does_not_start():
    safety = Safety(RULES)
    for k in range(10):
        safety.command(0.01 * k, 0.01 * k, True, 17 + k)
        assert safety.tick(0.01 * k).state is SafetyState.IDLE
    safety = engaged()
    safety.fault(0.01, Cause.LINK)
    safety.restart()  # the same master after its link was lost, its counter continued
    for _ in range(10):
        safety.command(0.02, 0.02, False, 5)
        safety.command(0.02, 0.02, True, 5)
        assert safety.tick(0.02).state is SafetyState.HOLD
    safety.command(0.02, 0.02, True, 6)
    assert safety.tick(0.02).state is SafetyState.ENGAGED


@pytest.mark.parametrize("cause", sorted(FAULTS, key=lambda cause: cause.name))
def test_faults_hold_a_moving_follower_and_only_stop_one_at_rest(cause):
    safety = Safety(RULES)
    safety.fault(0.0, cause)
    if cause is Cause.STOP:
        assert [str(entry) for entry in safety.log] == ["IDLE → HOLD, stopped at the follower"]
    else:
        assert safety.state is SafetyState.IDLE and not safety.log
    safety = engaged()
    safety.fault(0.001, cause, "why")
    assert safety.state is SafetyState.HOLD
    assert safety.tick(0.002).share == 0.0
    assert (safety.log[-1].cause, safety.log[-1].detail, safety.log[-1].t) == (cause, "why", 0.001)


def test_stop_cancels_a_pending_engagement():
    """In IDLE and in HOLD: the switch is held, an obstacle blocks it, STOP, it is removed."""
    for safety in (Safety(RULES), engaged()):
        if safety.moving:
            safety.fault(0.0, Cause.LINK)
        safety.command(0.01, 0.01, False, 1)
        for t in (0.02, 0.03):
            safety.command(t, t, True, 2)
            assert safety.tick(t, "the arm still moves").share == 0.0
        safety.fault(0.035, Cause.STOP, "on the page")
        assert (safety.state, safety.cause, safety.detail) == (
            SafetyState.HOLD, Cause.STOP, "on the page",
        )  # fmt: skip
        for t in (0.04, 0.05):  # held still, then another number
            safety.command(t, t, True, 2 if t < 0.05 else 3)
            assert safety.tick(t).state is SafetyState.HOLD
        # Let go and pressed again, but before STOP: the link is slow.
        safety.command(0.06, 0.033, False, 3)
        safety.command(0.07, 0.034, True, 4)
        assert safety.tick(0.07).state is SafetyState.HOLD
        safety.command(0.08, 0.08, False, 4)
        safety.command(0.09, 0.09, True, 4)
        assert safety.tick(0.09).state is SafetyState.HOLD
        safety.command(0.1, 0.1, True, 5)
        assert safety.tick(0.1).state is SafetyState.ENGAGED


def test_old_commands_or_obstacles_prevent_the_start():
    safety = Safety(RULES)
    safety.command(1.0, 1.0, False, 0)
    safety.command(1.0, 0.94, False, 0)
    safety.command(1.06, 1.06 - 0.051, True, 1)
    assert safety.tick(1.06).state is SafetyState.IDLE
    assert safety.refusal == "commands are 51 ms old; at most 50 ms are allowed"
    safety.command(1.07, 1.07, True, 1)
    assert safety.tick(1.07, "the arm still moves").state is SafetyState.IDLE
    assert safety.refusal == "the arm still moves"
    assert safety.tick(1.08).state is SafetyState.ENGAGED


def test_clock_running_backwards_causes_hold():
    safety = engaged(5.0)
    assert safety.tick(4.9).share == 0.0
    assert (safety.state, safety.cause) == (SafetyState.HOLD, Cause.CLOCK)


def test_late_loop_causes_hold():
    safety = engaged()
    assert safety.tick(0.101).state is SafetyState.HOLD
    assert safety.cause is Cause.LATE


@pytest.mark.parametrize(
    "options",
    [
        {"stale": 0.04},
        {"recover": 0.06},
        {"degrade": math.nan},
        {"late": 0.0},
        {"slowest": 1.5},
        {"gap": 0},
    ],
)
def test_invalid_rules_are_rejected(options):
    with pytest.raises(BrazoError):
        Rules(**options)


EVENTS = st.one_of(
    st.tuples(st.just("command"), st.floats(0.0, 0.3), st.booleans(), st.integers(0, 4)),
    st.tuples(st.just("fault"), st.sampled_from(sorted(FAULTS, key=lambda c: c.name))),
    st.tuples(st.just("tick"), st.sampled_from(["", "", "something in the way"])),
    st.tuples(st.just("restart")),
    st.tuples(st.just("start"), st.integers(1, 3)),
)
STEPS = st.tuples(st.sampled_from([0.0, 0.001, 0.002, 0.02, 0.06, 0.2, -0.01]), EVENTS)


@settings(max_examples=400)
@given(st.lists(STEPS, max_size=60))
def test_invariants_hold_for_any_sequence(steps):
    """A reference model that stores only the state needed for the invariants."""
    seen = []
    safety = Safety(RULES, 100.0, seen.append)
    now = top = 100.0
    newest = -math.inf  # when the newest good command was sent
    free = run = False  # let go since the last stop; held now
    spent, shown, first = 0, 0, True
    halted = -math.inf  # when STOP was pressed last
    number = 0
    for dt, event in steps:
        now += dt
        forward = now >= top
        if event[0] != "restart":  # which has no time argument
            top = max(top, now)
        if event[0] == "start":
            # A valid master: releases, then engages with a new number.
            number += event[1]
            events = [("command", 0.0, False, number), ("command", 0.0, True, number + 1)]
            number += 1
            events.append(("tick", ""))
        else:
            events = [event]
        for kind, *rest in events:
            was = safety.state
            entries = len(seen)
            if kind == "command":
                age, run_now, engagement = rest
                safety.command(now, now - age, run_now, engagement)
                if forward:
                    newest = max(newest, now - age)
                    if first:
                        spent, first = engagement, False
                    run, shown = run_now, engagement
                    if now - age < halted:
                        spent = max(spent, engagement)
            elif kind == "fault":
                safety.fault(now, rest[0])
                stop = rest[0] is Cause.STOP
                assert safety.state is (SafetyState.HOLD if was in (1, 2) or stop else was)
                if stop:
                    halted, free, spent = top, False, max(spent, 0 if first else shown)
            elif kind == "restart":
                if was in (1, 2):
                    safety.fault(top, Cause.LINK)
                safety.restart()
                newest, run, first = -math.inf, False, True
                free = False
            else:
                verdict = safety.tick(now, rest[0])
                assert verdict.state is safety.state
                assert verdict.follow == (safety.state in (1, 2)) or not forward
                assert 0.0 <= verdict.share <= 1.0
                if verdict.follow:
                    # The promise of the whole: nothing follows data older than this.
                    assert now - newest <= RULES.stale
                    assert run
                    if now - newest > RULES.degrade:
                        assert verdict.share < 1.0
                if not forward:
                    assert not verdict.follow
                if was not in (1, 2) and safety.state in (1, 2):
                    assert free and run and not rest[0]
                    assert shown > spent
                    assert now - newest <= RULES.degrade
                    spent, free = shown, False
            if was in (1, 2) and safety.state not in (1, 2):
                free, spent = False, max(spent, shown)
            if kind == "command" and not rest[1] and forward and now - rest[0] >= halted:
                free = True
            # Every transition is reported once, with both states.
            for entry in seen[entries:]:
                assert entry.before is was and entry.before is not entry.after
                was = entry.after
            assert was is safety.state
    for a, b in itertools.pairwise(seen):
        assert a.after is b.before and a.t <= b.t
    assert all(
        entry.before is not SafetyState.HOLD or entry.after is SafetyState.ENGAGED for entry in seen
    )


def test_rules_for_a_slow_link_count_ages_from_its_delay():
    plain, slow = Rules(), Rules.over(0.2)
    assert slow.stale == plain.stale + 0.2 and slow.degrade == plain.degrade + 0.2
    assert (slow.late, slow.gap, slow.slowest) == (plain.late, plain.gap, plain.slowest)
    assert Rules.over(0.0) == plain
    for wrong in (-0.1, math.nan, math.inf):
        with pytest.raises(BrazoError, match=r"delay \(s\) is"):
            Rules.over(wrong)
