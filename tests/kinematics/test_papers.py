"""What the papers print, against brazo: views, angles, limits, and the RV-2AJ's own code."""

import math
from pathlib import Path

import numpy as np
import pytest

import brazo
from brazo.body.creases import creased
from brazo.kinematics.orientation import oat_from_matrix
from brazo.model.transforms import rot_x, rot_y, translate

RV2AJ = {"rv2aj": "rv2aj_paper", "rv2aj-maker": "rv2aj_maker"}
PAGE = Path(__file__).parents[2] / "docs" / "papers.md"


def by_elevations(arm, azimuth, elevations) -> np.ndarray:
    """Eq. (1) of the RV-2AJ paper: the tool tip from elevations above the horizontal."""
    at = arm.model.parameters
    lengths = np.array([at[name] for name in ("AB", "BC", "L_tool")])
    out = lengths @ np.cos(elevations)
    up = at["OA"] + lengths @ np.sin(elevations)
    return np.array([out * math.cos(azimuth), out * math.sin(azimuth), up])


def printed_code(x, y, z, t5, l4=0.070) -> np.ndarray:
    """The paper's inverse kinematics, in m: elevations of upper arm, forearm and tool.

    t5 is the angle of the tool below the horizontal; the interior angles at elbow and wrist are
    turned into elevations, and the offsets of the paper's own model are left out.
    """
    flat = math.hypot(x, y)
    tz = math.atan((z - 0.2975) / flat)
    tip = flat / math.cos(tz)
    ad = math.sqrt(l4**2 + tip**2 - 2.0 * tip * l4 * math.cos(t5 + tz))
    t1p = math.acos((0.0369 + ad**2) / (0.5 * ad))
    t2p = math.acos((0.0881 - ad**2) / 0.08)
    t3p = math.acos((-0.0369 + ad**2) / (0.32 * ad))
    m5 = l4 * math.sin(t5 + tz) / ad
    t4 = t3p - t5 + math.acos(m5) + math.pi / 2 - tz
    upper = tz + t1p + math.asin(m5)
    fore = upper - (math.pi - t2p)
    return np.array([upper, fore, fore - (math.pi - t4)])


def joints_of(elevations) -> np.ndarray:
    """J2, J3, J4 from the vertical."""
    upper, fore, tool = elevations
    return np.array([math.pi / 2 - upper, upper - fore, fore - tool])


def test_the_printed_view_matrix_translates_after_it_rotates(golden):
    case = golden["other"]["gras_view"]
    turn = rot_x(case["theta_x"]) @ rot_y(-case["phi_y"])  # printed R_y turns left-handed
    shift = translate(*case["t"])
    assert np.abs(shift @ turn - case["printed_T_equals_tau_Rx_Ry"]).max() < 1e-13
    assert np.abs(turn @ shift - case["product_Rx_Ry_tau"]).max() < 1e-12


def test_a_face_is_lit_by_the_component_of_its_unit_normal(golden):
    case = golden["other"]["gras_lambert"]
    N = np.array(case["N"])
    u = np.cross(N, [1.0, 0.0, 0.0])
    _, _, normals = creased(np.array([np.zeros(3), u, np.cross(N, u)]), np.array([[0, 1, 2]]))
    shade = normals @ case["light"]
    assert np.abs(shade - case["S"]).max() < 1e-7
    lit = np.maximum(normals @ -np.array(case["light"]), 0.0)[:, None] * case["base_rgb"]
    assert np.abs(lit - case["rgb_if_light_is_minus_z"]).max() < 1e-7


def corrections(section: str) -> dict[str, str]:
    """Rows of the table in a section of the page: printed, then corrected and why."""
    (text,) = (part for part in PAGE.read_text("utf-8").split("\n## ") if part.startswith(section))
    rows = [line.strip("| ").split(" | ", 1) for line in text.splitlines() if line[:2] == "| "]
    return dict(rows[1:])


@pytest.mark.parametrize(
    ("section", "printed", "words"),
    [
        ("Cooperative", "$K$ a vector", "diagonal matrix"),
        ("A teach pendant", "order in which a new view is composed", "on the left"),
        ("A teach pendant", "without inverse kinematics", "closed forms and a numeric solver"),
        ("A dynamics", "$M$ is never singular", "refused with the name of the joint"),
        ("Teleoperation", "no upper limit of the drive angles", "57.77°"),
        ("An RV-2AJ", "eq. (1) in elevations, the code in interior", "joint angles from the"),
        ("An RV-2AJ", "last angle $540°", "J5 is the roll"),
        ("An RV-2AJ", "AB_i / \\cos", "undefined at $x = y = 0$"),
        ("An RV-2AJ", "clamped to ±1", "nearest pose inside the joint limits"),
        ("An RV-2AJ", "limits applied to each joint", "past a limit is no solution"),
        ("An RV-2AJ", "tool length 70 mm", "`rv2aj-printed`"),
    ],
)
def test_the_page_lists_the_correction(section, printed, words):
    (found,) = (rest for row, rest in corrections(section).items() if printed in row)
    assert words in found


def test_the_delta_folds_at_the_angle_on_the_page():
    """On its axis the platform is highest there; the limits of the robot file are below."""
    delta = brazo.load("delta")
    angles = np.radians(np.arange(5000, 6500) / 100.0)
    z = [delta.fk([angle] * 3)[2, 3] for angle in angles]
    fold = math.degrees(angles[int(np.argmax(z))])
    (row,) = (rest for key, rest in corrections("Teleoperation").items() if "upper limit" in key)
    assert f"= {fold:.2f}°" in row
    assert np.degrees(delta.limits[:, 1]).max() < fold


@pytest.mark.parametrize(("name", "key"), RV2AJ.items())
def test_elevations_and_joints_of_the_rv2aj(golden, name, key):
    arm, data = brazo.load(name), golden["robots"][key]
    for entry in data["fk"]:
        elevations = np.array(entry["abs_elevation"])
        assert np.abs(joints_of(elevations) - entry["j"][1:4]).max() < 1e-12
        tip = by_elevations(arm, entry["j"][0], elevations)
        assert np.abs(arm.fk(entry["j"])[:3, 3] - tip).max() < 1e-13
        assert np.abs(np.degrees(entry["j"]) - entry["j_deg"]).max() < 1e-9
    for entry in data["ik"]:
        azimuth, *elevations = entry["abs"]
        assert np.abs(joints_of(elevations) - entry["joints"][1:]).max() < 1e-12
        assert np.abs(by_elevations(arm, azimuth, elevations) - entry["P"]).max() < 1e-12
    assert np.abs(np.degrees(arm.limits) - data["limits_deg"]).max() < 1e-9


def test_rv2aj_printed_is_the_arm_of_the_papers_code():
    arm, corrected = brazo.load("rv2aj-printed"), brazo.load("rv2aj")
    rng = np.random.default_rng(4)
    done = 0
    for q in arm.random_q(200, seed=4):
        if q[2] < 0.05:  # the code has one elbow
            continue
        azimuth = rng.uniform(-2.0, 2.0)
        tilt = q[1] + q[2] + q[3]
        T = arm.fk([azimuth, *q[1:4], 0.0])
        if math.cos(azimuth) * T[0, 3] + math.sin(azimuth) * T[1, 3] < 0.02:
            continue  # it does not reach backwards
        joints = joints_of(printed_code(*T[:3, 3], tilt - math.pi / 2))
        turn = (joints - q[1:4] + math.pi) % (2 * math.pi) - math.pi
        assert np.abs(turn).max() < 1e-7
        # The paper's own direct kinematics has 144.6 mm where the code has 70 mm.
        miss = corrected.fk([azimuth, *q[1:4], 0.0])[:3, 3] - T[:3, 3]
        assert np.linalg.norm(miss) == pytest.approx(0.0746, abs=1e-12)
        done += 1
    assert done > 50


def test_on_its_axis_the_rv2aj_is_solved():
    arm = brazo.load("rv2aj")
    found = arm.ik(arm.fk(np.zeros(5)))  # x = y = 0
    assert found.success and np.abs(found.q[1:4]).max() < 1e-7


def test_out_of_reach_the_answer_is_inside_the_limits_and_nearest():
    arm = brazo.load("rv2aj")
    for point in ([0.9, 0.1, 0.3], [0.06, 0.0, 0.3]):
        found = arm.ik(point)
        assert not found.success and found.reason
        assert (found.q >= arm.limits[:, 0] - 1e-9).all()
        assert (found.q <= arm.limits[:, 1] + 1e-9).all()
        gap = np.linalg.norm(arm.fk(found.q)[:3, 3] - point)
        others = arm.fk(arm.random_q(20_000, seed=1))[:, :3, 3]
        assert gap <= np.linalg.norm(others - point, axis=1).min() + 1e-9


def test_limits_and_named_poses_of_the_other_arms(golden):
    robots = golden["robots"]
    pegasus = np.degrees(brazo.load("pegasus").limits)
    assert np.abs(pegasus - robots["pegasus_proposed"]["limits_deg"]["values"]).max() < 1e-9
    fgl = np.array(robots["puma560_fgl"]["limits_deg"], dtype=float)
    assert np.abs(np.degrees(brazo.load("srm1").limits) - fgl).max() < 1e-9
    # The Robotics Toolbox has the opposite convention for shoulder and elbow.
    fgl[1:3] = -fgl[1:3, ::-1]
    puma = brazo.load("puma560")
    assert np.abs(np.degrees(puma.limits) - fgl).max() < 1e-9
    named = robots["puma560_corke"]["named"]
    for ours, theirs in {"zero": "qz", "ready": "qr", "stretch": "qs", "nominal": "qn"}.items():
        turns = (puma.poses[ours] - named[theirs]) / (2 * math.pi)
        assert np.abs(turns - np.round(turns)).max() < 1e-12


def test_puma_locations_and_orientations_as_displayed(golden):
    for entry in golden["robots"]["puma560_fgl"]["fk"]:
        T = np.array(entry["T"])
        assert np.abs(T[:3, 3] - entry["xyz"]).max() < 1e-12
        if not entry["oat_is_singular"]:
            turn = np.degrees(oat_from_matrix(T[:3, :3])) - entry["OAT_deg"]
            assert np.abs((turn + 180.0) % 360.0 - 180.0).max() < 1e-9


def test_teleop_scara_for_any_yaw(golden):
    arm, data = brazo.load("teleop-scara"), golden["robots"]["teleop_scara"]
    for name, value in data["params"].items():
        assert arm.model.parameters[name] == pytest.approx(value, abs=1e-15)
    for entry in data["ik"]:
        general = entry["general"]
        for yaw in (entry["tool_yaw"], 0.4):
            T = translate(*entry["P"])
            T[:2, :2] = [[math.cos(yaw), -math.sin(yaw)], [math.sin(yaw), math.cos(yaw)]]
            found = {branch.name: branch.q for branch in arm.ik(T).all}
            assert len(found) == 2
            for side, q in zip((1.0, -1.0), (found["RIGHTY"], found["LEFTY"]), strict=True):
                both = general["phi"] - side * general["b"]
                elbow = side * 2.0 * general["b"]
                wanted = [both, elbow, yaw - both - elbow]
                turn = (np.array([q[0] + q[2], q[3], q[4]]) - wanted) / (2 * math.pi)
                assert np.abs(turn - np.round(turn)).max() < 1e-12
            assert q[1] == pytest.approx(entry["d"], abs=1e-12)
