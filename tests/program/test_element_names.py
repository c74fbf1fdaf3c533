"""Elements of a cell are renamed in the text of a program, and nothing else is."""

from __future__ import annotations

from brazo.program import parse_program
from brazo.program.element_names import with_element_renamed
from brazo.program.program_file import find_program
from brazo.program.references import names_used

TEXT = """\
name: arm  # the program, not the robot: ä
points:
  arm: [{name: P1, in: 'arm', xyz: [0, 0, 1]}]
robots:
  # arm moves first
  arm:
    - note: arm moves
    - line: {in: arm, xyz: [0, 0, 1]}
    - line: {by: [0, 0, 1cm]}
    - set_signal: arm
    - wait_until: {held: bar, by: "arm"}
    - wait_until: {touching: [arm/hand, bar]}
    - for_each: {as: x, of: [bar, armchair], do: [{grip: {body: $x}}]}
  other: [{sync: arm}]
"""


def test_a_robot_is_renamed_where_the_program_refers_to_it():
    text = with_element_renamed(TEXT, "arm", "arm: 2")
    assert text == (
        TEXT.replace("  arm: [", '  "arm: 2": [')
        .replace("  arm:\n", '  "arm: 2":\n')
        .replace("in: 'arm'", 'in: "arm: 2"')
        .replace("in: arm,", 'in: "arm: 2",')
        .replace('by: "arm"', 'by: "arm: 2"')
        .replace("arm/hand", '"arm: 2/hand"')
    )
    assert with_element_renamed(text, "arm: 2", "arm") == TEXT.replace("'arm'", "arm").replace(
        '"arm"', "arm"
    )


def test_every_reference_of_a_shipped_program_is_renamed():
    text = find_program("cooperative").read_text(encoding="utf-8")
    before = names_used(parse_program(text))
    for old in before:
        new = f"{old} 2"
        after = names_used(parse_program(with_element_renamed(text, old, new)))
        assert set(after) == set(before) - {old} | {new}
        assert len(after[new]) == len(before[old])


def test_a_text_that_has_steps_for_the_new_name_or_is_not_yaml_is_not_changed():
    assert with_element_renamed(TEXT, "arm", "other") == TEXT
    assert with_element_renamed("robots: {", "arm", "b") == "robots: {"
