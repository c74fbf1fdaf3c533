"""`RecordedEvent`: a timestamped event; fields are read by key or as attributes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from brazo.text import one_line

_HEAD = ("t", "kind", "text")


class RecordedEvent(dict[str, Any]):
    """Event of a run with time, kind and text: `event["kind"]`, `event.kind`, `event.robot`.

    `t` (s), `kind` and `text` are always present.  Other fields depend on the kind and are
    collected in `data`.
    """

    def __init__(self, entries: Mapping[str, Any]) -> None:
        super().__init__({"t": 0.0, "kind": "", "text": "", **entries})
        self.update({key: one_line(self[key]) for key in ("kind", "text")})

    @property
    def data(self) -> dict[str, Any]:
        """All fields except time, kind and text."""
        return {key: value for key, value in self.items() if key not in _HEAD}

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            known = ", ".join(self)
            raise AttributeError(f"event has no field '{name}'; fields: {known}") from None
