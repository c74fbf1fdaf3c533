"""Which page is in control, as the pages show it, and their requests for control."""

from __future__ import annotations

from collections.abc import Callable

from brazo.lab.server.channel import Channel


class Control:
    """Shows who is in control; `changed` is called when another page is.  On the lab's thread."""

    def __init__(self, channel: Channel, changed: Callable[[], None]) -> None:
        self._channel = channel
        self._changed = changed
        self._driver = 0  # number of the page that was in control when `changed` was last called
        channel.on("control/ask", lambda: self._request("ask"), free=True)
        channel.on("control/hand-over", lambda: self._request("hand_over"), still=True)
        channel.on("control/keep", lambda: self._request("keep"), still=True)
        channel.on_pages(self.show)

    def show(self) -> None:
        """Show who is in control and who asks."""
        driving = self._channel.driving
        self._channel.put(
            {
                "control/driver": driving.driver,
                "control/asking": driving.asking,
                "control/pages": driving.pages,
            }
        )
        if driving.driver != self._driver:  # not for pages that come, go or ask
            self._driver = driving.driver
            self._changed()

    def _request(self, what: str) -> None:
        page = self._channel.page
        if page is not None:
            getattr(self._channel.driving, what)(page.key)
            self.show()
