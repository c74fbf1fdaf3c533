"""Shipped textbook robots against numbers and formulas of their sources, not of brazo."""

import mujoco
import numpy as np
import pytest

import brazo
from brazo.model.transforms import pose

PI = np.pi


def turned(axis: int, angle: float) -> np.ndarray:
    rpy = np.zeros(3)
    rpy[axis] = angle
    return pose((0, 0, 0), rpy)


def chain(origins, q) -> list[np.ndarray]:
    """Link frames for joints about z at origins (xyz, rpy) in the previous link."""
    T, frames = np.eye(4), []
    for (xyz, rpy), angle in zip(origins, q, strict=True):
        T = T @ pose(xyz, rpy) @ turned(2, angle)
        frames.append(T)
    return frames


@pytest.mark.parametrize("name", ["planar-2r", "planar-3r"])
def test_planar_arms_add_their_angles(name):
    arm = brazo.load(name)
    lengths = [arm.parameters[f"L{i + 1}"] for i in range(arm.n)]
    q = arm.random_q(50, seed=1)
    sums = np.cumsum(q, axis=1)
    T = arm.fk(q)
    assert T[:, 0, 3] == pytest.approx(np.cos(sums) @ lengths, abs=1e-14)
    assert T[:, 2, 3] == pytest.approx(np.sin(sums) @ lengths, abs=1e-14)
    assert np.abs(T[:, 1, 3]).max() < 1e-15
    assert T[:, 0, 0] == pytest.approx(np.cos(sums[:, -1]), abs=1e-14)


def test_two_link_arm_has_the_equations_of_the_textbook():
    """B(q), c(q, qd) and g(q) of Siciliano et al., section 7.3.2, without motors."""
    arm = brazo.load("planar-2r")
    a, c, m, inertia, g = 1.0, 0.5, 50.0, 10.0, 9.81
    rng = np.random.default_rng(2)
    for q, qd, qdd in rng.uniform(-2, 2, (20, 3, 2)):
        c2, s2 = np.cos(q[1]), np.sin(q[1])
        b11 = inertia + m * c**2 + inertia + m * (a**2 + c**2 + 2 * a * c * c2)
        b12 = inertia + m * (c**2 + a * c * c2)
        B = np.array([[b11, b12], [b12, inertia + m * c**2]])
        h = -m * a * c * s2
        C = np.array([[h * qd[1], h * (qd[0] + qd[1])], [-h * qd[0], 0.0]])
        both = m * c * g * np.cos(q[0] + q[1])
        G = np.array([(m * c + m * a) * g * np.cos(q[0]) + both, both])
        assert arm.mass_matrix(q) == pytest.approx(B, rel=1e-14)
        assert arm.gravity(q) == pytest.approx(G, rel=1e-13, abs=1e-11)
        tau = arm.inverse_dynamics(q, qd, qdd)
        assert tau == pytest.approx(B @ qdd + C @ qd + G, rel=1e-13, abs=1e-11)


def test_anthropomorphic_arm_has_the_position_of_the_textbook():
    arm = brazo.load("spatial-3r")
    H, a2, a3 = (arm.parameters[k] for k in ("H", "L2", "L3"))
    for q in arm.random_q(20, seed=3):
        c1, s1 = np.cos(q[0]), np.sin(q[0])
        out = a2 * np.cos(q[1]) + a3 * np.cos(q[1] + q[2])
        up = a2 * np.sin(q[1]) + a3 * np.sin(q[1] + q[2])
        assert arm.fk(q)[:3, 3] == pytest.approx([c1 * out, s1 * out, H + up], abs=1e-15)


def test_stanford_arm_has_the_products_of_paul():
    """T6 of Paul 1981, equation (2.55), with his base at the shoulder."""
    arm = brazo.load("stanford")
    d2 = arm.parameters["D2"]
    for q in arm.random_q(20, seed=4):
        d3 = q[2]
        (c1, c2, _, c4, c5, c6), (s1, s2, _, s4, s5, s6) = np.cos(q), np.sin(q)
        n = c4 * c5 * c6 - s4 * s6, s4 * c5 * c6 + c4 * s6
        o = -c4 * c5 * s6 - s4 * c6, -s4 * c5 * s6 + c4 * c6
        wanted = np.array(
            [
                [c1 * (c2 * n[0] - s2 * s5 * c6) - s1 * n[1],
                 c1 * (c2 * o[0] + s2 * s5 * s6) - s1 * o[1],
                 c1 * (c2 * c4 * s5 + s2 * c5) - s1 * s4 * s5,
                 c1 * s2 * d3 - s1 * d2],
                [s1 * (c2 * n[0] - s2 * s5 * c6) + c1 * n[1],
                 s1 * (c2 * o[0] + s2 * s5 * s6) + c1 * o[1],
                 s1 * (c2 * c4 * s5 + s2 * c5) + c1 * s4 * s5,
                 s1 * s2 * d3 + c1 * d2],
                [-s2 * n[0] - c2 * s5 * c6, -s2 * o[0] + c2 * s5 * s6, -s2 * c4 * s5 + c2 * c5,
                 c2 * d3 + arm.parameters["H"]],
            ]
        )  # fmt: skip
        assert arm.fk(q)[:3] == pytest.approx(wanted, abs=2e-15)


# Joint origins of Universal Robots' public ROS description of the UR5e (default_kinematics.yaml),
# and its masses and centres of mass in those link frames (physical_parameters.yaml).
UR5E = (
    ((0, 0, 0.1625), (0, 0, 0)),
    ((0, 0, 0), (PI / 2, 0, 0)),
    ((-0.425, 0, 0), (0, 0, 0)),
    ((-0.3922, 0, 0.1333), (0, 0, 0)),
    ((0, -0.0997, 0), (PI / 2, 0, 0)),
    ((0, 0.0996, 0), (PI / 2, PI, PI)),
)
UR5E_MASSES = (
    (3.761, (0, -0.00193, -0.02561)),
    (8.058, (-0.2125, 0, 0.11336)),
    (2.846, (-0.2422, 0, 0.0265)),
    (1.37, (0, -0.01634, -0.0018)),
    (1.3, (0, 0.01634, -0.0018)),
    (0.365, (0, 0, -0.001159)),
)
# Bodies of the public MuJoCo model of the iiwa 14: origin in the parent, mass, centre, inertia.
HALF, FLIP = (PI / 2, 0, 0), (PI / 2, 0, PI)  # quaternions (1, 1, 0, 0) and (0, 0, 1, 1)
IIWA = (
    ((0, 0, 0.1575), (0, 0, 0), 5.76, (0, -0.03, 0.12), (0.0333, 0.033, 0.0123)),
    ((0, 0, 0.2025), FLIP, 6.35, (0.0003, 0.059, 0.042), (0.0305, 0.0304, 0.011)),
    ((0, 0.2045, 0), FLIP, 3.5, (0, 0.03, 0.13), (0.025, 0.0238, 0.0076)),
    ((0, 0, 0.2155), HALF, 3.5, (0, 0.067, 0.034), (0.017, 0.0164, 0.006)),
    ((0, 0.1845, 0), FLIP, 3.5, (0.0001, 0.021, 0.076), (0.01, 0.0087, 0.00449)),
    ((0, 0, 0.2155), HALF, 1.8, (0, 0.0006, 0.0004), (0.0049, 0.0047, 0.0036)),
    ((0, 0.081, 0), FLIP, 1.2, (0, 0, 0.02), (0.001, 0.001, 0.001)),
)


def test_ur5e_agrees_with_the_makers_ros_description():
    arm = brazo.load("ur5e")
    for q in arm.random_q(20, seed=5):
        frames = chain(UR5E, q)
        assert arm.fk(q) == pytest.approx(frames[-1], abs=1e-14)
        weights = sum(
            -9.81 * mass * (T @ [*com, 1.0])[2]
            for T, (mass, com) in zip(frames, UR5E_MASSES, strict=True)
        )
        assert -arm.energy(q, np.zeros(6))[1] == pytest.approx(weights, abs=1e-12)


def test_iiwa14_agrees_with_mujocos_model():
    arm = brazo.load("iiwa14")
    bodies = "".join(
        f'<body pos="{" ".join(map(str, xyz))}" euler="{" ".join(map(str, rpy))}">'
        f'<joint axis="0 0 1"/><inertial mass="{mass}" pos="{" ".join(map(str, com))}" '
        f'diaginertia="{" ".join(map(str, inertia))}"/>'
        for xyz, rpy, mass, com, inertia in IIWA
    )
    model = mujoco.MjModel.from_xml_string(
        '<mujoco><compiler angle="radian" eulerseq="XYZ"/><worldbody>'
        + bodies + '<site pos="0 0 0.045"/>' + "</body>" * 7 + "</worldbody></mujoco>"
    )  # fmt: skip
    data = mujoco.MjData(model)
    rng = np.random.default_rng(6)
    for q in arm.random_q(10, seed=6):
        data.qpos[:], data.qvel[:], data.qacc[:] = q, rng.normal(size=7), rng.normal(size=7)
        mujoco.mj_inverse(model, data)
        T = arm.fk(q)
        assert T[:3, 3] == pytest.approx(data.site_xpos[0], abs=1e-14)
        assert T[:3, :3].ravel() == pytest.approx(data.site_xmat[0], abs=1e-14)
        tau = arm.inverse_dynamics(q, data.qvel, data.qacc)
        assert tau == pytest.approx(data.qfrc_inverse, abs=1e-11)


def test_manseur_doty_reaches_its_published_target_in_16_ways():
    """The target of the paper (six digits) and 16 solutions of a search that uses only the table.

    Each of them, refined to the rounding of the target, must be a different configuration.
    """
    T = np.array(
        [[-0.760117, -0.641689, 0.102262, -1.140175], [0.133333, 0.0, 0.991071, 0.0],
         [-0.635959, 0.766965, 0.085558, 0.0], [0, 0, 0, 1]]
    )  # fmt: skip
    rows = [
        [168.58, -95.90, -12.95, -137.86, -5.47, -81.36],
        [21.32, 118.72, -40.65, -107.67, -176.64, 179.90],
        [-100.49, 5.65, -40.97, 164.61, 127.92, 142.35],
        [96.12, 176.18, 49.06, -146.75, 19.88, -28.25],
        [96.12, 176.18, -130.94, -33.25, 160.12, 151.75],
        [-20.68, -95.78, -155.34, 50.76, 3.03, -80.26],
        [21.32, 118.72, 139.35, -72.33, -3.36, -0.10],
        [-20.68, -95.78, 24.66, 129.24, 176.97, 99.74],
        [109.91, 6.42, -135.15, -30.93, -62.96, -54.14],
        [-100.49, 5.65, 139.03, 15.39, 52.08, -37.65],
        [-176.25, 117.33, 13.77, 161.88, -11.81, 0.29],
        [168.58, -95.90, 167.05, -42.14, -174.53, 98.64],
        [-113.72, -174.91, 142.58, 13.58, -146.37, 140.70],
        [109.91, 6.42, 44.85, -149.07, -117.04, 125.86],
        [-176.25, 117.33, -166.23, 18.12, -168.19, -179.71],
        [-113.72, -174.91, -37.42, 166.42, -33.63, -39.30],
    ]  # fmt: skip
    arm = brazo.load("manseur-doty")
    q = np.radians(rows)
    assert np.abs(arm.fk(q) - T).max() < 1e-3  # the angles above are rounded to 0.01 deg
    for i in range(16):
        others = np.delete(q, i, axis=0)
        assert np.abs(np.exp(1j * others) - np.exp(1j * q[i])).max(axis=1).min() > 0.1
