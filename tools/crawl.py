"""Use every control of every panel of the lab as a hand would, on screens of several sizes.

    python tools/crawl.py                    all sizes and panels, on the cell `cooperative`
    python tools/crawl.py 390 1366 --panels pendant,scene --cell puma560
    python tools/crawl.py --some 5           five controls of each panel, spread over it
    python tools/crawl.py --stations         the pages of a master and a follower

Every visible control is clicked with the mouse, sections are unfolded, numbers typed and choices
chosen; the Tab key goes through each panel.  The tour of the first visit comes first, the bar
with the start page and the help last.  After each action, when the lab has processed it, the page
is inspected.  A problem is

- an error on the console, an exception in the page, or an internal error of the lab,
- a page that scrolled, or STOP outside the view or covered,
- a control or text that is cut, outside its panel, or covered by another.

Dialogs are inspected, their fields filled in, and cancelled.  Where software rendering would take
most of the time, less is drawn: the simulation is paused after each action that starts it, and the
scene is not drawn, only its canvas is there.

Problems are printed; the exit code is 1 if there are any.
"""

from __future__ import annotations

import argparse
import contextlib
import logging
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from browsing import chromium, drawn
from playwright.sync_api import Browser, Error, Page

SIZES = {390: 844, 1366: 768, 1440: 900, 1920: 1080, 3840: 2160}
ENOUGH = 300_000  # ms until a page answers; a busy machine is slow
MOST = 500  # controls of a panel; more are a problem, since not all would be used
ARRIVING = 500  # ms until the controls of a panel have arrived
TEMPORARY = 15.0  # s; a control may be covered for so long, as by a notice
BAR = ".brazo-bar, .brazo-status"
TOUR, SKIP = ".brazo-welcome", "button button Skip #1"
COVERS = ("wide editor", "two pictures")  # these cover the panel until Escape is pressed
HARMLESS = ("cancel", "close", "export", "undo", "redo")  # the buttons of dialogs that are used
SCRIPT = Path(__file__).with_suffix(".js").read_text("utf-8")
PANELS = """() => [...document.querySelectorAll("[role=tab][aria-controls^=panel-]")]
    .map((tab) => tab.getAttribute("aria-controls").slice(6))"""


@dataclass
class Crawl:
    """One page of one size."""

    page: Page
    lab: Any
    problems: dict[str, str] = field(default_factory=dict)  # what -> where it was first seen
    used: int = 0
    where: str = ""
    steps: int = 0
    pauses: bool = True
    errors: list[str] = field(default_factory=list)  # of the page, not noted yet
    dialogs: set[str] = field(default_factory=set)  # headings of those that were used
    pictures: ClassVar[str] = ""
    listed: ClassVar[bool] = False

    def __post_init__(self) -> None:
        self.page.evaluate(SCRIPT)
        self.page.evaluate("() => brazoCrawl.withoutScene()")
        answer = lambda number: self.lab.channel.put({"crawl": number})  # noqa: E731
        self.lab.channel.on("crawl", answer, int, free=True)

    def note(self, what: str) -> None:
        """Keep a problem; each is printed once."""
        if what not in self.problems:
            self.problems[what] = self.where
            print(f"  {self.where}: {what}", flush=True)
            if self.pictures:
                self.page.screenshot(path=f"{self.pictures}/{len(self.problems):03}.png")

    def pause(self) -> None:
        """Pause the simulation, so that nothing has to be drawn; time goes on at a station."""
        if self.pauses and self.lab.sim.player.running:
            self.lab.do(self.lab.sim.player.pause)

    def panel(self, name: str) -> None:
        """Use all controls of a panel."""
        self._front(name)
        done = self.place(f"#panel-{name}", name)
        if not done:
            self.note("no control was found")
        self._tab_through(name, len(done) + 10)

    def place_named(self, name: str, some: int = 0) -> None:
        """Use the tour, the bar or a panel, or `some` controls of the panel."""
        if name in ("tour", "bar"):
            getattr(self, name)()
        elif some:
            self.sample(name, some)
        else:
            self.panel(name)

    def sample(self, name: str, count: int, offset: int = 0) -> None:
        """Use some controls of a panel, always the same: `count` of them, spread over the panel."""
        self._front(name)
        keys = self.page.evaluate("(roots) => brazoCrawl.keys(roots)", f"#panel-{name}")
        step = max(1, len(keys) // count)
        for key in keys[offset % step :: step][:count]:
            self._front(name)
            self.place(f"#panel-{name}", name, only=key)
        self._tab_through(name, 10)

    def bar(self) -> None:
        """Use the bar and what it opens, and the status line."""
        self.place(BAR, "bar")

    def tour(self) -> None:
        """Go through the tour of the first visit."""
        while one := self._step(TOUR, "tour", [SKIP])["next"]:
            self.where = f"tour, {one['key']}"
            self._use(TOUR, "tour", one)
            self.used += 1

    def place(self, roots: str, name: str, only: str | None = None) -> list[str]:
        """Use the controls of some elements; returns their keys."""
        done: list[str] = []
        covered = ("", 0.0)  # a control, and the time when it was first found covered
        ended = -1  # number of controls used when no other was found
        while True:
            answer = self._step(roots, name, done, only)
            one = answer["next"]
            if one is None:
                if only is not None or ended == len(done):
                    return done
                ended = len(done)
                # A cell that was just opened rebuilds the panels, and another one may be in front.
                self.page.wait_for_timeout(ARRIVING)
                if roots.startswith("#panel-"):
                    self._front(name)
                continue
            key = one["key"]
            self.where = f"{name}, {key}"
            if one["covered"]:
                covered = covered if covered[0] == key else (key, time.monotonic())
                if time.monotonic() - covered[1] < TEMPORARY:
                    self.page.wait_for_timeout(250)
                    continue
                self.note(f"covered: {key} by {one['covered']}")
            elif self._use(roots, name, one):
                self.used += 1
                if self.listed:
                    print(f"    {key}", flush=True)
                if any(word in key.lower() for word in COVERS):
                    self._step(roots, name, done, key)
                    self.page.keyboard.press("Escape")
                # The button of a menu is pressed again for each of its entries.
                menu = one["popup"] and self._step(roots, name, [*done, key])["next"]
                if menu and menu["role"] == "menuitem" and not menu["covered"]:
                    self._use(roots, name, menu)
                    self.used += 1
                    done.append(menu["key"])
                    continue
            done.append(key)
            if only is not None:
                self._step(roots, name, done, only)
                return done
            if len(done) >= MOST:
                self.note(f"more than {MOST} controls: not all were used")
                return done

    def _step(self, roots: str, name: str, done: list[str], only: str | None = None) -> dict:
        """Wait for the lab, inspect the page, handle dialogs, and find the next control."""
        while True:
            self.steps += 1
            answer = self.page.evaluate(
                "(given) => brazoCrawl.step(...given)", [roots, done, self.steps, only]
            )
            for what in [*self.errors, *answer["found"]]:
                self.note(what)
            self.errors.clear()
            self.pause()
            if answer["over"] is None or answer["over"][0] == roots:
                return answer
            self._dialog(*answer["over"])
            if roots.startswith("#panel-"):
                self._front(name)

    def _front(self, name: str) -> None:
        self.where = name
        tab = self.page.locator(f"[role=tab][aria-controls=panel-{name}]")
        if tab.get_attribute("aria-selected") != "true":
            tab.evaluate("(tab) => tab.scrollIntoView({block: 'nearest', inline: 'nearest'})")
            box = tab.bounding_box()
            assert box is not None
            self.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
            self.page.locator(f"#panel-{name}").wait_for()

    def _choose(self, roots: str, name: str, one: dict[str, Any]) -> None:
        """Choose the last option and, when the lab has processed that, the earlier one again."""
        for value in dict.fromkeys([*one["options"][-1:], one["value"]]):
            if value in one["options"]:  # not the text that stands for none
                self.page.evaluate("(given) => brazoCrawl.choose(...given)", [one["key"], value])
                self._step(roots, name, [], one["key"])

    def _use(self, roots: str, name: str, one: dict[str, Any]) -> bool:
        """Use a control as a hand would; False for what only a file dialog of the system does."""
        tag, kind, keyboard = one["tag"], one["type"], self.page.keyboard
        if tag == "input" and kind in ("file", "color"):
            return False
        if tag == "select":
            self._choose(roots, name, one)
            return True
        self.page.mouse.click(one["x"], one["y"])
        if tag == "textarea":
            keyboard.press("End")
            keyboard.type(" ")
            keyboard.press("Backspace")
        elif tag == "input" and kind in ("text", "number", "search", ""):
            keyboard.press("Control+a")
            keyboard.type(one["value"] or "1")
            keyboard.press("Enter")
        elif tag == "input" and kind == "range":
            keyboard.press("ArrowRight")
        return True

    def _dialog(self, selector: str, heading: str) -> None:
        """Use a dialog that is open the first time, and close it."""
        where, self.where = self.where, f"{self.where}, {heading}"
        if heading not in self.dialogs:
            self.dialogs.add(heading)
            for _ in range(10):
                self.page.keyboard.press("Tab")
            done: list[str] = []
            closing = None
            while one := self._step(selector, heading, done)["next"]:
                done.append(one["key"])
                harmless = any(word in one["key"].lower() for word in HARMLESS)
                if one["tag"] == "button" and any(w in one["key"].lower() for w in HARMLESS[:2]):
                    closing = closing or one["key"]
                elif one["covered"]:
                    self.note(f"covered: {one['key']} by {one['covered']}")
                elif one["tag"] != "button" or harmless:
                    self.page.mouse.click(one["x"], one["y"])
                    if one["tag"] == "input":
                        self.page.keyboard.type("1")
                    self.used += 1
            if closing is None:
                self.note("a dialog without a button that cancels or closes it")
            else:
                one = self._step(selector, heading, [], closing)["next"]
                self.page.mouse.click(one["x"], one["y"])
                self.used += 1
        else:
            self.page.keyboard.press("Escape")
        with contextlib.suppress(Error):
            self.page.locator(selector).wait_for(state="hidden", timeout=5000)
        if self.page.locator(selector).count():
            self.note("a dialog that does not close")
            self.page.evaluate("(s) => document.querySelector(s).remove()", selector)
        self.where = where

    def _tab_through(self, name: str, times: int) -> None:
        self._front(name)
        self.where = f"{name}, Tab key"
        self.page.locator(f"[role=tab][aria-controls=panel-{name}]").focus()
        for _ in range(times):
            self.page.keyboard.press("Tab")
            for what in self.page.evaluate("() => brazoCrawl.focused()"):
                self.note(what)
        self._step(f"#panel-{name}", name, [])


class Errors(logging.Handler):
    """Errors that the lab logs."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.found.append(self.format(record)[-600:])


def crawl(
    cell: str, sizes: dict[int, int], panels: list[str] | None = None, some: int = 0
) -> tuple[dict[str, str], int]:
    """Problems, and the number of controls used; with `some`, so many of each panel."""
    from brazo.lab.serving import serve

    tour = not panels or "tour" in panels

    def lab_of_size(browser: Browser, width: int, height: int) -> Crawl:
        lab = serve(cell, port=0, block=False, open_browser=False, keep=True)
        try:
            with _opened(browser, lab, width, height, lab.sim.cell.name, tour) as one:
                one.pause()
                # Scene adds a robot, which the other panels would show from then on.
                others = [name for name in one.page.evaluate(PANELS) if name != "scene"]
                every = ["tour", *others, "scene", "bar"]
                places = panels or every
                if unknown := {*places} - {*every}:
                    sys.exit(f"no panel {', '.join(unknown)}; panels: {', '.join(every)}")
                for name in places:
                    _timed(one, width, name, lambda n=name: one.place_named(n, some))
                return one
        finally:
            lab.stop()

    return _all_sizes(sizes, lab_of_size)


def crawl_stations(sizes: dict[int, int]) -> tuple[dict[str, str], int]:
    """The same for the pages of a master and a follower, which are connected."""
    import brazo
    from brazo.lab.app.opening import as_cell
    from brazo.lab.stations import FollowerLab, MasterLab
    from brazo.simulation import Simulation
    from brazo.teleop import FollowerLink, MasterLink, PoseMap
    from brazo.teleop.devices import PageHandle
    from brazo.teleop.stations import FollowerStation, MasterStation
    from brazo.trajectory import limits_of

    def stations_of_size(browser: Browser, width: int, height: int) -> list[Crawl]:
        with contextlib.ExitStack() as stack:
            delta, sim = brazo.load("delta"), Simulation(as_cell("robot:teleop-scara"))
            stack.callback(sim.player.close)
            arm = sim.robots["teleop-scara"].arm
            limits = limits_of(arm)
            follower = FollowerStation(
                sim,
                FollowerLink(name="teleop-scara"),
                mapping=PoseMap(arm, limits, delta),
                limits=limits,
            )
            labs: list[Any] = [FollowerLab(follower, port=0)]
            stack.callback(labs[0].stop)
            link = stack.enter_context(MasterLink(f"127.0.0.1:{follower.link.port}", name="crawl"))
            labs.append(MasterLab(MasterStation(link, PageHandle(), delta, rate=50), port=0))
            stack.callback(labs[1].stop)
            crawled = []
            for lab in labs:
                with _opened(browser, lab, width, height) as one:
                    for name in one.page.evaluate(PANELS):
                        _timed(one, width, name, lambda n=name, one=one: one.panel(n))
                    _timed(one, width, "bar", one.bar)
                    crawled.append(one)
            return crawled

    return _all_sizes(sizes, stations_of_size)


def _all_sizes(sizes: dict[int, int], use: Callable[..., Any]) -> tuple[dict[str, str], int]:
    problems: dict[str, str] = {}
    used = 0
    logged = Errors()
    logging.getLogger("brazo").addHandler(logged)
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        os.environ |= {"BRAZO_RUNS": f"{folder}/runs", "BRAZO_PROJECTS": f"{folder}/projects"}
        for width, height in sizes.items():
            began = time.monotonic()
            crawled = use(browser, width, height)
            for one in crawled if isinstance(crawled, list) else [crawled]:
                for what in logged.found:
                    one.note(f"error of the lab: {what}")
                logged.found.clear()
                problems |= {f"{width} px: {what}": where for what, where in one.problems.items()}
                used += one.used
            print(f"{width} px: {time.monotonic() - began:.0f} s", flush=True)
    logging.getLogger("brazo").removeHandler(logged)
    return problems, used


@contextlib.contextmanager
def _opened(
    browser: Browser, lab: Any, width: int, height: int, cell: str = "", tour: bool = False
) -> Iterator[Crawl]:
    context = browser.new_context(viewport={"width": width, "height": height})
    if not tour:
        context.add_init_script("localStorage.setItem('brazo-welcomed', 'true')")
    page = context.new_page()
    page.set_default_timeout(ENOUGH)
    early: list[str] = []
    page.on("pageerror", lambda error: early.append(f"exception: {error}"))
    page.on("console", lambda m: early.append(f"console: {m.text}") if m.type == "error" else None)
    try:
        page.goto(lab.url)
        if cell:
            drawn(page, cell)
        else:
            page.wait_for_function("() => document.documentElement.dataset.brazoReady", polling=50)
        yield Crawl(page, lab, pauses=bool(cell), errors=early)
    finally:
        context.close()


def _timed(one: Crawl, width: int, name: str, use: Callable[[], object]) -> None:
    started, before = time.monotonic(), one.used
    use()
    seconds = time.monotonic() - started
    print(f"{width} px, {name}: {one.used - before} controls, {seconds:.1f} s", flush=True)


def main() -> int:
    """Crawl, print and return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("width", nargs="*", type=int, help="px; default: all")
    parser.add_argument("--cell", default="cooperative", help="or robot:NAME")
    parser.add_argument("--some", type=int, default=0, help="controls per panel; default: all")
    parser.add_argument("--pictures", default="", help="folder for a picture of every problem")
    parser.add_argument("--panels", default="", help="their ids, tour or bar, by commas")
    parser.add_argument("--stations", action="store_true", help="pages of a master and a follower")
    parser.add_argument("--list", action="store_true", help="print every control")
    given = parser.parse_args()
    if not {*given.width} <= {*SIZES}:
        parser.error(f"width: expected some of {', '.join(map(str, SIZES))}")
    Crawl.pictures, Crawl.listed = given.pictures, given.list
    sizes = {width: SIZES[width] for width in given.width or SIZES}
    panels = given.panels.split(",") if given.panels else None
    crawled = (
        crawl_stations(sizes) if given.stations else crawl(given.cell, sizes, panels, given.some)
    )
    problems, used = crawled
    print(f"{used} controls used, {len(problems)} problems")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
