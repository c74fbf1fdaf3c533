"""Distance from singularities, against closed formulas."""

import numpy as np
import pytest

import brazo


def test_planar_manipulability_has_its_textbook_form():
    """For a SCARA's two links det of the planar Jacobian is L1 L2 sin(q2)."""
    arm = brazo.load("scara2")
    q = np.array([0.3, 0.7, 0.0, 0.1, 0.2])
    L1, L2 = 0.25, 0.20
    elbow = arm.jacobian(q, link="link 2")[:2, :2]
    assert abs(np.linalg.det(elbow)) == pytest.approx(L1 * L2 * np.sin(0.7), rel=1e-14)


def test_a_stretched_scara_is_singular_and_a_bent_one_is_not():
    arm = brazo.load("teleop-scara")
    assert arm.mobility == 4
    stretched = arm.dexterity([0.2, 0.1, 0.4, 0.0, 0.3])
    bent = arm.dexterity([0.2, 0.1, 0.4, 1.2, 0.3])
    assert stretched.rank == 3 and bent.rank == 4
    assert stretched.smallest_singular_value < 1e-15 < bent.smallest_singular_value
    assert stretched.condition > 1e12 > bent.condition


def test_puma_wrist_singularity_and_batches():
    arm = brazo.load("puma560")
    q = arm.random_q(100, seed=0)
    q[0, 4] = 0.0
    measures = arm.dexterity(q)
    assert measures.manipulability.shape == (100,)
    assert measures.rank[0] == 5 and (measures.rank[1:] == 6).all()
    J = arm.jacobian(q)
    assert measures.manipulability[1:] == pytest.approx(abs(np.linalg.det(J))[1:], rel=1e-9)


def test_unknown_rows_are_named():
    with pytest.raises(brazo.BrazoError, match="all, linear, angular"):
        brazo.load("puma560").dexterity(np.zeros(6), rows="lin")
