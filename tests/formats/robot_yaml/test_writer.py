"""A written robot file has the content of its source and the edits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brazo.errors import BrazoError
from brazo.formats.document import Field, Node, parse_document
from brazo.formats.library import robot_directory, robot_names
from brazo.formats.robot_yaml.robot_file import RobotFile
from brazo.formats.robot_yaml.writer import WIDTH, robot_yaml


def plain(node: Node):
    """The tree without lines."""
    if isinstance(node.value, dict):
        return {key: plain(child) for key, (_, child) in node.value.items()}
    return [plain(child) for child in node.value] if isinstance(node.value, list) else node.value


@pytest.mark.parametrize("name", robot_names())
def test_every_shipped_robot_round_trips_field_by_field(name):
    file = RobotFile.read(robot_directory() / f"{name}.yaml")
    text = robot_yaml(file.root)
    assert plain(parse_document(text).node) == plain(file.root.node)
    assert max(map(len, text.splitlines())) <= WIDTH


scalars = st.one_of(st.none(), st.text(max_size=120), st.sampled_from(["null", "~", "- a", "# b"]))
keys = st.text(min_size=1, max_size=20)
trees = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=12,
)


def node_of(value) -> Node:
    if isinstance(value, dict):
        return Node(1, {key: (1, node_of(child)) for key, child in value.items()})
    return Node(1, [node_of(item) for item in value] if isinstance(value, list) else value)


@given(st.dictionaries(keys, trees, min_size=1, max_size=4))
def test_any_text_in_any_field_is_read_back_as_it_was(fields):
    text = robot_yaml(Field(node_of(fields), "", None))
    assert plain(parse_document(text).node) == fields


def test_other_parameters_are_numbers_and_expressions_stay():
    file = RobotFile.read(robot_directory() / "scara1.yaml")
    text = robot_yaml(file.root, {"L1": 0.1 + 0.2})
    again = RobotFile.parse(text)
    assert "L1: 0.30000000000000004" in text and "a: L1" in text and "com: {a: -L1/2}" in text
    edited, model = file.build({"L1": 0.1 + 0.2}), again.build()
    assert model.parameters == edited.parameters
    for a, b in zip(model.bodies[1:], edited.bodies[1:], strict=True):
        assert np.array_equal(a.joint.after, b.joint.after)
        assert np.array_equal(a.inertia.tensor, b.inertia.tensor)
    with pytest.raises(BrazoError, match="unknown parameter 'L9'; this robot has: L_base, L1"):
        robot_yaml(file.root, {"L9": 1.0})


def test_edited_parameter_keeps_its_dimension():
    file = RobotFile.read(robot_directory() / "rv2aj.yaml")  # contains scale: [1, 1, OA/297.5mm]
    text = robot_yaml(file.root, {"OA": 0.35})
    assert "OA: 0.35m" in text
    assert RobotFile.parse(text).build().parameters == file.build({"OA": 0.35}).parameters


@given(st.floats(-1e6, 1e6), st.sampled_from(["3", "30deg", "2kg*(1cm)^2", "1m/(2s)^2", "5cm*2m"]))
def test_edited_parameters_are_read_back_exactly(value, original):
    text = f"name: a\nparameters: {{p: {original}}}\njoints: [{{a: 1}}]\n"
    file = RobotFile.parse(text)
    again = RobotFile.parse(robot_yaml(file.root, {"p": value})).names()["p"]
    assert again == file.names({"p": value})["p"]


def test_robots_of_other_formats_are_not_written():
    with pytest.raises(BrazoError, match="expected a robot file"):
        robot_yaml(parse_document("[1, 2]"))
