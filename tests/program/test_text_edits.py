"""Edits of steps in the text of a program: equal to edits of the parsed steps, comments kept."""

from __future__ import annotations

import pytest

from brazo.errors import BrazoError
from brazo.program import load_program, parse_program, program_names
from brazo.program import steps as s
from brazo.program.program_file import find_program
from brazo.program.step_paths import expanded_paths, outline, step_at
from brazo.program.text_edits import delete, duplicate, editable, insert, move, replace
from brazo.program.validate import flattened
from brazo.program.writer import step_lines

TEXT = """\
name: mine  # a comment
robots:
  left:
    # first
    - move_joints: start
    - repeat:
        times: 2
        do:
          - grip:
              body: box  # inside
          # second
          - wait: 1s
    - release:
  right: []
"""


def left(text: str) -> list[s.Step]:
    return parse_program(text).steps["left"]


def test_a_step_is_inserted_replaced_duplicated_and_deleted():
    wait = s.Wait(time=0.25)
    text = insert(TEXT, "left", (1, 1), wait)
    assert "          - wait: 0.25s\n          # second\n" in text
    assert left(text)[1].do[1] == wait
    text = replace(text, "left", (1, 1), s.Wait(time=2.0))
    assert left(text)[1].do[1] == s.Wait(time=2.0)
    text = delete(text, "left", (1, 1))
    assert text == TEXT
    text = duplicate(TEXT, "left", (1,))
    assert left(text)[1] == left(text)[2] and text.count("# inside") == 2
    assert delete(delete(text, "left", (2,)), "left", (0,)).count("# first") == 0


def test_the_first_and_the_last_step_of_a_list():
    text = insert(TEXT, "right", (0,), s.Release())
    assert text.endswith("  right:\n    - release:\n")
    assert delete(text, "right", (0,)) == TEXT
    text = insert(TEXT, "other one", (0,), s.Wait(time=1.0))
    assert parse_program(text).steps["other one"] == [s.Wait(time=1.0)]
    for empty in ("name: a\nrobots:\n", "name: a\nrobots: {}\n", "name: a\n"):
        text = insert(empty, "left", (0,), s.Repeat(times=3, do=()))
        text = insert(text, "left", (0, 0), s.Release())
        text = insert(text, "left", (1,), s.Sync(name="both"))
        assert left(text) == [s.Repeat(times=3, do=(s.Release(),)), s.Sync(name="both")]
    text = delete(delete(TEXT, "left", (1, 0)), "left", (1, 0))
    assert left(text)[1].do == ()


def test_a_comment_behind_a_step_stays():
    text = TEXT.replace("- release:", "- wait: 3s  # a while")
    text = replace(text, "left", (2,), s.Wait(time=1.0))
    assert "    - wait: 1s  # a while\n" in text


LOOPS = """\
name: loops
robots:
  left:
    - wait: 1s
    # two
    - wait: 2s
    - repeat:  # loop
        times: 3
        do:
          - wait: 3s

          - repeat:
              times: 2
              do:
                - wait: {time: 4s}  # four
                - wait:
                    time: 5s
          - note: |
              long
              text
    - wait: 6s
"""


def test_moves_equal_moves_of_the_parsed_steps():
    steps = left(LOOPS)
    paths = [path for path, _ in outline(steps)]
    refused = 0
    for start in paths:
        for to in [*paths, (4,), (2, 3), (2, 1, 2)]:
            if to[: len(start)] == start and len(to) > len(start):
                with pytest.raises(BrazoError, match="into itself"):
                    move(LOOPS, "left", start, to)
                refused += 1
                continue
            moved, at = move(LOOPS, "left", start, to)
            after = left(moved)
            assert step_at(after, at) == step_at(steps, start)
            kept = [one for path, one in outline(steps) if path[: len(start)] != start]
            same = [one for path, one in outline(after) if path[: len(at)] != at]
            loop = s.Repeat
            assert [x for x in kept if not isinstance(x, loop)] == [
                x for x in same if not isinstance(x, loop)
            ]
            assert len(kept) == len(same)
            assert moved.count("#") == LOOPS.count("#")
            if to in paths and to != start and len(to) <= len(start):
                behind = (*at[:-1], at[-1] + 1)  # the step that was there follows
                if not isinstance(step_at(after, behind), loop):
                    assert step_at(after, behind) == step_at(steps, to)
    assert refused


def test_shipped_programs_can_be_edited_and_every_step_reads_back():
    for name in program_names():
        assert editable(find_program(name).read_text(encoding="utf-8")), name
        for steps in load_program(name).steps.values():
            assert len(list(expanded_paths(steps))) == len(flattened(steps))
            lines = [f"    {line}" for step in steps for line in step_lines(step)]
            again = left("\n".join(["name: a", "robots:", "  left:", *lines]))
            assert near(again, steps)


def near(a, b) -> bool:
    """Equal but for the rounding of written numbers."""
    if isinstance(a, float) or isinstance(b, float):
        return a is not None and b is not None and abs(a - b) < 1e-9
    if isinstance(a, tuple | list):
        return len(a) == len(b) and all(near(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(near(a[k], b[k]) for k in a)
    if hasattr(a, "__dataclass_fields__") and not isinstance(a, s.Place):
        names = [n for n in a.__dataclass_fields__ if n not in ("place", "kinds")]
        return type(a) is type(b) and all(near(getattr(a, n), getattr(b, n)) for n in names)
    return a == b


@pytest.mark.parametrize(
    "text",
    [
        "name: a\nrobots: {left: [{wait: 1s}]}\n",
        "name: a\nrobots:\n  left: [{wait: 1s}]\n",
        "name: a\nrobots:\n  left:\n    -\n      wait: 1s\n",
        "{name: a, robots: {left: []}}",
        "name: a\nrobots:\n  left:\n    - repeat: {times: 2, do: [{wait: 1s}]}\n",
    ],
)
def test_texts_in_other_styles_have_to_be_rewritten(text):
    assert not editable(text)
    assert editable(parse_program(text).to_yaml())
