"""`Panel`: a window of the lab.  Each `panels/<name>/panel.py` has one; the lab finds it by itself.

A panel is HTML made of the page's own elements (`brazo.lab.panels.common.html` writes them), each
tied to a name.  Its `html` is written once for a cell, its `values` are put on the channel whenever
something moved, its handlers are called when the user does something:

    class ClockPanel(Panel):
        id, title, icon, side = "clock", "Clock", "clock", "right"

        def __init__(self, context):
            super().__init__(context)
            self.on("wind", self._wind, float)

        def html(self):
            return row("Time", text("time", "s")) + button("Wind", "wind", 2.0)

        def values(self):
            return {"time": fixed(self.sim.time, 2)}

Names are the panel's own: `time` here is `clock/time` on the channel; one that begins with `/`
means a name of the whole lab.  All methods are called on the lab's thread.  A handler that raises
`BrazoError` shows its message; nothing else needs to be done for a user's mistake.  Texts that come
from files or users go through `escape`.  What takes longer than a blink goes to `context.jobs`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, Literal

from brazo.lab.app.context import Context
from brazo.lab.app.quantities import Quantity, read_quantity
from brazo.lab.app.unsaved import Work
from brazo.lab.server.channel import Typed
from brazo.lab.server.transfers import MAX_UPLOAD_BYTES, Upload
from brazo.simulation import Simulation

Side = Literal["left", "right", "float"]
Values = dict[str, Any]


class Panel:
    """One window; the lab calls it from its own thread only."""

    id: ClassVar[str]  # short, lower case: the first part of its names on the channel
    title: ClassVar[str]
    icon: ClassVar[str] = "window"  # one of server/page/icons.js
    side: ClassVar[Side] = "left"  # where it is until the user puts it elsewhere
    order: ClassVar[int] = 50  # among the tabs of its side
    rate: ClassVar[float] = 20.0  # Hz, how often `values` is asked while it is in view
    scripts: ClassVar[tuple[str, ...]] = ()  # paths below brazo/lab: define its own elements
    used_for: ClassVar[tuple[str, ...]] = ("cell",)  # or "replay", where nothing can be driven

    def __init__(self, context: Context) -> None:
        self.context = context
        self.session = context.session

    def told(self) -> Values:
        """What a page needs to know to make room for it."""
        return {
            "id": self.id,
            "title": self.title,
            "icon": self.icon,
            "side": self.side,
            "scripts": list(self.scripts),
        }

    # ---- what a panel says --------------------------------------------------------------------

    def html(self) -> str:
        """The content, for the lab's present simulation."""
        return ""

    def values(self) -> Values:
        """What is to be shown for the present state; asked while some page has it in view."""
        return {}

    def simulation_changed(self) -> None:
        """There is another simulation in `self.sim`, or its robots were edited."""
        self.refresh()

    def selection_changed(self) -> None:
        """`self.session.selection` is another one."""

    def clicked(self, robot: str, joint: int, shift: bool) -> bool:
        """A link was clicked in the scene; True keeps the click from selecting its joint."""
        return False

    def follow(self) -> None:
        """A new moment is on show; for what a panel draws in the scene, seen or not."""

    def reset(self) -> None:
        """The simulation went back to its start."""

    def driver_changed(self) -> None:
        """Another page drives, or none."""

    def stopped(self) -> None:
        """The user pressed STOP: whatever this panel keeps moving must not go on."""

    def unsaved(self) -> list[Work]:
        """The work here that no file has: the user is asked before it is lost."""
        return []

    def cell_saved(self) -> None:
        """A file has the cell as it is, its robots included."""

    def run_again(self) -> None:
        """The run is about to start over, by a reset."""

    def closed(self) -> None:
        """The lab ends."""

    # ---- what a panel may do ------------------------------------------------------------------

    @property
    def sim(self) -> Simulation:
        """The simulation on show."""
        return self.session.sim

    def say(self, text: str, kind: str = "info") -> None:
        """Show a sentence: `info`, `warn` or `error`; to the page that asked, else to all."""
        self.context.notices.say(text, kind)

    def on(
        self,
        event: str,
        handler: Callable[..., Any],
        *kinds: type,
        free: bool = False,
        now: bool = False,
        still: bool = False,
    ) -> None:
        """Call `handler(*arguments)` for an event of this panel; see `Channel.on`."""
        self.context.channel.on(self.name(event), handler, *kinds, free=free, now=now, still=still)

    def on_number(
        self, event: str, handler: Callable[..., Any], *kinds: type, unit: Quantity = "number"
    ) -> None:
        """Call `handler(*arguments, value)` when a number was typed or pulled.

        A plain number is in the unit the panel shows (`deg`, `mm`, …) and arrives in SI; text is
        read as robot files are (`5cm`, `pi/4`, `30deg`).
        """

        def typed(*given: Any) -> None:
            handler(*given[:-1], read_quantity(given[-1], unit))

        self.on(event, typed, *kinds, Typed)

    def on_upload(
        self,
        event: str,
        handler: Callable[[Upload], Any],
        *suffixes: str,
        most: int = MAX_UPLOAD_BYTES,
    ) -> None:
        """Call `handler(upload)` when the user brings a file with one of these endings."""
        self.context.uploads.on(self.name(event), handler, suffixes, most)

    def put(self, values: Values) -> None:
        """Show values now rather than with the next `values()`."""
        self.context.channel.put({self.name(name): value for name, value in values.items()})

    def drop(self, name: str) -> None:
        """Forget the values and handlers of a name, and of those below it."""
        self.context.channel.drop(self.name(name))

    def refresh(self) -> None:
        """Send the `html` again; text being typed into a field of the same label is kept."""
        self.context.channel.put({f"panel/{self.id}": self.html()})

    def download(self, name: str, content: bytes | str | Path) -> None:
        """Have the page that asked save a file."""
        self.context.download(name, content)

    def name(self, name: str) -> str:
        """A name of this panel as the channel knows it."""
        return name[1:] if name.startswith("/") else f"{self.id}/{name}"
