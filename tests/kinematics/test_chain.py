"""The serial chain behind a model, against another engine and the reference poses."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from brazo.errors import BrazoError
from brazo.kinematics.chain import chain_of
from brazo.model.description import Body, Joint, TreeModel, frozen
from tests import oracles
from tests.kinematics.closed_form.arms import Arm, golden_rows

RNG = np.random.default_rng(1)


def random_pose(rng: np.random.Generator) -> np.ndarray:
    T = np.eye(4)
    T[:3, :3] = Rotation.random(rng=rng).as_matrix()
    T[:3, 3] = rng.normal(size=3)
    return frozen(T)


def random_arm(rng: np.random.Generator, joints: int) -> TreeModel:
    """Any axes, offsets, and transforms before and after; revolute and prismatic mixed."""
    bodies = [Body("base")]
    for i in range(joints):
        axis = rng.normal(size=3)
        axis = frozen([[0, 0, -1], [0, 1, 0], axis / np.linalg.norm(axis)][i % 3])
        joint = Joint(
            f"j{i}",
            "prismatic" if i % 4 == 2 else "revolute",
            i,
            before=random_pose(rng),
            axis=axis,
            after=random_pose(rng),
            offset=float(rng.normal()),
        )
        bodies.append(Body(f"b{i}", parent=i, joint=joint))
    return TreeModel(name="any", bodies=tuple(bodies), tip=joints, tool=random_pose(rng))


@pytest.mark.parametrize("joints", [2, 4, 7])
def test_forward_kinematics_and_jacobian_agree_with_pinocchio(joints: int) -> None:
    model = random_arm(np.random.default_rng(joints), joints)
    chain, other = chain_of(model), oracles.pinocchio(model)
    q = RNG.normal(size=(20, joints))
    np.testing.assert_allclose(chain.fk(q), [other.tool(x) for x in q], atol=3e-14)
    np.testing.assert_allclose(chain.jacobian(q), [other.jacobian(x) for x in q], atol=3e-14)


def test_each_frame_has_its_joint_axis_as_z() -> None:
    model = random_arm(np.random.default_rng(5), 5)
    chain, other = chain_of(model), oracles.pinocchio(model)
    q = RNG.normal(size=5)
    T = np.eye(4)
    for i, joint in enumerate(model.joints):
        T = (T if i == 0 else other.frames(q)[i]) @ joint.before
        np.testing.assert_allclose(chain.frames(q)[i, :3, 2], T[:3, :3] @ joint.axis, atol=3e-14)
    directions, points = chain.home_axes
    np.testing.assert_array_equal(directions, chain.frames(np.zeros(5))[:, :3, 2])
    np.testing.assert_array_equal(points, chain.frames(np.zeros(5))[:, :3, 3])


@pytest.mark.parametrize(
    "robot",
    [
        "puma560_fgl",
        "puma560_corke",
        "srm1_corrected",
        "srm1_as_printed",
        "scara1_proposed",
        "scara2_proposed",
    ],
)
def test_reference_poses(golden, robot: str) -> None:
    chain = Arm(golden_rows(golden["robots"][robot]["table"])).chain
    for case in golden["robots"][robot]["fk"]:
        np.testing.assert_allclose(chain.fk(case["q"]), case["T"], atol=2e-14)


def test_leading_dimensions_broadcast() -> None:
    chain = chain_of(random_arm(np.random.default_rng(6), 3))
    q = RNG.normal(size=(2, 5, 3))
    assert chain.fk(q).shape == (2, 5, 4, 4) and chain.frames(q).shape == (2, 5, 3, 4, 4)
    frames, T = chain.frames_and_tool(q)
    np.testing.assert_array_equal(T[1, 2], chain.fk(q)[1, 2])
    np.testing.assert_array_equal(frames, chain.frames(q))


def test_fingers_beside_the_chain_are_left_out() -> None:
    arm = random_arm(np.random.default_rng(7), 3)
    finger = Joint("finger", "prismatic", 1)
    # The finger has coordinate 1, so the chain's joints are the model's 0, 2 and 3.
    bodies = list(arm.bodies)
    for i, coordinate in ((2, 2), (3, 3)):
        joint = bodies[i].joint
        assert joint is not None
        moved = Joint(
            joint.name,
            joint.kind,
            coordinate,
            joint.before,
            joint.axis,
            joint.after,
            offset=joint.offset,
        )
        bodies[i] = Body(bodies[i].name, bodies[i].parent, moved)
    bodies.append(Body("finger", parent=3, joint=finger))
    model = TreeModel(name="hand", bodies=tuple(bodies), tip=3, tool=arm.tool)
    chain = chain_of(model)
    assert chain.coordinates == (0, 2, 3)
    q = RNG.normal(size=3)
    np.testing.assert_array_equal(chain.fk(q), chain_of(arm).fk(q))


def test_joints_that_follow_others_are_refused() -> None:
    arm = random_arm(np.random.default_rng(8), 3)
    bodies = list(arm.bodies)
    bodies[3] = Body("b2", parent=2, joint=Joint("follower", "revolute", 0, multiplier=-1.0))
    model = TreeModel(name="parallelogram", bodies=tuple(bodies), tip=3)
    with pytest.raises(BrazoError, match=r"parallelogram: joint .follower. mimics another joint"):
        chain_of(model)
