"""The Delta's dynamics from first principles: many small masses moved by the loop kinematics."""

import numpy as np
import pytest

import brazo
from brazo.kinematics.closed_form.delta import loop_frames


def _points(model):
    """(body index in frames, point in it, mass): Gauss points of rods, a box arm, platform."""
    x, w = np.polynomial.legendre.leggauss(3)  # exact for the quadratic speeds along a rod
    nodes, weights = (x + 1) / 2, w / 2
    sizes = (model.L1, 0.03, 0.03)
    found = []
    for i in range(3):
        for a, wa in zip(nodes, weights, strict=True):
            for b, wb in zip(nodes, weights, strict=True):
                for c, wc in zip(nodes, weights, strict=True):
                    at = [a * sizes[0], (b - 0.5) * sizes[1], (c - 0.5) * sizes[2]]
                    found.append((1 + i, at, model.arm_inertia.mass * wa * wb * wc))
        for rod in range(2):
            for a, wa in zip(nodes, weights, strict=True):
                found.append((4 + 2 * i + rod, [0, 0, a * model.L2], model.rod_mass / 2 * wa))
    found.append((10, [0, 0, 0], model.platform_mass))
    return found


def _positions(arm, q):
    frames = arm.frames(q)
    return np.array([frames[b] @ [*p, 1.0] for b, p, _ in _points(arm.model)])[:, :3]


@pytest.mark.parametrize("seed", range(10))
def test_energies_equal_those_of_many_small_masses(seed):
    arm = brazo.load("delta")
    rng = np.random.default_rng(seed)
    q, qd = rng.uniform(-0.8, 0.6, 3), rng.uniform(-2, 2, 3)
    masses = np.array([m for _, _, m in _points(arm.model)])
    h = 1e-5
    steps = [_positions(arm, q + k * h * qd) for k in (-2, -1, 1, 2)]
    speed = (steps[0] - 8 * steps[1] + 8 * steps[2] - steps[3]) / (12 * h)
    kinetic = 0.5 * (masses * (speed**2).sum(axis=1)).sum()
    potential = 9.81 * (masses * _positions(arm, q)[:, 2]).sum()
    E = arm.energy(q, qd)
    assert E[0] == pytest.approx(kinetic, rel=1e-9)
    # Up to a constant: compare differences from another pose.
    other = np.zeros(3)
    change = potential - 9.81 * (masses * _positions(arm, other)[:, 2]).sum()
    assert E[1] - arm.energy(other, qd)[1] == pytest.approx(change, abs=1e-12)


def test_holding_torque_is_the_slope_of_the_potential():
    arm = brazo.load("delta")
    h = 1e-4
    for q in arm.random_q(20, seed=3) * 0.7:
        for i in range(3):
            step = np.zeros(3)
            step[i] = h
            P = [arm.energy(q + k * step, np.zeros(3))[1] for k in (-2, -1, 1, 2)]
            slope = (P[0] - 8 * P[1] + 8 * P[2] - P[3]) / (12 * h)
            assert arm.gravity(q)[i] == pytest.approx(slope, abs=1e-10)


def test_rods_keep_their_length_in_free_motion():
    arm = brazo.load("delta")
    run = arm.simulate(q0=[0.1, -0.1, 0.2], qd0=[1.0, -1.0, 0.5], t_end=0.1, dt=1e-4)
    frames = loop_frames(arm.model, run.q)
    azimuths = np.array(arm.model.azimuths)
    corner = arm.model.r * np.stack([np.cos(azimuths), np.sin(azimuths), np.zeros(3)], axis=-1)
    ends = frames.platform[:, None, :3, 3] + corner
    middle = frames.rods[..., :3, 3].mean(axis=2)
    assert np.abs(np.linalg.norm(ends - middle, axis=-1) - arm.model.L2).max() < 1e-14
    assert run.energy_drift < 1e-10


def test_all_methods_accept_lists_and_batches_and_reject_invalid_input():
    arm = brazo.load("delta")
    q, qd = [0.1, 0.2, 0.3], [0.0, 0.1, 0.2]
    calls = {
        "gravity": (q,), "mass_matrix": (q,), "coriolis": (q, qd), "energy": (q, qd),
        "inverse_dynamics": (q, qd, qd), "forward_dynamics": (q, qd, qd),
    }  # fmt: skip
    for name, arguments in calls.items():
        method = getattr(arm, name)
        one = method(*arguments)
        many = method(*(np.tile(a, (4, 1)) for a in arguments))
        assert many.shape == (4, *one.shape) and (many == one).all()
        assert method(*(np.zeros((0, 3)) for _ in arguments)).shape[0] == 0
        with pytest.raises(brazo.BrazoError, match="finite"):
            method(*([np.nan, 0, 0] for _ in arguments))
        with pytest.raises(brazo.BrazoError, match="the platform has no pose"):
            method([-2.56, -2.47, 1.70], *arguments[1:])
    assert arm.gravity(q, gravity=[0, 0, 0]) == pytest.approx([0, 0, 0])
