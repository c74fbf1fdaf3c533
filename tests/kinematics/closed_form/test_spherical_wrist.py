"""Six-axis arms with a spherical wrist: every branch, for random tables and for known arms."""

from __future__ import annotations

import numpy as np
import pytest

from brazo.kinematics.closed_form import Mismatch, spherical_wrist
from brazo.model.dh import DHRow
from brazo.model.transforms import rot_x, rot_y, rot_z, translate
from tests.kinematics.closed_form.arms import (
    Arm,
    H,
    check_round_trip,
    golden_rows,
    pose_errors,
    turn_distance,
)

TILTED = translate(0.3, -0.2, 0.5) @ rot_x(np.pi / 6) @ rot_y(0.2)
SKEWED_TOOL = translate(0.04, -0.02, 0.15) @ rot_y(0.7) @ rot_z(0.3)
PUMA_LIMITS = np.deg2rad(
    [(-160, 160), (-225, 45), (-45, 225), (-110, 170), (-100, 100), (-266, 266)]
)


def arm_of(*rows: tuple[float, ...], **more) -> Arm:
    """From (d, a, alpha) or (d, a, alpha, offset)."""
    return Arm(
        [
            DHRow("revolute", d=r[0], a=r[1], alpha=r[2], offset=r[3] if len(r) > 3 else 0.0)
            for r in rows
        ],
        **more,
    )


def puma(golden, **more) -> Arm:
    return Arm(golden_rows(golden["robots"]["puma560_fgl"]["table"]), **more)


def kuka(**more) -> Arm:
    """Sizes of a KR-16-like arm: shoulder offset, elbow offset, no lateral offset."""
    return arm_of(
        (0.675, 0.26, -H),
        (0.0, 0.68, 0.0),
        (0.0, -0.035, H, -H),
        (0.67, 0.0, -H),
        (0.0, 0.0, H),
        (0.115, 0.0, 0.0),
        **more,
    )


def upright(**more) -> Arm:
    """No offsets at all: the wrist centre can be on axis 1."""
    return arm_of(
        (0.4, 0.0, H),
        (0.0, 0.5, 0.0),
        (0.0, 0.0, H),
        (0.4, 0.0, -H),
        (0.0, 0.0, H),
        (0.1, 0.0, 0.0),
        **more,
    )


KNOWN = {
    "kuka": kuka,
    "upright": upright,
    "kuka on a tilted base with a skewed tool": lambda: kuka(base=TILTED, tool=SKEWED_TOOL),
}


@pytest.mark.parametrize("entry", [0, 1])
def test_puma_reference_solutions_and_their_names(golden, entry: int) -> None:
    case = golden["robots"]["puma560_fgl"]["ik"][entry]
    found = puma(golden).solver.solve(np.array(case["T"]))
    assert found.valid.all()
    for solution in case["solutions"]:
        away = turn_distance(found.q, solution["q"]).max(axis=-1)
        slot = int(np.argmin(away))
        assert away[slot] < 1e-12
        arm = {"LEFT": "LEFTY", "RIGHT": "RIGHTY"}[solution["ARM"]]
        wrist = {1: "NOFLIP", -1: "FLIP"}[solution["wrist_branch"]]
        assert found.names[slot] == f"{arm} {solution['ELBOW']} {wrist}"


def test_puma_reference_configurations(golden) -> None:
    solver = puma(golden).solver
    for case in golden["robots"]["puma560_fgl"]["fk"]:
        name = solver.branch_names[int(solver.branch_of(case["q"]))]
        arm, elbow, _ = name.split()
        assert arm == {"LEFT": "LEFTY", "RIGHT": "RIGHTY"}[case["indicators"]["ARM"]]
        assert elbow == case["indicators"]["ELBOW"]


@pytest.mark.parametrize("tool", [translate(), SKEWED_TOOL], ids=["flange", "skewed tool"])
def test_puma_ten_thousand_poses_inside_its_limits(golden, tool) -> None:
    q = np.random.default_rng(1).uniform(*PUMA_LIMITS.T, (10_000, 6))
    check_round_trip(puma(golden, tool=tool), q)


def test_puma_corke_ten_thousand_poses(golden) -> None:
    arm = Arm(golden_rows(golden["robots"]["puma560_corke"]["table"]))
    check_round_trip(arm, np.random.default_rng(2).uniform(-np.pi, np.pi, (10_000, 6)))


@pytest.mark.parametrize("name", KNOWN)
def test_known_arms_ten_thousand_poses(name: str) -> None:
    check_round_trip(KNOWN[name](), np.random.default_rng(3).uniform(-np.pi, np.pi, (10_000, 6)))


# What the special tables fix; all else is drawn.  Indices 0, 1, 2 are rows 1, 2, 3.
SPECIAL = {
    "general": {},
    "axes 1, 2 parallel": {"alpha": {0: 0.0}},
    "axes 1, 2 opposite": {"alpha": {0: np.pi}},
    "axes 1, 2 meet": {"a": {0: 0.0}},
    "axes 2, 3 parallel": {"alpha": {1: 0.0}},
    "axes 2, 3 opposite": {"alpha": {1: np.pi}},
    "axes 2, 3 meet": {"a": {1: 0.0}},
    "axes 1, 2 and 2, 3 meet": {"a": {0: 0.0, 1: 0.0}},
    "axes 1, 2 parallel, 2, 3 meet": {"alpha": {0: 0.0}, "a": {1: 0.0}},
    "puma-like": {"alpha": {0: -H, 1: 0.0, 2: H}, "a": {0: 0.0}},
    "industrial": {"alpha": {0: -H, 1: 0.0, 2: -H}, "d": {1: 0.0, 2: 0.0}},
    "industrial with lateral offset": {"alpha": {0: H, 1: 0.0, 2: H}},
    "no offsets": {"alpha": {0: H, 1: 0.0, 2: -H}, "a": {0: 0.0, 2: 0.0}, "d": {1: 0.0, 2: 0.0}},
}


@pytest.mark.parametrize("convention", ["standard", "modified"])
@pytest.mark.parametrize("special", SPECIAL)
def test_random_tables(special: str, convention) -> None:
    rng = np.random.default_rng([ord(c) for c in special + convention])
    for _ in range(10):
        arm = random_arm(rng, special, convention)
        check_round_trip(arm, rng.uniform(-np.pi, np.pi, (50, 6)))


def random_arm(rng: np.random.Generator, special: str, convention) -> Arm:
    """A table with a spherical wrist: square or not, the rest drawn or as the kind fixes it."""
    table = {"a": rng.uniform(-0.5, 0.5, 6), "d": rng.uniform(-0.5, 0.5, 6)}
    table["alpha"] = rng.uniform(-np.pi, np.pi, 6)
    # Constants between axes 4, 5, 6: in row i of the standard table, row i + 1 of the modified one.
    shift = 0 if convention == "standard" else 1
    table["a"][[3 + shift, 4 + shift]] = 0.0
    table["d"][4] = 0.0
    wrist = (
        rng.choice([-1, 1]) * np.array([H, -H]) if rng.random() < 0.5 else rng.uniform(0.4, 2.7, 2)
    )
    table["alpha"][[3 + shift, 4 + shift]] = wrist
    for letter, fixed in SPECIAL[special].items():
        for row, value in fixed.items():
            table[letter][row + (0 if letter == "d" else shift)] = value
    rows = [
        DHRow("revolute", d=d, a=a, alpha=alpha, offset=offset)
        for d, a, alpha, offset in zip(
            table["d"], table["a"], table["alpha"], rng.uniform(-np.pi, np.pi, 6), strict=True
        )
    ]
    return Arm(rows, convention, base=TILTED, tool=SKEWED_TOOL)


def test_names_follow_the_geometry_of_shoulder_elbow_and_wrist(golden) -> None:
    for arm in (puma(golden), puma(golden, base=TILTED), kuka(), kuka(base=TILTED)):
        solver = arm.solver
        q = np.random.default_rng(4).uniform(-np.pi, np.pi, (500, 6))
        frames = arm.chain.frames(q)
        a1, a2 = frames[:, 0, :3, 2], frames[:, 1, :3, 2]
        on_1, shoulder, elbow = frames[:, 0, :3, 3], frames[:, 1, :3, 3], frames[:, 2, :3, 3]
        wrist = frames[:, 4, :3, 3]
        dot = lambda x, y: np.einsum("ni,ni->n", x, y)  # noqa: E731
        s = dot(np.cross(a2, a1), wrist - on_1)
        offset = dot(a2, wrist - on_1)
        np.testing.assert_allclose(offset, offset[0], atol=1e-12)
        side = -1 if offset[0] < -1e-9 else 1
        # The shoulder as a point of the arm's plane: the offset along axis 2 does not matter.
        turn = dot(np.cross(elbow - shoulder, wrist - shoulder), a2)
        for i in range(len(q)):
            lefty = "LEFTY" if s[i] * side > 0 else "RIGHTY"
            above = "ABOVE" if s[i] * turn[i] > 0 else "BELOW"
            wrist_word = "NOFLIP" if q[i, 4] >= 0 else "FLIP"
            name = solver.branch_names[int(solver.branch_of(q[i]))]
            assert name == f"{lefty} {above} {wrist_word}"


def test_above_means_a_higher_elbow(golden) -> None:
    arm = puma(golden)
    T = translate(0.55, 0.1, 0.1) @ rot_y(np.pi)
    found = arm.solver.solve(T)
    height = arm.chain.frames(found.q)[:, 2, 2, 3]
    for side in ("LEFTY", "RIGHTY"):
        for wrist in ("FLIP", "NOFLIP"):
            above, below = (found.names.index(f"{side} {e} {wrist}") for e in ("ABOVE", "BELOW"))
            assert height[above] > height[below] + 0.1


def test_branch_names_are_unique(golden) -> None:
    for special in SPECIAL:
        solver = random_arm(np.random.default_rng(0), special, "standard").solver
        assert len(set(solver.branch_names)) == 8


def test_straight_wrist_keeps_the_fourth_joint_of_the_reference(golden) -> None:
    arm = puma(golden)
    q = np.array([0.4, -0.9, 1.3, 0.8, 0.0, -0.5])
    T = arm.fk(q)
    for q0, q4 in ((None, 0.0), (q, 0.8)):
        found = arm.solver.solve(T, q0)
        assert found.valid.all()
        assert max(error.max() for error in pose_errors(arm, found.q, T)) < 1e-14
        same = found.names.index("LEFTY BELOW NOFLIP")
        assert found.q[same, 3] == pytest.approx(q4, abs=1e-15)
        assert found.q[same, 3] + found.q[same, 5] == pytest.approx(0.3, abs=1e-14)


@pytest.mark.parametrize("q5", [1e-15, 1e-13, 1e-11, 1e-9, 1e-7, 1e-4])
def test_nearly_straight_wrist_is_exact(golden, q5: float) -> None:
    arm = puma(golden)
    rng = np.random.default_rng(5)
    q = rng.uniform(-np.pi, np.pi, (200, 6))
    q[:, 4] = q5
    T = arm.fk(q)
    found = arm.solver.solve(T)
    assert found.valid.any(axis=1).all()
    position, orientation = pose_errors(arm, found.q, T[:, None])
    assert max(position[found.valid].max(), orientation[found.valid].max()) < 3e-13


def test_wrist_centre_on_the_first_axis_keeps_the_first_joint_of_the_reference() -> None:
    arm = upright()
    # Upper arm and forearm fold to an isosceles triangle over axis 1.
    q = np.array([0.7, 1.0, 0.0, 0.3, 0.9, -0.2])
    reach = lambda q3: arm.chain.frames([0.0, 1.0, q3, 0, 0, 0])[4, 0, 3]  # noqa: E731
    low, high = 2.0, 3.5
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if reach(low) * reach(middle) <= 0 else (middle, high)
    q[2] = low
    T = arm.fk(q)
    for q0, q1 in ((None, 0.0), (q, 0.7)):
        found = arm.solver.solve(T, q0)
        assert found.valid.all()
        assert max(error.max() for error in pose_errors(arm, found.q, T)) < 1e-13
        assert np.isclose(turn_distance(found.q[:, 0], q1), 0, atol=1e-12).any()


def test_stretched_arm_is_reached_and_slightly_beyond_is_not(golden) -> None:
    arm = puma(golden)
    # The forearm, with its small offset a3, in line with the upper arm.
    q = np.array([0.3, -0.7, np.arctan2(0.43307, -0.02032), 0.5, 0.6, 0.7])
    T = arm.fk(q)
    frames = arm.chain.frames(q)
    outward = frames[4, :3, 3] - frames[1, :3, 3]
    outward -= (outward @ frames[1, :3, 2]) * frames[1, :3, 2]
    length = np.linalg.norm(outward)
    assert length == pytest.approx(0.4318 + np.hypot(0.43307, 0.02032), abs=1e-15)
    found = arm.solver.solve(T)
    assert found.valid.any()
    assert turn_distance(found.q, q).max(axis=-1)[found.valid].min() < 1e-7
    farther = T.copy()
    farther[:3, 3] += 1e-9 * outward / length
    assert not arm.solver.solve(farther).valid.any()


def test_unreachable_target_has_a_reason_in_metres(golden) -> None:
    solver = puma(golden).solver
    far = translate(1.2, 0.0, 0.0)
    assert not solver.solve(far).valid.any()
    # Tool along z: the wrist centre is 56.25 mm below it, 149.09 mm beside the shoulder.
    distance = np.sqrt(1.2**2 - 0.14909**2 + 0.05625**2)
    assert f"{distance:.4g} m from the shoulder axis" in solver.why_unreachable(far)
    assert "0.001746 to 0.8653 m" in solver.why_unreachable(far)
    near = translate(0.05, 0.0, 0.3)
    assert not solver.solve(near).valid.any()
    assert "0.05 m from axis 1" in solver.why_unreachable(near)
    assert "at least 0.1491 m" in solver.why_unreachable(near)
    assert solver.why_unreachable(puma(golden).fk(np.full(6, 0.3))) is None


def test_unreachable_target_of_a_general_arm_has_a_distance() -> None:
    rng = np.random.default_rng(6)
    for special in ("general", "axes 1, 2 meet", "axes 1, 2 parallel"):
        arm = random_arm(rng, special, "standard")
        solver = arm.solver
        T = arm.fk(np.zeros(6))
        T[:3, 3] += 9.0
        assert not solver.solve(T).valid.any()
        assert "the nearest reachable position" in solver.why_unreachable(T)


def test_wrist_limit_is_reported() -> None:
    arm = arm_of(
        (0.4, 0.0, H),
        (0.0, 0.5, 0.0),
        (0.0, 0.0, H),
        (0.4, 0.0, 0.3),
        (0.0, 0.0, 0.4),
        (0.1, 0.0, 0.0),
    )
    solver = arm.solver
    q = np.array([0.3, 0.5, -0.8, 0.1, 0.2, 0.3])
    T = arm.fk(q)
    assert solver.solve(T).valid.any()
    # About the wrist centre, so that the arm still reaches.
    wrist = arm.chain.frames(q)[4, :3, 3]
    turns = [
        translate(*wrist) @ rot_x(x) @ rot_y(y) @ translate(*-wrist) @ T
        for x in np.arange(0.0, 6.2, 0.4)
        for y in np.arange(0.0, 6.2, 0.4)
    ]
    reached = solver.solve(np.array(turns)).valid.any(axis=-1)
    unreached = [turned for turned, found in zip(turns, reached, strict=True) if not found]
    assert len(unreached) > 10
    for turned in unreached:
        assert "this wrist allows 5.7° to 40.1°" in solver.why_unreachable(turned)


def test_one_pose_equals_the_same_pose_in_a_batch_of_any_shape(golden) -> None:
    arm = puma(golden)
    q = np.random.default_rng(7).uniform(-np.pi, np.pi, (2, 3, 4, 6))
    T = arm.fk(q)
    together = arm.solver.solve(T)
    assert together.q.shape == (2, 3, 4, 8, 6) and together.valid.shape == (2, 3, 4, 8)
    alone = arm.solver.solve(T[1, 2, 3])
    np.testing.assert_allclose(alone.q, together.q[1, 2, 3], atol=1e-13)


@pytest.mark.parametrize("error", [1e-12, 1e-9, 4e-6])
def test_nearly_special_geometry_is_solved_exactly(error: float) -> None:
    """A file may contain 1.5708; Newton steps remove the difference, except at singular poses."""
    rng = np.random.default_rng(8)
    e = error * rng.uniform(-1, 1, 8)
    arm = arm_of(
        (0.6, e[0], -H + e[1]),
        (0.1, 0.45, e[2]),
        (0.0, -0.02, H + e[3]),
        (0.43, e[4], -H + e[5]),
        (e[6], e[7], H),
        (0.06, 0.0, 0.0),
    )
    q = rng.uniform(-np.pi, np.pi, (2000, 6))
    # A millirad and more from the straight wrist, the stretched arm and the shoulder's singularity.
    J = arm.chain.jacobian(q)
    J[:, :3] /= arm.chain.size
    q = q[np.linalg.svd(J, compute_uv=False)[:, -1] > 3e-3]
    assert len(q) > 1500
    check_round_trip(arm, q)


def test_mismatch_gives_the_reason() -> None:
    cases = {
        "no configuration allows joints 1 to 3 to move the wrist centre": arm_of(
            (0.1, 0.3, 0.0),
            (0.0, 0.3, 0.0),
            (0.0, 0.2, H),
            (0.2, 0.0, -H),
            (0.0, 0.0, H),
            (0.1, 0.0, 0.0),
        ),
        "axes 4 and 5 are parallel": arm_of(
            (0.1, 0.3, H),
            (0.0, 0.3, 0.0),
            (0.0, 0.2, H),
            (0.2, 0.0, 0.0),
            (0.0, 0.0, H),
            (0.1, 0.0, 0.0),
        ),
        "axes 5 and 6 do not intersect: their distance is 0.05 m": arm_of(
            (0.1, 0.3, H),
            (0.0, 0.3, 0.0),
            (0.0, 0.2, H),
            (0.2, 0.0, H),
            (0.0, 0.05, H),
            (0.1, 0.0, 0.0),
        ),
        "axes 4 and 6 intersect axis 5 in two points, 0.07 m apart": arm_of(
            (0.1, 0.3, H),
            (0.0, 0.3, 0.0),
            (0.0, 0.2, H),
            (0.2, 0.0, H),
            (0.07, 0.0, H),
            (0.1, 0.0, 0.0),
        ),
    }
    for reason, arm in cases.items():
        found = spherical_wrist.recognise(arm.chain)
        assert isinstance(found, Mismatch) and not found
        assert reason in str(found)
