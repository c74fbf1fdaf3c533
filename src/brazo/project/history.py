"""`History`: undo and redo of edits.

An edit is a label and two functions: one applies it, the other reverts it.  Edits with the same
`key` that follow each other within `MERGE_TIME`, such as the positions of a dragged slider, are
undone together.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

State = TypeVar("State")
DEPTH = 200  # max number of edits kept; the oldest are forgotten
MERGE_TIME = 1.0  # s


@dataclass(frozen=True, slots=True)
class Edit:
    """A change and its inverse.

    Parameters
    ----------
    label
        What the edit does, as shown to the user after "Undo": `rename point P1`.
    apply, revert
        Functions without arguments, which are called alternately.
    key
        Edits with the same key that follow each other within `MERGE_TIME` are merged; an edit with
        an empty key is never merged.
    """

    label: str
    apply: Callable[[], None]
    revert: Callable[[], None]
    key: str = ""


class History:
    """Edits that can be undone and redone.  Not thread-safe: use on one thread.

    If `apply` or `revert` of an edit raises an exception, the history is not changed.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._done: list[Edit] = []
        self._undone: list[Edit] = []
        self._last = -MERGE_TIME  # time of the newest edit (s)
        self._busy = False
        self._listeners: list[Callable[[], None]] = []

    def do(self, edit: Edit) -> None:
        """Apply an edit and store it; edits that were undone can no longer be redone.

        If an edit calls `do` while it is applied, that inner edit is applied but not stored,
        because the outer edit includes it.
        """
        if self._busy:
            edit.apply()
            return
        self._run(edit.apply)
        self.add(edit)

    def add(self, edit: Edit) -> None:
        """Store an edit that has already been applied; undone edits can no longer be redone.

        This has no effect while another edit is being applied or reverted.
        """
        if self._busy:
            return
        now = self._clock()
        last = self._done[-1] if self._done else None
        recent = now - self._last <= MERGE_TIME and not self._undone
        if last is not None and edit.key and edit.key == last.key and recent:
            self._done[-1] = Edit(edit.label, edit.apply, last.revert, edit.key)
        else:
            self._done.append(edit)
            del self._done[:-DEPTH]
        self._last = now
        self._undone.clear()
        self._changed()

    def record(
        self,
        label: str,
        change: Callable[[], object],
        state: Callable[[], State],
        restore: Callable[[State], None],
        key: str = "",
    ) -> None:
        """Make a change and store it as an edit.

        `state()` returns a copy of everything that the change may modify, and `restore(state)`
        restores this copy.  The change is not stored if the state is equal before and after it.
        """
        before = state()
        change()
        after = state()
        if before is not after and not _equal(before, after):
            self.add(Edit(label, lambda: restore(after), lambda: restore(before), key))

    def undo(self) -> str:
        """Revert the newest edit; return its label, or an empty string if there is none."""
        return self._move(self._done, self._undone, "revert")

    def redo(self) -> str:
        """Apply the edit that was undone last; return its label, or "" if there is none."""
        return self._move(self._undone, self._done, "apply")

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels of the edits that can be undone, oldest first."""
        return tuple(edit.label for edit in self._done)

    @property
    def undone(self) -> tuple[str, ...]:
        """Labels of the edits that can be redone; the last one is redone first."""
        return tuple(edit.label for edit in self._undone)

    def clear(self) -> None:
        """Remove all edits; call this when the objects that they refer to no longer exist."""
        self._done.clear()
        self._undone.clear()
        self._changed()

    def on_change(self, listener: Callable[[], None]) -> None:
        """Call `listener` after every edit, undo, redo and `clear`."""
        self._listeners.append(listener)

    def _move(self, source: list[Edit], target: list[Edit], what: str) -> str:
        if not source:
            return ""
        edit = source[-1]
        self._run(getattr(edit, what))
        target.append(source.pop())
        self._last = -MERGE_TIME  # the next edit starts a new entry
        self._changed()
        return edit.label

    def _run(self, call: Callable[[], None]) -> None:
        self._busy = True
        try:
            call()
        finally:
            self._busy = False

    def _changed(self) -> None:
        for listener in self._listeners:
            listener()


def _equal(a: Any, b: Any) -> bool:
    try:
        return bool(a == b)
    except ValueError:  # arrays do not compare to one truth value
        return False
