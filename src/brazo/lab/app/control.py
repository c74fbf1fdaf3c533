"""`Control`: publishes which browser page is in control, and handles requests for control."""

from __future__ import annotations

from collections.abc import Callable

from brazo.lab.server.channel import PageChannel


class Control:
    """Publishes which browser page is in control of the lab.

    `changed()` is called after control passed to another page or to no page.  Use only on the lab's
    thread.
    """

    def __init__(self, channel: PageChannel, changed: Callable[[], None]) -> None:
        self._channel = channel
        self._changed = changed
        self._driver = 0  # number of the page that was in control when `changed` was last called
        channel.on("control/ask", lambda: self._request("ask"), free=True)
        channel.on("control/hand-over", lambda: self._request("hand_over"), still=True)
        channel.on("control/keep", lambda: self._request("keep"), still=True)
        channel.on_pages(self.show)

    def show(self) -> None:
        """Publish the page in control, the page requesting control and the number of open pages."""
        driving = self._channel.driving
        self._channel.put(
            {
                "control/driver": driving.driver,
                "control/asking": driving.asking,
                "control/pages": driving.pages,
            }
        )
        if driving.driver != self._driver:  # not when pages only connect, leave or ask
            self._driver = driving.driver
            self._changed()

    def _request(self, what: str) -> None:
        page = self._channel.page
        if page is not None:
            getattr(self._channel.driving, what)(page.key)
            self.show()
