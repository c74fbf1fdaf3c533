"""Trajectories as data, bit for bit; via-point files, and errors with file and line."""

import json
import math

import numpy as np
import pytest

import brazo
from brazo.errors import BrazoError
from brazo.trajectory import (
    cubic_via_points,
    from_dict,
    limits_of,
    parse_via_points,
    quintic_via_points,
    read_via_points,
    to_dict,
    trapezoid,
)
from brazo.trajectory.base import Sample, Trajectory


@pytest.fixture(scope="module")
def arm():
    return brazo.load("scara2")


FILE = """\
curve: cubic
rule: average
points:
  - {t: 0, q: [0, 45deg, 45deg, 5cm, 0]}
  - {t: 1500ms, q: [30deg, 45deg, 45deg, 10cm, 0], qd: [10deg, 0, 0, 2cm, 0]}
  - {t: 3s, q: [0.5, 0.6, 0.7, 0.1, 20deg]}
"""


def test_round_trip_through_json_keeps_every_bit(arm):
    limits = limits_of(arm)
    home = arm.poses["home"]
    motion = trapezoid(home, home + [0.5, -0.4, 0.3, 0.05, 1.0], limits.speed, limits.acceleration)
    data = json.loads(json.dumps(to_dict(motion, arm)))
    assert data["joints"][3] == {"name": "quill", "unit": "m"}
    assert data["joints"][0]["unit"] == "rad" and data["time_unit"] == "s"
    back = from_dict(data, arm)
    assert np.array_equal(back.breaks, motion.breaks)
    assert np.array_equal(back.coefficients, motion.coefficients)


def test_a_file_of_via_points(arm, tmp_path):
    path = tmp_path / "motion.yaml"
    path.write_text(FILE, encoding="utf-8")
    motion = read_via_points(path, arm)
    a = math.pi / 4
    q = [[0, a, a, 0.05, 0], [math.pi / 6, a, a, 0.1, 0], [0.5, 0.6, 0.7, 0.1, math.pi / 9]]
    speeds = [None, [math.radians(10), 0, 0, 0.02, 0], None]
    wanted = cubic_via_points([0, 1.5, 3], q, speeds)
    assert np.array_equal(motion.breaks, wanted.breaks)
    assert np.array_equal(motion.coefficients, wanted.coefficients)


def test_quintics_have_accelerations_too(arm):
    text = FILE.replace("cubic", "quintic").replace("qd:", "qdd: [1, 0, 0, 0, 0], qd:")
    s = parse_via_points(text, arm).sample(1.5)
    assert s.qdd == pytest.approx([1, 0, 0, 0, 0], abs=1e-12)
    assert s.qd[3] == pytest.approx(0.02)


def test_points_of_the_tool_go_through_inverse_kinematics(arm):
    text = """\
points:
  - {t: 0, q: [0, 45deg, 45deg, 5cm, 0]}
  - {t: 1, xyz: [0.3, 20cm, 0.25], rpy: [180deg, 0, 30deg]}
  - {t: 2, xyz: [0.35, 0.1, 0.25], wxyz: [0, 1, 0, 0]}
  - {t: 3, xyz: [0.4, 0.1, 0.2]}
"""
    motion = parse_via_points(text, arm)
    T = arm.fk(motion.sample([1.0, 2.0, 3.0]).q)
    assert T[:, :3, 3] == pytest.approx(
        np.array([[0.3, 0.2, 0.25], [0.35, 0.1, 0.25], [0.4, 0.1, 0.2]]), abs=1e-8
    )
    assert np.arctan2(T[0, 1, 0], T[0, 0, 0]) == pytest.approx(math.radians(30))
    assert np.abs(T[1, :3, :3] - np.diag([1, -1, -1])).max() < 1e-9


BAD = [
    ("t: 3s", "t: 1s", "motion.yaml:6: points[2].t: 1 s is not later than the previous point, 1.5"),
    ("t: 3s", "t: 3m", "motion.yaml:6: points[2].t: '3m' is a length, expected a time"),
    ("20deg]", "20deg, 1]", "motion.yaml:6: points[2].q: expected a list of 5 numbers, one"),
    ("20deg]", "20cm]", "motion.yaml:6: points[2].q[4]: '20cm' is a length, expected an angle"),
    ("10cm", "10deg", "motion.yaml:5: points[1].q[3]: '10deg' is an angle, expected a length"),
    ("curve: cubic", "curve: septic", "motion.yaml:1: curve: 'septic' is not allowed"),
    ("rule: average", "rule: mean", "motion.yaml:2: rule: 'mean' is not allowed"),
    ("points:", "ponts:", "motion.yaml:3: unknown field 'ponts'; did you mean 'points'?"),
    ("qd:", "qdd:", "motion.yaml:5: points[1]: unknown field 'qdd'"),
    ("t: 0, ", "", "motion.yaml:4: points[0]: field 't' is missing"),
    ("2cm, 0]}", "2cm]}", "motion.yaml:5: points[1].qd: expected a list of 5 numbers"),
    ("20deg]}", ".nan]}", "motion.yaml:6: points[2].q[4]"),
    (
        "{t: 3s, q: [0.5, 0.6, 0.7, 0.1, 20deg]}",
        "{t: 3s, xyz: [5, 0, 0.2], rpy: [180deg, 0, 0]}",
        "motion.yaml:6: points[2].xyz: ",
    ),
    (
        "{t: 3s, q: [0.5, 0.6, 0.7, 0.1, 20deg]}",
        "{t: 3s, rpy: [180deg, 0, 0]}",
        "motion.yaml:6: points[2]: a point has either 'q'",
    ),
    (
        "{t: 3s, q: [0.5, 0.6, 0.7, 0.1, 20deg]}",
        "{t: 3s, xyz: [0.3, 0, 0.2], wxyz: [0, 0, 0, 0]}",
        "motion.yaml:6: points[2].wxyz: a quaternion of length 0",
    ),
    (
        "q: [0, 45deg",
        "rpy: [0, 0, 0], q: [0, 45deg",
        "motion.yaml:4: points[0].rpy: is allowed only with",
    ),
]


@pytest.mark.parametrize(("old", "new", "words"), BAD, ids=[words[12:50] for *_, words in BAD])
def test_mistakes_are_reported_with_file_and_line(arm, old, new, words):
    assert old in FILE
    with pytest.raises(BrazoError) as error:
        parse_via_points(FILE.replace(old, new, 1), arm, "motion.yaml")
    assert str(error.value).startswith(words)


@pytest.mark.parametrize("text", ["", "points: []", "points: 3", "points: [{t: 0}]", "[1, 2]"])
def test_empty_and_odd_files_are_refused(arm, text):
    with pytest.raises(BrazoError):
        parse_via_points(text, arm)


def test_a_missing_file_is_reported(arm, tmp_path):
    with pytest.raises(BrazoError, match="cannot be read"):
        read_via_points(tmp_path / "nothing.yaml", arm)


class Still(Trajectory):
    n = 5  # pyright: ignore
    breaks = np.array([0.0, 1.0])  # pyright: ignore

    def within(self, t):
        return Sample(*np.zeros((3, len(t), 5)))


def test_only_polynomial_trajectories_are_written(arm):
    with pytest.raises(BrazoError, match="quintic_via_points"):
        to_dict(Still(), arm)
    table = Still().table(0.5)
    again = quintic_via_points(table.t, table.q, table.qd, table.qdd)
    assert from_dict(to_dict(again, arm), arm).duration == 1.0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"format": "other"}, "'format' must be"),
        ({"breaks": None}, "breaks"),
        ({"coefficients": [[1]]}, "coefficients have shape"),
        ({"time_unit": "ms"}, "only 's' is supported"),
        ({"joints": [{"name": "a", "unit": "rad"}]}, "joints must be a list of 5"),
        ({"joints": [{"name": "x", "unit": "rad"}] * 5}, "joint 1 is"),
    ],
)
def test_bad_data_is_refused(arm, change, words):
    data = to_dict(cubic_via_points([0, 1], np.zeros((2, 5))), arm) | change
    with pytest.raises(BrazoError) as error:
        from_dict(data, arm)
    assert words in str(error.value)
    for wrong in (None, [], {"format": data["format"]}):
        with pytest.raises(BrazoError):
            from_dict(wrong, arm)
