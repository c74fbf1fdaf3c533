"""`Undo`: handles the undo and redo events, and publishes the labels of the edits they affect."""

from __future__ import annotations

from brazo.lab.server.channel import PageChannel
from brazo.lab.server.notices import Notices
from brazo.project.history import History


class Undo:
    """Connects a history of edits to the undo and redo controls.  Use only on the lab's thread."""

    def __init__(self, history: History, channel: PageChannel, notices: Notices) -> None:
        self._history, self._channel, self._notices = history, channel, notices
        channel.on("undo", self.undo)
        channel.on("redo", self.redo)
        history.on_change(self._show)
        self._show()

    def undo(self) -> None:
        """Revert the newest edit and show its label to the user."""
        if label := self._history.undo():
            self._notices.say(f"Undone: {label}")

    def redo(self) -> None:
        """Apply the edit that was undone last and show its label to the user."""
        if label := self._history.redo():
            self._notices.say(f"Redone: {label}")

    def _show(self) -> None:
        done, undone = self._history.labels, self._history.undone
        self._channel.put(
            {
                "history/undo": done[-1] if done else "",
                "history/redo": undone[-1] if undone else "",
            }
        )
