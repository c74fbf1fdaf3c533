"""`Panel`: base class of the panels.  The lab discovers one in each `panels/<name>/panel.py`.

A panel is HTML that consists of custom elements (see `brazo.lab.panels.common.html`), each bound to
a name.  `html` is called once per cell, `values` is sent on the channel when the state changes, and
handlers are called for events of the user:

    class ClockPanel(Panel):
        id, title, icon, side = "clock", "Clock", "clock", "right"

        def __init__(self, context):
            super().__init__(context)
            self.on("wind", self._wind, float)

        def html(self):
            return row("Time", text("time", "s")) + button("Wind", "wind", 2.0)

        def values(self):
            return {"time": fixed(self.sim.time, 2)}

Names are local to the panel: `time` above is `clock/time` on the channel.  A leading `/` makes a
name global.  All methods are called on the lab's thread.  If a handler raises `BrazoError`, its
message is shown to the user.  Text from files or users must be escaped with `escape`.  Work that
takes longer than about 0.1 s must run in `context.jobs`.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal

from brazo.lab.app.context import PanelContext
from brazo.lab.app.quantities import Quantity, read_quantity
from brazo.lab.app.unsaved import Work
from brazo.lab.server.channel import Typed
from brazo.lab.server.transfers import MAX_UPLOAD_BYTES, Upload
from brazo.project.folder import Project
from brazo.simulation import Simulation

Side = Literal["left", "right", "float"]
Values = dict[str, Any]


class Panel:
    """Base class of panels; all methods are called on the lab's thread."""

    id: ClassVar[str]  # short, lower case; prefix of its names on the channel
    title: ClassVar[str]
    tab: ClassVar[str] = ""  # short title for the tab; by default the title
    icon: ClassVar[str] = "window"  # one of server/page/icons.js
    side: ClassVar[Side] = "left"  # initial position; the user can move it
    order: ClassVar[int] = 50  # position among the tabs of its side
    rate: ClassVar[float] = 20.0  # Hz, max rate of `values` while visible
    scripts: ClassVar[tuple[str, ...]] = ()  # custom elements; paths relative to brazo/lab
    used_for: ClassVar[tuple[str, ...]] = ("cell",)  # or "replay", where robots cannot be moved
    needs_robot: ClassVar[bool] = True  # hidden while the cell has no robot

    def __init__(self, context: PanelContext) -> None:
        self.context = context
        self.session = context.session

    def description(self) -> Values:
        """Description of the panel that a page needs to create its tab."""
        return {
            "id": self.id,
            "title": self.title,
            "tab": self.tab,
            "icon": self.icon,
            "side": self.side,
            "scripts": list(self.scripts),
        }

    # ---- to override --------------------------------------------------------------------------

    def html(self) -> str:
        """HTML content for the current simulation."""
        return ""

    def values(self) -> Values:
        """Values to show for the current state; called while the panel is visible on a page."""
        return {}

    def simulation_changed(self) -> None:
        """Called after `self.sim` was replaced or its robots were edited."""
        self.refresh()

    def selection_changed(self) -> None:
        """Called after `self.session.selection` changed."""

    def clicked(self, robot: str, joint: int, shift: bool) -> bool:
        """Handle a click on a link in the scene; return True to prevent selection of its joint."""
        return False

    def follow(self) -> None:
        """Update what the panel draws in the scene; called for each new state, visible or not."""

    def reset(self) -> None:
        """Called after the simulation was reset."""

    def driver_changed(self) -> None:
        """Called after control passed to another page, or to none."""

    def stopped(self) -> None:
        """Called after STOP; the panel must end every motion that it drives."""

    def unsaved(self) -> list[Work]:
        """Unsaved work of this panel; the user is asked before it is discarded."""
        return []

    def kept(self) -> Mapping[str, str]:
        """Files of a project that keep the work of this panel: text by path in the folder.

        Called on the lab's thread about once a second after requests; must return quickly.
        """
        return {}

    def restore(self, project: Project) -> None:
        """Restore the work of this panel; called after the cell of a project was opened."""

    def cell_saved(self) -> None:
        """Called after the cell, including its robots, was saved to a file."""

    def recordings_changed(self) -> None:
        """Called after recordings were added to the folder of recordings."""

    def run_again(self) -> None:
        """Called before a reset that starts the run again."""

    def closed(self) -> None:
        """Called when the lab closes."""

    # ---- for subclasses -----------------------------------------------------------------------

    @property
    def sim(self) -> Simulation:
        """The current simulation; raises for a replay."""
        return self.session.sim

    def say(self, text: str, kind: str = "info") -> None:
        """Show a message, of kind `info`, `warn` or `error`.

        It is shown on the page whose event is being handled, otherwise on all pages.
        """
        self.context.notices.say(text, kind)

    def on(
        self,
        event: str,
        handler: Callable[..., Any],
        *kinds: type,
        free: bool = False,
        now: bool = False,
        still: bool = False,
        passive: bool = False,
    ) -> None:
        """Call `handler(*arguments)` for an event of this panel; see `Channel.on`."""
        name = self.name(event)
        self.context.channel.on(
            name, handler, *kinds, free=free, now=now, still=still, passive=passive
        )

    def on_setting(
        self,
        event: str,
        attribute: str,
        allowed: Container[str] | None = None,
        *,
        owner: object = None,
        then: Callable[[], Any] = lambda: None,
        **how: bool,
    ) -> None:
        """Store the value of an event in an attribute of `owner` (the panel), then call `then`.

        The value is one of the words in `allowed`, or on or off; other words are ignored, because a
        page may still show the choices of another state.
        """

        def store(value: Any) -> None:
            if allowed is None or value in allowed:
                setattr(owner or self, attribute, value)
                then()

        self.on(event, store, bool if allowed is None else str, **how)

    def on_number(
        self, event: str, handler: Callable[..., Any], *kinds: type, unit: Quantity = "number"
    ) -> None:
        """Call `handler(*arguments, value)` when a number is entered in a field or dragged.

        A plain number is in the displayed `unit` (`deg`, `mm`, …); text may be an expression or
        have a unit, as in robot files (`5cm`, `pi/4`, `30deg`).  `value` is in SI units.
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
        """Call `handler(upload)` when the user imports a file with one of these suffixes.

        `most` is the max file size in bytes.
        """
        self.context.uploads.on(self.name(event), handler, suffixes, most)

    def put(self, values: Values) -> None:
        """Send values immediately, without waiting for the next `values()`."""
        self.context.channel.put({self.name(name): value for name, value in values.items()})

    def drop(self, name: str) -> None:
        """Remove the values and handlers of a name and of all names below it (`name/…`)."""
        self.context.channel.drop(self.name(name))

    def refresh(self) -> None:
        """Send `html` again; text being entered in a field with the same label is kept."""
        self.context.channel.put({f"panel/{self.id}": self.html()})

    def download(self, name: str, content: bytes | str | Path) -> None:
        """Send a file to the page whose event is being handled, otherwise to the page in control.

        The browser saves it under `name`.
        """
        self.context.download(name, content)

    def name(self, name: str) -> str:
        """Full name on the channel of a name of this panel."""
        return name[1:] if name.startswith("/") else f"{self.id}/{name}"
