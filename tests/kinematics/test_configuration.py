"""The words for how an arm stands are those of the branches that inverse kinematics name."""

from __future__ import annotations

import numpy as np

from brazo.kinematics.configuration import Configuration, configuration
from brazo.model.description import DeltaModel
from brazo.model.dh import DHRow
from tests.kinematics.closed_form.arms import Arm, golden_rows

ARMS = {
    "puma560_fgl": ("table", {"arm", "elbow", "wrist"}),
    "rv2aj_paper": ("dh", {"facing", "elbow"}),
    "scara1_proposed": ("table", {"arm"}),
    "scara2_proposed": ("table", {"arm", "curl"}),
}


def test_every_branch_is_read_back_by_its_name(golden) -> None:
    rng = np.random.default_rng(1)
    for robot, (table, flags) in ARMS.items():
        arm = Arm(golden_rows(golden["robots"][robot][table]))
        q = rng.uniform(0.3, 1.2, arm.chain.n)
        if robot == "scara2_proposed":
            q[2] = q[1]
        found = arm.solver.solve(arm.fk(q))
        assert found.valid.any()
        for slot in np.flatnonzero(found.valid):
            stands = configuration(arm.solver, found.q[slot])
            assert stands.name == str(stands) == found.names[slot]
            assert set(stands.flags) == flags
            assert " ".join(stands.flags.values()) == stands.name
            assert configuration(arm.chain, found.q[slot]) == stands


def test_reference_puma_configurations(golden) -> None:
    arm = Arm(golden_rows(golden["robots"]["puma560_fgl"]["table"]))
    for case in golden["robots"]["puma560_fgl"]["fk"]:
        flags = configuration(arm.solver, case["q"]).flags
        assert flags["arm"] == {"LEFT": "LEFTY", "RIGHT": "RIGHTY"}[case["indicators"]["ARM"]]
        assert flags["elbow"] == case["indicators"]["ELBOW"]


def test_delta_tells_each_arm(golden) -> None:
    p = golden["robots"]["delta"]["params"]
    azimuths = tuple(np.deg2rad(p["arm_azimuth_deg"]))
    model = DeltaModel(name="delta", R=p["R"], r=p["r"], L1=p["L1"], L2=p["L2"], azimuths=azimuths)
    case = golden["robots"]["delta"]["ik"][1]
    theta = [case["theta"][0], case["theta_elbow_in"][1], case["theta"][2]]
    assert configuration(model, case["theta"]).name == "OUT OUT OUT"
    assert configuration(model, theta).flags == {"arm 1": "OUT", "arm 2": "IN", "arm 3": "OUT"}


def test_arms_without_a_closed_form_have_no_flags() -> None:
    seven = Arm([DHRow("revolute", d=0.3, alpha=1.0)] * 7)
    assert configuration(seven.chain, np.zeros(7)) == Configuration("", {})
