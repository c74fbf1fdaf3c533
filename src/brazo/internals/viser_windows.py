"""Windows (batches) of messages that viser sends to a page, without blocking the event loop.

viser numbers its messages and stores the newest messages of every scene node.  For a new page,
viser looks up every number assigned so far and sends all stored messages in one callback of the
event loop.  Poses of a moving scene use a thousand numbers per second.  After an hour, each new
page would block the network thread, and therefore the STOP button, for a third of a second.

`install` replaces viser's generator of windows.  The new generator looks up only stored messages,
and the event loop serves other connections after every `BACKLOG_WINDOW` messages.  The order of the
messages, the marker at the end of the stored messages, atomic blocks and timing are the same as in
viser.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Iterable
from typing import Any

import viser
from viser.infra._async_message_buffer import AsyncMessageBuffer
from viser.infra._messages import Message

BACKLOG_WINDOW = 32  # messages; about half a millisecond to encode


def install(server: viser.ViserServer) -> None:
    """Make a server use `windows` of this module for the messages to all pages."""
    buffer = server._websock_server._broadcast_buffer

    def window_generator(client_id: int, backlog_done_message: Message | None = None) -> Any:
        return windows(buffer, client_id, backlog_done_message)

    buffer.window_generator = window_generator


def windows(
    buffer: AsyncMessageBuffer, client_id: int, marker: Message | None
) -> AsyncGenerator[list[Message], None]:
    """Return an asynchronous generator of windows (lists of messages) for one client.

    `marker` is sent after the messages that were in the buffer when this function was called.
    """
    return _windows(buffer, client_id, marker, buffer.message_counter - 1)


async def _windows(
    buffer: AsyncMessageBuffer, client_id: int, marker: Message | None, backlog_end: int
) -> AsyncGenerator[list[Message], None]:
    sent = end = -1  # numbers of the last message sent or skipped, and of the last one to send
    numbers: deque[int] = deque()  # of the messages up to `end`; complete atomic blocks
    flushed = buffer.event_loop.create_task(buffer.flush_event.wait())
    buffer.generator_cursors[client_id] = sent  # viser deletes only what all clients received
    try:
        while not buffer.done:
            with buffer.buffer_lock:
                if not numbers and not buffer.atomic_counter:
                    end = buffer.message_counter - 1 if marker is None else backlog_end
                    numbers.extend(_message_numbers(buffer, sent, end))
            window: list[Message] = []
            size = buffer.max_window_size if marker is None else BACKLOG_WINDOW
            while numbers and len(window) < size:
                sent = numbers.popleft()
                message = buffer.message_from_id.get(sent)
                if message is not None and message.excluded_self_client != client_id:
                    window.append(message)
            if not numbers:
                sent = end
            if marker is not None and sent == backlog_end:
                window.append(marker)
                marker = None
            buffer.generator_cursors[client_id] = sent
            if window:
                yield window
                await asyncio.sleep(0)
            else:
                await buffer.message_event.wait()
                buffer.message_event.clear()
            if not window or buffer.message_counter - 1 == sent:
                done, _ = await asyncio.wait([flushed], timeout=buffer.window_duration_sec)
                if done and not buffer.done:
                    buffer.flush_event.clear()
                    flushed = buffer.event_loop.create_task(buffer.flush_event.wait())
    finally:
        buffer.generator_cursors.pop(client_id, None)
        flushed.cancel()
        await asyncio.gather(flushed, return_exceptions=True)


def _message_numbers(buffer: AsyncMessageBuffer, after: int, end: int) -> Iterable[int]:
    """Return the numbers in (after, end] of all stored messages, and possibly of deleted ones."""
    if end - after <= len(buffer.message_from_id):
        return range(after + 1, end + 1)
    return (number for number in buffer.message_from_id if after < number <= end)
