"""The robots of other people that the readers are tried on: those of the rtb-data package."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import rtbdata

from brazo.formats.urdf.reader import read_urdf
from brazo.model.description import TreeModel

ROOT = Path(rtbdata.__file__).parent
KUKA = "xacro/kuka_description"
PANDA = "xacro/qut_frankie_description/robots"
TROSSEN = "xacro/trossen_descriptions/urdf"

ROBOTS = [
    "armer_xarm/data/xacro/robots/xarm6/xarm6.xacro",
    "xacro/abb_irb140_description/urdf/irb140.urdf",
    "xacro/abb_irb140_description/urdf/irb140.xacro",
    "xacro/abb_irb140_description/urdf/irb140QT.urdf",
    "xacro/clearpath_ridgeback_description/urdf/ridgeback.urdf.xacro",
    f"{KUKA}/kuka_kr10/urdf/kr10r1100sixx.xacro",
    f"{KUKA}/kuka_kr120/urdf/kr120r2500pro.urdf",
    f"{KUKA}/kuka_kr120/urdf/kr120r2500pro.xacro",
    f"{KUKA}/kuka_kr150/urdf/kr150_2.xacro",
    f"{KUKA}/kuka_kr16/urdf/kr16_2.urdf",
    f"{KUKA}/kuka_kr16/urdf/kr16_2.xacro",
    f"{KUKA}/kuka_kr210/urdf/kr210l150.urdf",
    f"{KUKA}/kuka_kr3/urdf/kr3r540.xacro",
    f"{KUKA}/kuka_kr5/urdf/kr5_arc.xacro",
    f"{KUKA}/kuka_kr6/urdf/kr6r700sixx.xacro",
    f"{KUKA}/kuka_kr6/urdf/kr6r900sixx.xacro",
    f"{KUKA}/kuka_lbr_iiwa/urdf/lbr_iiwa_14_r820.urdf",
    f"{KUKA}/kuka_lbr_iiwa/urdf/lbr_iiwa_14_r820.xacro",
    "xacro/lynxmotion_al5d_description/urdf/al5d_robot.urdf",
    f"{PANDA}/dual_panda_example.urdf.xacro",
    f"{PANDA}/frankieOmni_arm.urdf.xacro",
    f"{PANDA}/frankieOmni_arm_hand.urdf.xacro",
    f"{PANDA}/frankie_arm.urdf.xacro",
    f"{PANDA}/frankie_arm_hand.urdf.xacro",
    f"{PANDA}/hand.urdf.xacro",
    f"{PANDA}/panda_arm.urdf.xacro",
    f"{PANDA}/panda_arm_hand.urdf.xacro",
    *(
        f"{TROSSEN}/{name}.urdf.xacro"
        for name in [
            "px100",
            "px150",
            "pxxls",
            "rx150",
            "rx200",
            "vx250",
            "vx300",
            "vx300s",
            "vxxmd",
            "vxxms",
            "wx200",
            "wx250",
            "wx250s",
            "wxxmd",
            "wxxms",
        ]
    ),
    "xacro/unimation_puma560_description/urdf/puma560_robot.urdf",
    "xacro/unimation_puma560_description/urdf/puma560_robot.urdf.xacro",
]
NAMES = [path.rpartition("/")[2] for path in ROBOTS]


@lru_cache(maxsize=64)
def foreign(name: str) -> TreeModel:
    """The model of a robot, by its file's name."""
    return read_urdf(path_of(name))


def path_of(name: str) -> Path:
    return ROOT / ROBOTS[NAMES.index(name)]
