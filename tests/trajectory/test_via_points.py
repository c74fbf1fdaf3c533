"""Via points: the golden table, SciPy's splines, continuity, the rules for speeds, bad input."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.interpolate import BPoly, CubicHermiteSpline, CubicSpline, PchipInterpolator

from brazo.errors import BrazoError
from brazo.trajectory import cubic_via_points, quintic_via_points

rng = np.random.default_rng(5)
T = np.cumsum(rng.uniform(0.1, 1.0, 12))
Q = rng.normal(size=(12, 4))
QD = rng.normal(size=(12, 4))
QDD = rng.normal(size=(12, 4))
INSIDE = np.linspace(T[0], T[-1], 4001)[1:-1]


@st.composite
def points(draw, n=2):
    count = draw(st.integers(2, 8))
    steps = draw(st.lists(st.floats(0.05, 3.0), min_size=count, max_size=count))
    value = st.floats(-5.0, 5.0)
    q = draw(st.lists(st.lists(value, min_size=n, max_size=n), min_size=count, max_size=count))
    return np.cumsum(steps), np.array(q)


def close(a, b, tolerance):
    assert np.abs(np.asarray(a) - np.asarray(b)).max() <= tolerance


def test_golden_table(golden):
    table = golden["other"]["cubic_via_points"]
    motion = cubic_via_points(table["t"], table["Q"], table["Qdot"])
    s = motion.sample(table["eval_t"])
    close(s.q[:, 0], table["value"], 1e-12)
    close(s.qd[:, 0], table["velocity"], 1e-12)
    close(s.qdd[:, 0], table["acceleration_right"], 1e-12)
    for k, row in enumerate(table["coefficients_absolute_time"]):
        # The same polynomial, from its own beginning to the absolute time of the table.
        t = np.linspace(table["t"][k], table["t"][k + 1], 9)[:-1]
        close(motion.sample(t).q[:, 0], np.polynomial.polynomial.polyval(t, row), 1e-12)


def test_cubic_equals_scipy():
    motion, oracle = cubic_via_points(T, Q, QD), CubicHermiteSpline(T, Q, QD)
    s = motion.sample(INSIDE)
    close(s.q, oracle(INSIDE), 1e-13)
    close(s.qd, oracle(INSIDE, 1), 1e-12)
    close(s.qdd, oracle(INSIDE, 2), 1e-10)


def test_quintic_equals_scipy():
    motion = quintic_via_points(T, Q, QD, QDD)
    oracle = BPoly.from_derivatives(T, np.stack([Q, QD, QDD], axis=1))
    s = motion.sample(INSIDE)
    close(s.q, oracle(INSIDE), 1e-12)
    close(s.qd, oracle(INSIDE, 1), 1e-10)
    close(s.qdd, oracle(INSIDE, 2), 1e-8)


def test_average_rule_is_the_textbooks():
    # Sciavicco and Siciliano: 0 where the mean speed changes sign, else the mean of the two.
    motion = cubic_via_points([0, 2, 3, 5], [0.0, 2 * np.pi, np.pi / 2, np.pi])
    close(motion.sample([0, 2, 3, 5]).qd, 0.0, 1e-14)
    motion = cubic_via_points([0, 1, 3], [0.0, 1.0, 5.0])
    close(motion.sample([0, 1, 3]).qd[:, 0], [0.0, 1.5, 0.0], 1e-14)


def test_monotone_rule_equals_scipys_pchip_inside():
    motion, oracle = cubic_via_points(T, Q, rule="monotone"), PchipInterpolator(T, Q)
    close(motion.sample(T[1:-1]).qd, oracle(T[1:-1], 1), 1e-12)


@given(points())
def test_monotone_rule_never_passes_its_points(given):
    t, q = given
    motion = cubic_via_points(t, q, rule="monotone")
    for k in range(len(t) - 1):
        s = motion.sample(np.linspace(t[k], t[k + 1], 60)).q
        low, high = np.minimum(q[k], q[k + 1]), np.maximum(q[k], q[k + 1])
        assert (s >= low - 1e-12).all() and (s <= high + 1e-12).all()


def test_smooth_rule_equals_scipys_clamped_spline():
    motion, oracle = cubic_via_points(T, Q, rule="smooth"), CubicSpline(T, Q, bc_type="clamped")
    s = motion.sample(INSIDE)
    close(s.q, oracle(INSIDE), 1e-12)
    close(s.qdd, oracle(INSIDE, 2), 1e-9)


def test_smooth_rule_keeps_speeds_that_are_given():
    speeds = [[0.1] * 4, *[None] * 4, [0.5] * 4, *[None] * 5, [-0.2] * 4]
    motion = cubic_via_points(T, Q, speeds, rule="smooth")
    close(motion.sample(T[[0, 5, 11]]).qd, np.outer([0.1, 0.5, -0.2], np.ones(4)), 1e-13)
    left = CubicSpline(T[:6], Q[:6], bc_type=((1, [0.1] * 4), (1, [0.5] * 4)))
    right = CubicSpline(T[5:], Q[5:], bc_type=((1, [0.5] * 4), (1, [-0.2] * 4)))
    close(motion.sample(INSIDE[T[5] > INSIDE]).q, left(INSIDE[T[5] > INSIDE]), 1e-12)
    close(motion.sample(INSIDE[T[5] < INSIDE]).q, right(INSIDE[T[5] < INSIDE]), 1e-12)


def test_smooth_quintic_is_the_spline_away_from_its_ends():
    motion, oracle = quintic_via_points(T, Q, rule="smooth"), CubicSpline(T, Q, bc_type="clamped")
    inner = INSIDE[(T[1] < INSIDE) & (T[-2] > INSIDE)]
    close(motion.sample(inner).q, oracle(inner), 1e-12)
    close(motion.sample(T[[0, -1]]).qdd, 0.0, 1e-9)


@given(points(), st.sampled_from(["average", "monotone", "smooth"]))
def test_cubics_are_continuous_in_speed_and_quintics_in_acceleration(given, rule):
    t, q = given
    left = np.nextafter(t[1:], t[:-1])
    for motion, parts in (
        (cubic_via_points(t, q, rule=rule), ("q", "qd")),
        (quintic_via_points(t, q, rule=rule), ("q", "qd", "qdd")),
    ):
        before, after = motion.sample(left), motion.sample(t[1:])
        bend = 1.0 + np.abs(motion.sample(t).qdd).max() * np.diff(t).max() ** 2
        close(motion.sample(t).q, q, 1e-14 * bend + 1e-13)
        scale = 1.0 + np.abs(q).max() / np.diff(t).min() ** 3
        for part in parts:
            close(getattr(before, part), getattr(after, part), 1e-12 * scale)


def test_an_inner_point_counts_once():
    # A sum over closed intervals, as the printed equation has it, would give twice the value.
    motion = cubic_via_points([0.0, 1.0, 2.0], [0.0, 3.0, 4.0])
    assert motion.sample(1.0).q[0] == 3.0


@pytest.mark.parametrize("late", [0.0, 1.0, 100.0, 1e6])
def test_late_pieces_are_as_exact_as_early_ones(late):
    t = late + np.array([0.0, 0.125, 0.25])
    motion = cubic_via_points(t, [0.3, -0.4, 0.1], [0.1, 0.0, 0.2])
    s = motion.sample(late + 0.0625)
    oracle = CubicHermiteSpline([0.0, 0.125], [0.3, -0.4], [0.1, 0.0])
    close(s.q, oracle(0.0625), 1e-15)
    close(s.qdd, oracle(0.0625, 2), 1e-12)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([0, 1, 1], [0, 1, 2]), "t[2] = 1 s is not later"),
        (([0, 2, 1], [0, 1, 2]), "times must increase"),
        (([0], [0]), "at least 2"),
        (([0, 1], [0, 1, 2]), "expected (2, joints)"),
        (([0, 1], [0, np.nan]), "must be finite"),
        (([0, np.inf], [0, 1]), "must be finite"),
        (([0, 1], [[0, 1], [1, 2]], [[0], [0]]), "qd has shape (2, 1); expected (2, 2)"),
        (([0, 1], [[0, 1], [1, 2]], [None, [0.0]]), "qd[1] has shape (1,)"),
        (([0, 1], ["a", "b"]), "not an array of numbers"),
        (([0, 1], [0, 1], None, "cosine"), "'cosine' is not one of average, monotone, smooth"),
    ],
)
def test_invalid_input_is_rejected_with_a_message(arguments, words):
    with pytest.raises(BrazoError) as error:
        cubic_via_points(*arguments)
    assert words in str(error.value)
