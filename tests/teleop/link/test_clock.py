"""The clock estimate against networks and clocks of which the truth is known."""

from hypothesis import given
from hypothesis import strategies as st

from brazo.teleop.link.clock import ClockFilter

DELAYS = st.integers(0, 500_000)  # µs, separate for each direction


def exchange(clock, t, theta, there, stay, back, drift=0.0):
    """One ping at true time t (the own clock) over a network with these delays."""

    def remote(t):
        return round(t * (1.0 + drift)) + theta

    return clock.add(t, remote(t + there), remote(t + there + stay), t + there + stay + back)


@given(
    st.integers(-(10**12), 10**12),
    st.floats(-4e-4, 4e-4),
    st.lists(st.tuples(DELAYS, st.integers(0, 2000), DELAYS), min_size=1, max_size=80),
)
def test_offset_is_within_its_error_and_network_delay_is_no_clock_jump(theta, drift, pings):
    clock, t = ClockFilter(), 0
    for there, stay, back in pings:
        assert not exchange(clock, t, theta, there, stay, back, drift)
        t += there + stay + back
        estimate = clock.estimate
        assert estimate is not None
        true = round(t * (1.0 + drift)) + theta - t
        assert abs(estimate.offset - true) <= estimate.error + 2
        t += 100_000
    assert clock.jumps == 0


@given(st.integers(0, 5000), st.sampled_from([-1, 1]), st.integers(10_000, 10**9))
def test_clock_jump_of_ten_ms_is_detected_on_a_fast_network(delay, sign, size):
    clock = ClockFilter()
    for k in range(20):
        exchange(clock, 100_000 * k, 7, delay // 2, 10, delay // 2)
    # The estimate is at worst a tenth of a second old, and 1000 ppm of drift are allowed.
    jump = sign * (size + 2 * delay)
    assert exchange(clock, 2_000_000, 7 + jump, delay // 2, 10, delay // 2)
    assert clock.jumps == 1
    estimate = clock.estimate
    assert estimate is not None and abs(estimate.offset - 7 - jump) <= estimate.error


def test_fastest_ping_determines_the_offset():
    clock = ClockFilter()
    exchange(clock, 0, 1000, 300, 10, 300)
    exchange(clock, 10_000, 1000, 50_000, 10, 300)  # delayed on the way there
    estimate = clock.estimate
    assert estimate is not None
    assert abs(estimate.offset - 1000) <= 1 and estimate.round_trip == 600


def test_contradictory_times_are_a_clock_jump():
    clock = ClockFilter()
    assert clock.add(0, 100, 90, 50)  # sent before it arrived
    assert clock.estimate is None
    assert clock.add(0, 100, 300, 50)  # was there longer than it was away
    assert not clock.add(0, 100, 110, 50)
    assert clock.jumps == 2
