"""What parameters measure, by their units and by their use."""

import pytest

from brazo import units
from brazo.formats.library import robot_directory, robot_names
from brazo.formats.robot_yaml.edit import edited
from brazo.formats.robot_yaml.parameter_use import parameter_dimensions
from brazo.formats.robot_yaml.robot_file import RobotFile


def test_parameter_dimension_follows_from_its_use():
    file = RobotFile.parse(
        "name: arm\n"
        "parameters: {L: 0.3, half: L/2, m: 2, turn: 30deg, k: 2, both: 1, by_name: 20cm}\n"
        "joints:\n"
        "  - {a: half, alpha: turn, mass: m, com: [0, 0, both], inertia: {box: [k*L, 1, 1]},\n"
        "     friction: {viscous: both}}\n"
        "  - {d: both, mass: both}\n"
    )
    assert parameter_dimensions(file) == {
        "L": units.LENGTH,  # in a box, and through `half`
        "half": units.LENGTH,
        "m": units.MASS,
        "turn": units.ANGLE,
        "k": units.LENGTH,  # the box does not determine which factor is the length
        "both": None,
        "by_name": units.LENGTH,
    }


def test_every_parameter_of_the_shipped_robots_has_a_dimension():
    for name in robot_names():
        file = RobotFile.read(robot_directory() / f"{name}.yaml")
        found = parameter_dimensions(file)
        assert set(found.values()) <= {units.LENGTH, units.MASS, units.ANGLE}, name


@pytest.mark.parametrize("name", robot_names())
def test_lengths_of_shipped_robots_may_be_given_in_any_unit(name):
    file = RobotFile.read(robot_directory() / f"{name}.yaml")
    values = file.names()
    in_cm = {
        f"parameters.{parameter}": f"{100.0 * values[parameter].value!r}cm"
        for parameter, dimension in parameter_dimensions(file).items()
        if dimension == units.LENGTH
    }
    model = RobotFile(edited(file.root, in_cm)).build()
    for parameter, quantity in values.items():
        assert model.parameters[parameter] == pytest.approx(quantity.value, rel=1e-12)
