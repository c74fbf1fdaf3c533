"""`Event`: something that happened, read by key or by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from brazo.text import one_line

_HEAD = ("t", "kind", "text")


class Event(dict[str, Any]):
    """A moment with a kind and a sentence: `event["kind"]`, `event.kind`, `event.robot`.

    `t` (s), `kind` and `text` are always there; what else it says depends on the kind, and `data`
    is all of that.
    """

    def __init__(self, entries: Mapping[str, Any]) -> None:
        super().__init__({"t": 0.0, "kind": "", "text": "", **entries})
        self.update({key: one_line(self[key]) for key in ("kind", "text")})

    @property
    def data(self) -> dict[str, Any]:
        """What it says beside its moment, kind and sentence."""
        return {key: value for key, value in self.items() if key not in _HEAD}

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            known = ", ".join(self)
            raise AttributeError(f"this event says nothing of '{name}'; it has {known}") from None
