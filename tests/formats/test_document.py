"""YAML with line numbers: errors and their locations."""

from pathlib import Path

import pytest

from brazo.errors import BrazoError
from brazo.formats.document import parse_document

FILE = Path("arm.yaml")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: 1\na: 2", "arm.yaml:2: field 'a' is given twice"),
        ("a: &x [*x]", "arm.yaml:1: '*x' contains itself"),
        ("a: 1\nb: *y", "arm.yaml:2: '*y' refers to an anchor '&y' that is not"),
        ("a: !!python/object:os.system 1", "arm.yaml:1: tag"),
        ("[" * 500, "arm.yaml:1: nested more than"),
        ("a: 1\nb: [1", "arm.yaml:3: not valid YAML"),
        ("a: 1\n---\nb: 2", "arm.yaml:2: a second YAML document"),
        ("? [1]\n: 2", "arm.yaml:1: a field name must be plain text"),
        ("a: \x00", "arm.yaml:1: not valid YAML"),
        (b"a: 1\nb: \xff\xfe", "arm.yaml:2: not UTF-8"),
        ("a: " + "x" * (1 << 20), "arm.yaml: larger than 1 MiB"),
        ("- 1\n" * 30_000, "more than 20000 values"),
    ],
)
def test_errors_have_a_location(text, said):
    with pytest.raises(BrazoError) as error:
        parse_document(text, FILE)
    assert said in str(error.value)


def test_unknown_field_names_the_nearest():
    root = parse_document("name: x\njiont: 1\n", FILE)
    with pytest.raises(BrazoError) as error:
        root.mapping(("name", "joint"))
    assert str(error.value) == (
        "arm.yaml:2: unknown field 'jiont'; did you mean 'joint'? allowed: name, joint"
    )


def test_nested_anchors_are_not_expanded():
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 30)]
    root = parse_document("\n".join(lines), FILE)
    with pytest.raises(BrazoError, match=r"arm.yaml:30: a29: expected a number, got a list of 10"):
        root.mapping()["a29"].number()


def test_scalars_are_parsed_on_access():
    fields = parse_document("a: 1e-3\nb: on\nc:\nd: ''", FILE).mapping()
    assert fields["a"].number() == 1e-3
    assert fields["b"].text() == "on"
    assert fields["c"].is_null and not fields["d"].is_null


@pytest.mark.parametrize("text", ['"1"', "'-2.5e3'", "true", "yes", "'nan'"])
def test_booleans_and_quoted_numbers_are_no_numbers(text):
    field = parse_document(f"scale: {text}", Path("file.yaml")).mapping()["scale"]
    with pytest.raises(BrazoError, match=r"file\.yaml:1: scale: "):
        field.number()


def test_an_expression_may_be_quoted():
    fields = parse_document("a: '90deg / 2'\nname: '1'").mapping()
    assert fields["a"].quantity().value == pytest.approx(0.785398, abs=1e-6)
    assert fields["name"].identifier() == "1"
