"""`Panel`: base class of the panels.  The lab loads one panel from each `panels/<name>/panel.py`.

A panel is HTML that consists of custom elements (see `brazo.lab.panels.common.html`).  Each element
is bound to a named value or event.  `html` returns the content of the panel and is called when a
cell is opened.  `values` returns the values to show; they are sent to the pages over the channel
(`PageChannel`, a websocket) when the state changes.  Handlers are called when the user operates an
element:

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
        """Properties of the panel that a page needs to create its tab."""
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
        """Return the HTML content of the panel for the current simulation."""
        return ""

    def values(self) -> Values:
        """Return the values to show for the current state: name -> value.

        Called while the panel is visible on a page.
        """
        return {}

    def simulation_changed(self) -> None:
        """Called after another simulation or replay was opened, or the open cell was edited."""
        self.refresh()

    def selection_changed(self) -> None:
        """Called after `self.session.selection` changed."""

    def clicked(self, robot: str, joint: int, shift: bool) -> bool:
        """Handle a click on a link in the scene.

        `joint` is the index of the joint that moves the link.  `shift` is true if the Shift key was
        held.  Return True if the panel has handled the click; the joint is then not selected.
        """
        return False

    def follow(self) -> None:
        """Update what the panel draws in the scene.

        Called for each new frame in which the panel is available (see `used_for`), even if its tab
        is not visible.
        """

    def reset(self) -> None:
        """Called after the simulation was reset."""

    def driver_changed(self) -> None:
        """Called after control passed to another page, or to no page."""

    def stopped(self) -> None:
        """Called after STOP; the panel must end every motion that it commands."""

    def unsaved(self) -> list[Work]:
        """Return the unsaved work of this panel; the user is asked before it is discarded."""
        return []

    def kept(self) -> Mapping[str, str]:
        """Return the project files that store the work of this panel: path -> text.

        Paths are relative to the project folder.  Called on the lab's thread at each automatic
        save, so it must return quickly.
        """
        return {}

    def restore(self, project: Project) -> None:
        """Restore the work of this panel from a project, after the project's cell was opened."""

    def cell_saved(self) -> None:
        """Called after the cell, including its robots, was saved to a file."""

    def recordings_changed(self) -> None:
        """Called after recordings were added to the folder of recordings."""

    def run_again(self) -> None:
        """Called when the user restarts the program, before the simulation is reset."""

    def closed(self) -> None:
        """Called when the lab closes."""

    # ---- for subclasses -----------------------------------------------------------------------

    @property
    def sim(self) -> Simulation:
        """The open simulation; raises `BrazoError` if a replay is open."""
        return self.session.sim

    def say(self, text: str, kind: str = "info") -> None:
        """Show a message on the page whose event is being handled, or else on all pages.

        `kind` is `info`, `warn` or `error`.
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
        """Call `handler(*arguments)` for an event of this panel; see `PageChannel.on`."""
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
        """Store the value of an event in the attribute `attribute` of `owner`, then call `then()`.

        `owner` is the panel by default.  The value must be one of the words in `allowed`, or a bool
        if `allowed` is None.  Other words are ignored, because a page may still show outdated
        choices.  `how` are options of `on`.
        """

        def store(value: Any) -> None:
            if allowed is None or value in allowed:
                setattr(owner or self, attribute, value)
                then()

        self.on(event, store, bool if allowed is None else str, **how)

    def on_number(
        self, event: str, handler: Callable[..., Any], *kinds: type, unit: Quantity = "number"
    ) -> None:
        """Call `handler(*arguments, value)` when the user enters or drags a number.

        `kinds` are the types of `arguments`.  `value` is in SI units.  A number without a unit is
        in the displayed `unit` (`deg`, `mm`, …).  Text may be an expression or have a unit, as in
        robot files (`5cm`, `pi/4`, `30deg`).
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

        `most` is the maximum file size in bytes.
        """
        self.context.uploads.on(self.name(event), handler, suffixes, most)

    def put(self, values: Values) -> None:
        """Send values to the pages now, without waiting for the next call of `values`."""
        self.context.channel.put({self.name(name): value for name, value in values.items()})

    def drop(self, name: str) -> None:
        """Remove the values and handlers of `name` and of all names that start with `name/`."""
        self.context.channel.drop(self.name(name))

    def refresh(self) -> None:
        """Send the HTML content again.

        Text that the user is entering is kept in a field with the same label.
        """
        self.context.channel.put({f"panel/{self.id}": self.html()})

    def download(self, name: str, content: bytes | str | Path) -> None:
        """Send a file to a page, whose browser saves it as `name`.

        The file is sent to the page whose event is being handled, or else to the page in control.
        """
        self.context.download(name, content)

    def name(self, name: str) -> str:
        """Convert a name that is local to this panel to its full name on the channel."""
        return name[1:] if name.startswith("/") else f"{self.id}/{name}"
