"""Writer of recordings as MCAP, a log format of robotics viewers.

Messages are JSON.  Signals that share all but the last part of their name (`scara1.q.shoulder`,
`scara1.q.elbow`) form one topic (`/scara1/q`).  Its messages map the last part to the value, and
its schema contains the units.  Signals whose name has one part are on `/run`.  Values that are not
finite are null.  Events are on `/events`, and the description is in the metadata `brazo`.  Times
are those of the time axis in nanoseconds; negative times are written as 0.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from brazo.files import replacing
from brazo.recording.drawable import check_time
from brazo.recording.names import group, last
from brazo.recording.source import ColumnSource, Progress, event_time


def write_mcap(path: Path, source: ColumnSource, progress: Progress | None = None) -> None:
    """Write all signals and events to an MCAP file in constant memory."""
    from mcap.writer import CompressionType, Writer

    names = list(source.units)
    groups: dict[str, list[tuple[int, str]]] = {}
    for i, name in enumerate(names[1:], start=1):
        prefix = group(name) if "." in name else "run"
        groups.setdefault(prefix, []).append((i, last(name)))
    with replacing(Path(path)) as temporary, temporary.open("wb") as file:
        writer = Writer(file, compression=CompressionType.ZSTD)
        writer.start(profile="", library="brazo")
        writer.add_metadata("brazo", dict(source.about))
        channels = {}
        for prefix, members in groups.items():
            properties = {
                key: {"type": ["number", "null"], "description": source.units[names[i]]}
                for i, key in members
            }
            schema = {"title": prefix, "type": "object", "properties": properties}
            topic = "/" + prefix.replace(".", "/").replace(" ", "_")
            channels[prefix] = _channel(writer, topic, prefix, schema)
        event_schema = {
            "title": "event",
            "type": "object",
            "properties": {
                "t": {"type": "number", "description": "s"},
                "kind": {"type": "string"},
                "text": {"type": "string"},
            },
        }
        event_channel = _channel(writer, "/events", "event", event_schema)

        def add(channel: int, t: float, data: str) -> None:
            stamp = max(0, round(t * 1e9))
            writer.add_message(channel, stamp, data.encode(), stamp)

        # In order of time, which viewers read fastest.
        waiting = sorted(source.events, key=event_time)[::-1]
        done = 0
        for block in source.read(names):
            check_time(block[0], names[0], done)
            table = np.column_stack(block)
            cells = table.astype(object)
            cells[~np.isfinite(table)] = None
            rows = cells.tolist()
            for t, row in zip(block[0].tolist(), rows, strict=True):
                while waiting and event_time(waiting[-1]) <= t:
                    event = waiting.pop()
                    add(event_channel, event_time(event), json.dumps(event, ensure_ascii=False))
                for prefix, members in groups.items():
                    message = {key: row[i] for i, key in members}
                    add(channels[prefix], t, json.dumps(message, ensure_ascii=False))
            done += len(block[0])
            if progress is not None:
                progress(done / source.rows)
        for event in reversed(waiting):
            add(event_channel, event_time(event), json.dumps(event, ensure_ascii=False))
        writer.finish()


def _channel(writer, topic: str, name: str, schema: dict) -> int:
    text = json.dumps(schema, ensure_ascii=False).encode()
    schema_id = writer.register_schema(name=name, encoding="jsonschema", data=text)
    return writer.register_channel(topic=topic, message_encoding="json", schema_id=schema_id)
