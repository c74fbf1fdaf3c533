"""A recording as MCAP, the log format of robotics viewers: JSON messages, a topic a signal group.

Signals that share a prefix (`scara1.q.shoulder`, `scara1.q.elbow`) become one topic (`/scara1/q`)
whose messages map the rest of the name to its value.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from brazo.files import replacing


def write_mcap(
    path: Path,
    columns: Mapping[str, tuple[np.ndarray, str]],
    about: Mapping[str, str],
    events: Sequence[Mapping[str, Any]],
) -> None:
    """Write all signals and events; times are nanoseconds from the start of the run."""
    from mcap.writer import Writer

    t = next(iter(columns.values()))[0]
    groups: dict[str, list[tuple[str, np.ndarray, str]]] = {}
    for name, (values, unit) in list(columns.items())[1:]:
        prefix, _, last = name.rpartition(".")
        groups.setdefault(prefix or "run", []).append((last, values, unit))
    with replacing(Path(path)) as temporary, temporary.open("wb") as file:
        writer = Writer(file)
        writer.start(profile="", library="brazo")
        writer.add_metadata("brazo", dict(about))
        channels = {}
        for prefix, signals in groups.items():
            schema = {
                "type": "object",
                "properties": {
                    last: {"type": "number", "description": unit} for last, _, unit in signals
                },
            }
            schema_id = writer.register_schema(
                name=prefix, encoding="jsonschema", data=json.dumps(schema).encode()
            )
            topic = "/" + prefix.replace(".", "/").replace(" ", "_")
            channels[prefix] = writer.register_channel(
                topic=topic, message_encoding="json", schema_id=schema_id
            )
        event_schema = writer.register_schema(
            name="event", encoding="jsonschema", data=json.dumps({"type": "object"}).encode()
        )
        event_channel = writer.register_channel(
            topic="/events", message_encoding="json", schema_id=event_schema
        )
        for k, moment in enumerate(t):
            stamp = round(float(moment) * 1e9)
            for prefix, signals in groups.items():
                message = {last: _plain(values[k]) for last, values, _ in signals}
                writer.add_message(
                    channel_id=channels[prefix],
                    log_time=stamp,
                    publish_time=stamp,
                    data=json.dumps(message).encode(),
                )
        for event in events:
            stamp = round(float(event.get("t", 0.0)) * 1e9)
            writer.add_message(
                channel_id=event_channel,
                log_time=stamp,
                publish_time=stamp,
                data=json.dumps(dict(event)).encode(),
            )
        writer.finish()


def _plain(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
