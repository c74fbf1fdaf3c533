"""The joints panel without a browser: what it shows and what it lets a page do."""

from __future__ import annotations

import json
import math
import re
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from websockets.sync.client import connect

import brazo
from brazo.errors import BrazoError
from brazo.lab.panels.joints import JointsPanel, fixed, joint_range, shown_value
from brazo.model.library import robot_names


@pytest.fixture
def panel(lab) -> JointsPanel:
    lab.set_robot(brazo.load("scara1"))
    return lab._panels[0]


def send(lab, *events) -> None:
    """Do events as a page would, and return when the lab has done them."""
    origin = f"http://127.0.0.1:{lab._server.port}"
    lab.channel.on("end", lambda n: lab.channel.put({"end": n}), int)
    number = (lab.channel.get("end") or 0) + 1
    with connect(lab.url.replace("http", "ws") + "/channel", origin=origin) as ws:
        for event in (*events, ["end", number]):
            ws.send(json.dumps(event))
        while json.loads(ws.recv(timeout=10)).get("end") != number:
            pass


def number(text: str) -> float:
    return float(text.replace("−", "-"))


def test_sliders_are_in_degrees_and_millimetres_up_to_the_limits(lab, panel):
    sliders = re.findall(r"<brazo-slider[^>]*>", panel.html())
    assert len(sliders) == lab.robot.n
    for i, slider in enumerate(sliders):
        attributes = dict(re.findall(r'(\w+)="([^"]*)"', slider))
        prismatic = lab.robot.joint_kinds[i] == "prismatic"
        scale = 1000.0 if prismatic else 180.0 / math.pi
        ends = float(attributes["min"]), float(attributes["max"])
        assert ends == pytest.approx(lab.robot.limits[i] * scale, rel=1e-15)
        assert attributes["unit"] == ("mm" if prismatic else "°")
        assert attributes["label"] == lab.robot.joint_names[i]
        assert attributes["limited"] == "low high"


def test_a_joint_without_limits_can_be_pulled_a_full_turn_or_a_metre_either_way():
    free = np.array([-math.inf, math.inf])
    assert joint_range(free, "revolute").tolist() == [-math.pi, math.pi]
    assert joint_range(free, "prismatic").tolist() == [-1.0, 1.0]
    assert joint_range(np.array([-math.inf, 0.3]), "prismatic").tolist() == [-1.7, 0.3]
    assert joint_range(np.array([1.5, math.inf]), "prismatic").tolist() == [1.5, 3.5]


def test_a_page_sets_one_joint_within_its_limits(lab, panel):
    before = lab.q.copy()
    send(lab, ["joint", 0, 12.5])
    assert lab.q[0] == pytest.approx(math.radians(12.5), rel=1e-15)
    assert np.array_equal(lab.q[1:], before[1:])
    send(lab, ["joint", 0, 1e6])
    assert lab.q[0] == lab.robot.limits[0, 1]
    send(lab, ["joint", 99, 1.0], ["joint", -1, 1.0], ["joint", 0, "5"])
    assert lab.q[0] == lab.robot.limits[0, 1]


@pytest.mark.parametrize(
    ("text", "kind", "shown"),
    [
        ("30deg", "revolute", 30.0),
        ("−30°", "revolute", -30.0),
        ("pi/4", "revolute", 45.0),
        ("0.5rad", "revolute", math.degrees(0.5)),
        ("90/4", "revolute", 22.5),
        ("5cm", "prismatic", 50.0),
        ("1in", "prismatic", 25.4),
        ("120/2", "prismatic", 60.0),
    ],
)
def test_values_may_be_typed_with_units_and_as_expressions(text, kind, shown):
    assert shown_value(text, kind) == pytest.approx(shown, rel=1e-14)


@pytest.mark.parametrize(
    ("text", "kind"), [("5cm", "revolute"), ("30deg", "prismatic"), ("ninety", "revolute")]
)
def test_a_value_of_another_kind_is_refused(text, kind):
    with pytest.raises(BrazoError):
        shown_value(text, kind)


def test_a_page_types_a_joint_value(lab, panel):
    before = lab.q.copy()
    send(lab, ["joint-typed", 0, "pi/6"], ["joint-typed", 2, "4cm"])
    assert lab.q[0] == pytest.approx(math.pi / 6, rel=1e-14)
    assert lab.q[2] == pytest.approx(0.04, rel=1e-14)
    assert np.array_equal(lab.q[3:], before[3:])
    q = lab.q.copy()
    send(lab, ["joint-typed", 0, "5cm"], ["joint-typed", 99, "1"], ["joint-typed", 0, 1.0])
    assert np.array_equal(lab.q, q)
    assert "length" in lab.channel.get("notice")
    send(lab, ["joint-typed", 0, "1000deg"])
    assert lab.q[0] == lab.robot.limits[0, 1]


def test_home_zero_and_named_poses(lab, panel):
    send(lab, ["zero"])
    low, high = lab.robot.limits.T
    assert np.array_equal(lab.q, np.clip(0.0, low, high))
    send(lab, ["home"])
    assert np.array_equal(lab.q, lab.robot.poses["home"])
    send(lab, ["zero"], ["pose", "no such pose"])
    assert np.array_equal(lab.q, np.clip(0.0, low, high))
    for name, q in lab.robot.poses.items():
        send(lab, ["pose", name])
        assert np.array_equal(lab.q, q)
        assert panel.values()["pose"] == name
    send(lab, ["joint", 0, 1.25])
    assert panel.values()["pose"] == ""


@pytest.mark.parametrize("name", robot_names())
def test_the_tool_pose_shown_is_that_of_the_robot(lab, name):
    robot = brazo.load(name)
    lab.set_robot(robot)
    q = robot.random_q(seed=3) if name != "delta" else lab.q
    lab.set_q(q)
    T = robot.fk(q)
    values = lab._panels[0].values()
    xyz = [number(values[f"tool/{n}"]) for n in "xyz"]
    assert xyz == pytest.approx(T[:3, 3] * 1000, abs=0.0051)
    rpy = [number(values[f"tool/{n}"]) for n in ("roll", "pitch", "yaw")]
    shown = Rotation.from_euler("xyz", rpy, degrees=True)
    actual = Rotation.from_matrix(T[:3, :3])
    assert (shown.inv() * actual).magnitude() < math.radians(0.0051 * 3)
    # Unimation's O-A-T is Z-Y-Z turned by a quarter: zyz(O - 90, A + 90, T).
    o, a, t = (number(values[f"tool/{n}"]) for n in "oat")
    oat = Rotation.from_euler("ZYZ", [o - 90, a + 90, t], degrees=True)
    assert (oat.inv() * actual).magnitude() < math.radians(0.0051 * 3)
    w, x, y, z = (number(values[f"tool/q{n}"]) for n in "wxyz")
    assert (Rotation.from_quat([x, y, z, w]).inv() * actual).magnitude() < 4e-4


def test_names_from_files_cannot_become_markup(lab, panel, monkeypatch):
    evil = '"><img src=x onerror=alert(1)>'

    named = SimpleNamespace(
        joint_names=(evil,) * 5,
        joint_kinds=lab.robot.joint_kinds,
        limits=lab.robot.limits,
        poses={evil: lab.q},
    )
    monkeypatch.setattr(lab, "robot", named)
    assert "<img" not in panel.html()
    assert panel.html().count("&quot;&gt;&lt;img") == 6


def test_numbers_have_a_true_minus_and_no_minus_zero():
    assert fixed(-1.5, 2) == "−1.50"
    assert fixed(-0.001, 2) == "0.00"
    assert fixed(0.0, 2) == fixed(-0.0, 2) == "0.00"
    assert fixed(10.0, 1) == "10.0"
