"""Undo and redo of edits."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brazo.errors import BrazoError
from brazo.project.history import DEPTH, Edit, History


class Ticks:
    """A clock that advances by `step` at each reading."""

    def __init__(self, step: float = 10.0) -> None:
        self.now, self.step = 0.0, step

    def __call__(self) -> float:
        self.now += self.step
        return self.now


def setter(state: dict[str, int], name: str, value: int, key: str = "") -> Edit:
    before = state.get(name, 0)
    return Edit(
        f"{name} = {value}",
        lambda: state.__setitem__(name, value),
        lambda: state.__setitem__(name, before),
        key,
    )


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(-5, 5)), max_size=12), st.data())
def test_undo_and_redo_visit_the_same_states(edits, data):
    history, state = History(Ticks()), dict.fromkeys("abc", 0)
    seen = [dict(state)]
    for name, value in edits:
        history.do(setter(state, name, value))
        seen.append(dict(state))
    at = len(edits)
    for back in data.draw(st.lists(st.booleans(), max_size=20)):
        if back:
            assert bool(history.undo()) == (at > 0)
            at = max(at - 1, 0)
        else:
            assert bool(history.redo()) == (at < len(edits))
            at = min(at + 1, len(edits))
        assert state == seen[at]
        assert len(history.labels) == at and len(history.undone) == len(edits) - at


def test_new_edit_discards_undone_edits():
    history, state = History(Ticks()), {}
    history.do(setter(state, "a", 1))
    history.undo()
    history.do(setter(state, "a", 2))
    assert history.redo() == "" and state["a"] == 2
    assert history.labels == ("a = 2",)


def test_a_dragged_slider_is_one_edit():
    history, state = History(Ticks(0.1)), {"a": 7}
    for value in range(8, 20):
        history.do(setter(state, "a", value, "gain a"))
    assert history.undo() == "a = 19"
    assert state["a"] == 7 and not history.labels
    history.redo()
    assert state["a"] == 19


def test_edits_with_one_key_are_separate_after_a_pause():
    history, state = History(Ticks(2.0)), {"a": 0}
    history.do(setter(state, "a", 1, "gain a"))
    history.do(setter(state, "a", 2, "gain a"))
    history.undo()
    assert state["a"] == 1


def test_an_edit_that_fails_is_not_stored():
    history = History()

    def fail() -> None:
        raise BrazoError("out of range")

    with pytest.raises(BrazoError):
        history.do(Edit("fails", fail, lambda: None))
    assert not history.labels
    history.do(Edit("cannot be reverted", lambda: None, fail))
    with pytest.raises(BrazoError):
        history.undo()
    assert history.labels == ("cannot be reverted",) and not history.undone


def test_an_edit_inside_another_belongs_to_it():
    history, state = History(Ticks()), {"a": 0, "b": 0}

    def both() -> None:
        history.do(setter(state, "a", 1))
        history.do(setter(state, "b", 1))

    history.do(Edit("both", both, lambda: state.update(a=0, b=0)))
    assert history.labels == ("both",) and state == {"a": 1, "b": 1}
    history.undo()
    assert state == {"a": 0, "b": 0}


def test_oldest_edits_are_discarded():
    history, state = History(Ticks()), {}
    for value in range(DEPTH + 5):
        history.do(setter(state, "a", value))
    assert len(history.labels) == DEPTH and history.labels[0] == "a = 5"


def test_listeners_are_called_for_every_change():
    history, heard = History(Ticks()), []
    history.on_change(lambda: heard.append((len(history.labels), len(history.undone))))
    history.do(setter({}, "a", 1))
    history.undo()
    history.redo()
    history.clear()
    assert heard == [(1, 0), (0, 1), (1, 0), (0, 0)]
