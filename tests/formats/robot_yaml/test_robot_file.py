"""The robot file: what it means, what it refuses and where it says so."""

import math
import random
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from brazo.errors import BrazoError
from brazo.formats.library import robot_directory, robot_names
from brazo.formats.mistakes import mistakes
from brazo.formats.robot_yaml.robot_file import RobotFile
from brazo.model.description import DeltaModel, TreeModel

FILE = Path("arm.yaml")
ARM = """\
name: arm
parameters: {L1: 0.3, L2: L1/2}
joints:
  - {name: a, d: 0.4, a: L1, limits: [-150deg, 150deg], mass: 2, com: {a: -L1/2},
     inertia: {box: [L1, 0.08, 0.06]}, friction: {viscous: 0.1, coulomb: [0.2, 0.3]}}
  - {name: b, type: prismatic, theta: 90deg, alpha: 180deg, limits: [0, 20cm], offset: 1cm}
tool: {xyz: [0, 0, L2], rpy: [0, 0, 90deg]}
poses: {home: [45deg, 5cm]}
"""


def build(text: str, **overrides: float):
    return RobotFile.parse(text, FILE).build(overrides)


def test_robot_file_sets_every_field():
    model = build(ARM)
    assert isinstance(model, TreeModel)
    first, second = model.joints
    assert first.limits == pytest.approx((-math.radians(150), math.radians(150)))
    assert first.friction.coulomb == (0.2, 0.3)
    assert (second.kind, second.limits) == ("prismatic", (0.0, 0.2))
    inertia = model.bodies[1].inertia
    assert inertia is not None
    assert inertia.com == pytest.approx([-0.15, 0, 0])
    assert np.diag(inertia.tensor) == pytest.approx(
        2 / 12 * np.array([0.08**2 + 0.06**2, 0.3**2 + 0.06**2, 0.3**2 + 0.08**2])
    )
    assert model.missing_inertia == ("link 2",)
    assert model.poses["home"] == pytest.approx([math.pi / 4, 0.05])
    assert model.tool[:3, 3] == pytest.approx([0, 0, 0.15])


def test_a_parameter_changes_all_that_depends_on_it():
    model = build(ARM, L1=0.5)
    assert model.parameters == {"L1": 0.5, "L2": 0.25}
    assert model.joints[0].after[0, 3] == 0.5
    assert model.bodies[1].inertia.com[0] == -0.25
    assert model.tool[2, 3] == 0.25
    with pytest.raises(BrazoError, match="unknown parameter 'L7'; this robot has: L1, L2"):
        build(ARM, L7=1.0)


def test_inertia_in_the_axes_of_a_centre_of_mass_row():
    text = """\
name: arm
joints: [{a: 1, mass: 1, com: {a: -0.5, alpha: 90deg}, inertia: [1, 2, 3]}]
"""
    tensor = build(text).bodies[1].inertia.tensor
    assert np.diag(tensor) == pytest.approx([1, 3, 2])


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("name: arm", "nam: arm", "arm.yaml:1: unknown field 'nam'; did you mean 'name'?"),
        ("mass: 2", "mass: -2", "arm.yaml:4: joints[0].mass: -2 is below the minimum, 0"),
        ("mass: 2", "mass: 2deg", "joints[0].mass: '2deg' is an angle, expected a mass"),
        ("mass: 2", "mass: .nan", "joints[0].mass:"),
        ("mass: 2, ", "", "joints[0].com: is given without a mass"),
        ("L2: L1/2", "L2: L2/2", "parameters.L2: 'L2' depends on itself"),
        ("L1: 0.3", "L1: L2", "parameters.L1: 'L1' depends on itself"),
        ("a: L1,", "a: L3,", "joints[0].a: unknown name 'L3' in 'L3'; parameters: L1, L2"),
        ("[-150deg, 150deg]", "[150deg, -150deg]", "the lower limit must be below the upper"),
        ("[-150deg, 150deg]", "[1deg]", "joints[0].limits: expected a list of 2 numbers"),
        ("type: prismatic", "type: sphere", "joints[1].type: 'sphere' is not allowed; choose"),
        ("theta: 90deg", "d: 1cm", "joints[1].d: d is the variable of a prismatic joint"),
        ("name: b", "name: a", "joint name 'a' is used twice"),
        ("{home: [45deg, 5cm]}", "{home: [45deg]}", "poses.home: 1 values for 2 joints"),
        ("{home: [45deg, 5cm]}", "{home: [45deg, 5deg]}", "poses.home[1]: '5deg' is an angle"),
        ("joints:", "joints: []\nx:", "arm.yaml:4: unknown field 'x'"),
        ("{box: [L1, 0.08, 0.06]}", "{cube: 1}", "unknown field 'cube'"),
        ("{box: [L1, 0.08, 0.06]}", "[[1,2,3],[4,5,6],[7,8,9]]", "not symmetric"),
        ("coulomb: [0.2, 0.3]", "coulomb: -1", "joints[0].friction.coulomb"),
        ("d: 0.4", "d: 1e300", "is too large"),
    ],
)
def test_errors_name_file_line_and_field(old, new, said):
    assert old in ARM
    with pytest.raises(BrazoError) as error:
        build(ARM.replace(old, new, 1))
    assert said in str(error.value)
    assert str(error.value).startswith("arm.yaml:")


def test_impossible_inertia_warns_and_loads():
    model = build(ARM.replace("{box: [L1, 0.08, 0.06]}", "[1, 1, 3]"))
    assert [str(f) for f in model.findings] == [
        "arm.yaml:5: joints[0].inertia: the triangle inequality is violated: "
        "principal moments 1 + 1 < 3 kg m²"
    ]


def test_a_pose_outside_the_limits_warns_with_the_joint_and_its_units():
    arm = (
        "name: arm\n"
        "joints:\n"
        "  - {name: turn, limits: [-150deg, 150deg]}\n"
        "  - {name: quill, type: prismatic, limits: [0, 20cm]}\n"
        "poses: {far: [160deg, 0], low: [0, 25cm], bare: [90, 0], deep: [0, 50]}\n"
    )
    ends = "-150 .. 150 deg of joint 'turn'", "0 .. 200 mm of joint 'quill'"
    assert [str(finding) for finding in build(arm).findings] == [
        f"arm.yaml:5: poses.far[0]: 160 deg is outside the limits {ends[0]}",
        f"arm.yaml:5: poses.low[1]: 250 mm is outside the limits {ends[1]}",
        f"arm.yaml:5: poses.bare[0]: 90 rad (5156.62 deg) is outside the limits {ends[0]}; "
        "did you mean 90deg?",
        f"arm.yaml:5: poses.deep[1]: 50 m (50000 mm) is outside the limits {ends[1]}; "
        "did you mean 50mm?",
    ]


def test_delta_file():
    model = RobotFile.read(robot_directory() / "delta.yaml").build({"L2": 0.6})
    assert isinstance(model, DeltaModel)
    assert (model.R, model.r, model.L1, model.L2) == (0.2, 0.04, 0.2, 0.6)
    assert np.degrees(model.azimuths) == pytest.approx([210, 330, 90])


@pytest.mark.parametrize("name", robot_names())
def test_shipped_robots_load_and_cite_their_sources(name):
    model = RobotFile.read(robot_directory() / f"{name}.yaml").build()
    assert model.name == name
    assert len(model.about) > 100
    for finding in model.findings:
        # The published Puma and SRM-I tables are known to break these rules.
        assert name.startswith(("puma560", "srm1")), str(finding)


NASTY = [
    "", "~", "null", ".nan", ".inf", "-1", "0", "1e400", "-1e-400", "1e30", "NaN", "true", "yes",
    "[]", "{}", "[[]]", "{a: 1}", "[1, 2, 3]", "*x", "&x [*x]", "&x 1", "!!binary AA", "!!set {}",
    "'", '"', "\\0", '"\\0"', "\u202e", "\U0001f916", "𝟙", "１２", "١",
    "- - -", ": :", "? ?", "%", "@", "`",
    "|", ">", "L1", "L1/0", "(" * 80, "1" * 300, "90degrees", "1/0", "2**99999", "9^9^9^9",
    "prismatic", "revolute", "delta", "serial", "modified", "\t", "# x", "<<: *x", "---", "...",
    "{box: [0, 0, 0]}", "{cylinder: [-1, 1]}", "[[1,2],[3,4]]", "../../etc/passwd.stl",
]  # fmt: skip
SOURCES = {
    name: (robot_directory() / f"{name}.yaml").read_text(encoding="utf-8") for name in robot_names()
}


TEXTS = sorted(SOURCES.values())


def mutated(seed: int) -> str:
    """A shipped robot file with a few things broken in it.

    From a seed, and not from Hypothesis' strategies: drawing would cost more than reading.
    """
    rng = random.Random(seed)
    text = rng.choice(TEXTS)
    for _ in range(rng.randint(1, 4)):
        kind = rng.randint(0, 6)
        at = rng.randint(0, max(len(text) - 1, 0))
        lines = text.split("\n")
        row = rng.randrange(len(lines))
        if kind == 0:
            text = text[:at]
        elif kind == 1:
            text = text[:at] + rng.choice(NASTY) + text[at + 1 :]
        elif kind == 2:
            del lines[row]
            text = "\n".join(lines)
        elif kind == 3:
            lines.insert(row, rng.choice(lines))
            text = "\n".join(lines)
        elif kind == 4:
            codes = (rng.choice((0x80, 0x3000, 0xD800, 0x110000)) for _ in range(rng.randint(0, 8)))
            text = text[:at] + "".join(chr(rng.randrange(most)) for most in codes) + text[at:]
        else:
            # Replace one value behind a colon or inside brackets.
            spots = [i for i, c in enumerate(text) if c in ":[,{"]
            if spots:
                start = rng.choice(spots) + 1
                end = next((i for i in range(start, len(text)) if text[i] in ",]}\n"), len(text))
                text = text[:start] + " " + rng.choice(NASTY) + text[end:]
    if rng.randint(0, 40) == 0:
        text += "\nx0: &x0 [1]\n" + "\n".join(
            f"x{i}: &x{i} [{', '.join([f'*x{i - 1}'] * 9)}]" for i in range(1, 12)
        )
    if rng.randint(0, 40) == 0:
        text += "\ndeep: " + "[" * rng.randint(1, 3000)
    return text


SEEDS = st.integers(0, 2**64 - 1)


@settings(max_examples=5000, deadline=None, suppress_health_check=list(HealthCheck))
@given(SEEDS)
def test_mutated_file_loads_or_is_rejected_with_file_and_line(seed):
    text = mutated(seed)
    start = time.process_time()  # what it costs, not how busy the machine is
    try:
        RobotFile.parse(text.encode("utf-8", "surrogatepass"), FILE).build()
    except BrazoError as error:
        assert str(error).startswith("arm.yaml:"), str(error)
    assert time.process_time() - start < 1.0


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(SEEDS)
def test_first_reported_mistake_is_that_of_the_exception(seed):
    text = mutated(seed)
    try:
        root = RobotFile.parse(text.encode("utf-8", "surrogatepass"), FILE).root
    except BrazoError:
        return  # no document
    try:
        RobotFile(root).build()
    except BrazoError as error:
        refused = [str(error)]
    else:
        refused = []
    reported = mistakes(root, lambda root: RobotFile(root).build())
    assert set(refused) <= set(reported) and bool(refused) == bool(reported)
    assert all(one.startswith("arm.yaml:") for one in reported)
    assert len(set(reported)) == len(reported)
