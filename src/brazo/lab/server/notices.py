"""`Notices`: messages shown on the browser pages, including error messages."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from brazo.errors import BrazoError
from brazo.lab.server.channel import MAX_NOTICES, PageChannel, topic_of
from brazo.lab.server.repeats import Repeats
from brazo.text import printable

log = logging.getLogger(__name__)
log.addFilter(Repeats())


class Notices:
    """Shows messages on the browser pages.  Use only on the lab's thread."""

    def __init__(self, channel: PageChannel) -> None:
        self._channel = channel
        self._count = 0
        self._waiting: list[tuple[str, str]] = []  # messages for the first page that connects
        channel.on_pages(self._page_came)

    def say(self, text: str, kind: str = "info") -> None:
        """Show a message on the page whose event is being handled, or else on all pages.

        `kind` is `info`, `warn` or `error`.
        """
        self._count += 1
        notice = {"number": self._count, "text": printable(text), "kind": kind}
        asked, topic = self._channel.page, topic_of(self._channel.event)
        if asked is not None and kind == "error" and topic:
            # One error per panel: removed by its next error, or its next successful request.
            notice["topic"] = topic
            asked.wrong[topic] = self._count
        for page in self._channel.pages if asked is None else (asked,):
            page.tell("notice", notice)

    def announce(self, text: str, kind: str = "info") -> None:
        """Show a message as `say` does; if no page is open, on the first page that connects."""
        if self._channel.pages:
            self.say(text, kind)
        else:
            self._waiting = [*self._waiting, (text, kind)][-MAX_NOTICES:]

    def guard(self, call: Callable[[], Any]) -> None:
        """Run `call`; if it raises an exception, show the exception as an error message."""
        try:
            call()
        except BrazoError as error:
            self.say(str(error), "error")
        except Exception as error:  # an error in one panel must not affect the others
            log.exception("a request failed")
            self.say(f"Internal error: {type(error).__name__}: {error}", "error")

    def _page_came(self) -> None:
        if self._channel.pages:
            waiting, self._waiting = self._waiting, []
            for text, kind in waiting:
                self.say(text, kind)
