"""Screenshots of the lab for its documentation, taken in a real browser.

    python tools/screenshots.py                       all of them, into docs/_static/lab
    python tools/screenshots.py data control          these panels only
    python tools/screenshots.py --look build/look     further ones for inspection, not shipped:
                                                      4K, and panels at their full height

The lab runs the cooperative program until both robots hold a bar, with taught points, a measured
step response, derived equations and a recording; then it is paused and a screenshot of every panel
is taken in every variant.  `docs/lab.md` shows the light ones, `docs/lab-pictures.md` the others.
A new panel needs no change here; `tests/lab/test_pictures.py` checks its screenshots.
"""

from __future__ import annotations

import argparse
import io
import itertools
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from browsing import SOON, chromium, drawn, show
from PIL import Image
from playwright.sync_api import Browser, FloatRect, Page, ViewportSize

from brazo.lab.app.lab import Lab
from brazo.lab.app.replay import RecordingReplay
from brazo.lab.panels.registry import panel_types
from brazo.lab.serving import serve

CELL = "cooperative"
OUT = Path(__file__).parents[1] / "docs" / "_static" / "lab"
PANELS = tuple(one.id for one in panel_types() if "cell" in one.used_for)
REPLAYED = tuple(one.id for one in panel_types() if "cell" not in one.used_for)
PAGES = ("cell", "welcome", "help", "replay-file", "report")
SUBJECTS = (*PAGES, *PANELS, *REPLAYED)


@dataclass(frozen=True)
class Variant:
    """A kind of screen; `crop` keeps what is beside the panel out of the picture."""

    name: str
    width: int
    height: int
    scheme: Literal["light", "dark"] = "light"
    crop: bool = False
    touch: bool = False


SHIPPED = (
    Variant("light", 1440, 900, crop=True),
    Variant("dark", 1440, 900, "dark", crop=True),
    Variant("laptop", 1366, 768),
    Variant("phone", 390, 844, touch=True),
)
LOOKED_AT = (
    Variant("tall", 1100, 2000, crop=True),
    Variant("tall-phone", 390, 2000, "dark", touch=True),
    Variant("4k", 3840, 2160),
)
CROPPED = 720  # px, about the width of a page of the documentation
MOMENT = 4.0  # s into the recording
FADE_IN = 12_000  # ms; viser's player says nowhere that it shows everything


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("subject", nargs="*", help=f"of {', '.join(SUBJECTS)}; all when none")
    parser.add_argument("--look", type=Path, metavar="DIR", help="large variants, as PNG, there")
    chosen = parser.parse_args()
    if unknown := set(chosen.subject) - set(SUBJECTS):
        parser.error(f"{', '.join(sorted(unknown))}: there are {', '.join(SUBJECTS)}")
    subjects = chosen.subject or list(SUBJECTS)
    out = chosen.look or OUT
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        take(subjects, out, LOOKED_AT if chosen.look else SHIPPED, Path(folder))
    total = sum(path.stat().st_size for path in out.iterdir())
    print(f"{total / 1e6:.2f} MB in {out}")


def take(subjects: Sequence[str], out: Path, variants: Sequence[Variant], folder: Path) -> None:
    """Take the pictures; `folder` is for files that go with the labs."""
    lab = serve(CELL, port=0, open_browser=False, block=False, runs=folder / "runs")
    try:
        with chromium() as browser:
            files = prepare(lab, browser, folder)
            if "studies" in subjects:
                study(lab, browser)
            os.chdir(folder)  # its page names the file as it was named
            recording = RecordingReplay(files["cooperative"].name)
            replay = serve(recording, port=0, open_browser=False, block=False, runs=folder / "runs")
            try:
                replay.do(recording.player.pause)
                replay.do(lambda: recording.seek(recording.start + MOMENT))
                for variant in variants:
                    taken = itertools.chain(
                        of_cell(lab, browser, variant, subjects),
                        of_replay(replay, browser, variant, subjects),
                        of_files(files, browser, variant, subjects),
                    )
                    for subject, content in taken:
                        save(content, out / f"{subject}-{variant.name}", variants is LOOKED_AT)
            finally:
                replay.stop()
    finally:
        lab.stop()


Files = dict[str, Path]


def prepare(lab: Lab, browser: Browser, folder: Path) -> Files:
    """Bring the lab to a moment worth seeing; the way there, recorded, as report and replay."""
    context = browser.new_context(viewport={"width": 800, "height": 600})
    context.add_init_script("localStorage.setItem('brazo-welcomed', 'true')")
    page = context.new_page()
    page.set_default_timeout(SOON)
    page.goto(lab.url)
    drawn(page, CELL)
    press = Press(page)

    lab.do(lambda: lab.session.select("scara2", 1))
    press("equations", "Derive")
    page.wait_for_selector("#panel-equations brazo-sheet .entry", timeout=SOON)
    press("control", "Step")
    page.wait_for_function(
        "() => document.querySelector('#panel-control [aria-label=\"Step response\"]')"
        "?.data?.[0]?.t.length > 1000"
    )
    press("pendant", "Teach")
    there = lab.robot.reference.q.copy()
    there[1] += 0.3
    lab.do(lambda: lab.mover.go_to(lab.session.robot, there))
    until(page, lambda: abs(lab.robot.reference.q - there).max() < 1e-6)
    press("pendant", "Teach")
    press("trajectory", "Curve", "radio")
    compare(lab, page, press)
    for overlay in ("trace", "contacts", "hand-over"):
        lab.do(lambda overlay=overlay: lab.view.show(overlay, True))
    press("data", "Record")
    press("program", "Run")
    until(page, lambda: both_hold(lab))
    lab.do(lab.sim.player.pause)
    press("data", "Stop")
    files = {}
    exports = {
        "Report": "report.html",
        "3D replay": "replay-file.html",
        "Parquet": "cooperative.parquet",
    }
    for name, file in exports.items():
        with page.expect_download(timeout=SOON) as download:
            press("data", name)
        files[file.partition(".")[0]] = folder / file
        download.value.save_as(folder / file)
    context.close()
    return files


def study(lab: Lab, browser: Browser) -> None:
    """Run the comparison of controllers in the Studies panel; it takes about half a minute."""
    context = browser.new_context(viewport={"width": 800, "height": 600})
    context.add_init_script("localStorage.setItem('brazo-welcomed', 'true')")
    page = context.new_page()
    page.set_default_timeout(SOON)
    page.goto(lab.url)
    drawn(page, CELL)
    show(page, "studies")
    panel = page.locator("#panel-studies")
    panel.get_by_label("Study", exact=True).select_option(label="compare")
    panel.get_by_role("button", name="Run", exact=True).click()
    panel.get_by_role("table", name="puma560").wait_for(timeout=10 * SOON)
    context.close()


def compare(lab: Lab, page: Page, press: Press) -> None:
    """Play the circle under two controllers, for the comparison."""
    runs = lab.panels["compare"].runs  # pyright: ignore[reportAttributeAccessIssue]
    lab.do(runs.clear)
    press("trajectory", "Run trajectory")
    until(page, lambda: len(runs) == 1)
    before = lab.session.robot.controller
    show(page, "compare")
    page.locator("#panel-compare").get_by_label("Repeat with").select_option("PDGravity")
    until(page, lambda: len(runs) == 2)
    lab.session.robot.controller = before


class Press:
    """`press("data", "Record")`: a button of a panel, brought to the front."""

    def __init__(self, page: Page) -> None:
        self._page = page

    def __call__(self, panel: str, name: str, role: str = "button") -> None:
        show(self._page, panel)
        body = self._page.locator(f"#panel-{panel}")
        body.get_by_role(role, name=name, exact=True).first.click()  # pyright: ignore


def until(page: Page, condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SOON / 1000
    while not condition():
        if time.monotonic() > deadline:
            raise SystemExit("the lab did not come to the moment to picture")
        page.wait_for_timeout(20)


def both_hold(lab: Lab) -> bool:
    with lab.sim.lock:
        held = {lab.sim.world.grasp(name).held for name in lab.sim.robots}
    return len(held) == 1 and None not in held


Taken = Iterator[tuple[str, bytes]]  # subject and PNG


def of_cell(lab: Lab, browser: Browser, variant: Variant, subjects: Sequence[str]) -> Taken:
    """The page as it opens, and every panel."""
    with opened(browser, variant) as page:
        page.goto(f"{lab.url}?light=full")  # as a graphics card would draw it
        drawn(page, CELL)
        page.evaluate(CALM)
        if "welcome" in subjects:
            rest(page)
            yield "welcome", page.screenshot()
        page.get_by_role("button", name="Skip").dispatch_event("click")  # 4K draws for minutes
        if "cell" in subjects:
            if not variant.touch:
                show(page, "data")
            rest(page)
            yield "cell", page.screenshot()
        if "help" in subjects:
            page.keyboard.press("?")
            rest(page)
            yield "help", page.screenshot()
            page.keyboard.press("Escape")
        for panel in PANELS:
            if panel in subjects:
                show(page, panel)
                lab.do(lambda on=panel == "view": lab.view.show("boxes", on))
                lab.do(lambda on=panel == "compare": ghosts(lab, on))
                rest(page)
                yield panel, page.screenshot(clip=beside(page, panel, variant))


def ghosts(lab: Lab, on: bool) -> None:
    """Show the robots of the compared runs 1.5 s after the start, or hide them."""
    panel = lab.panels["compare"]
    panel._seek(1.5)  # pyright: ignore[reportAttributeAccessIssue]
    panel._show_ghosts(on)  # pyright: ignore[reportAttributeAccessIssue]


def of_replay(lab: Lab, browser: Browser, variant: Variant, subjects: Sequence[str]) -> Taken:
    """A recording in the lab: the whole page, for its timeline is no panel's."""
    for panel in (one for one in REPLAYED if one in subjects):
        with opened(browser, variant) as page:
            page.add_init_script("localStorage.setItem('brazo-welcomed', 'true')")
            page.goto(f"{lab.url}?light=full")
            drawn(page, lab.sim.cell.name)
            page.evaluate(CALM)
            if not variant.touch:
                show(page, "data")
            show(page, panel)
            rest(page)
            yield panel, page.screenshot()


def of_files(files: Files, browser: Browser, variant: Variant, subjects: Sequence[str]) -> Taken:
    """What the lab exports as pages."""
    for name in ("replay-file", "report"):
        if name in subjects:
            with opened(browser, variant) as page:
                page.goto(files[name].as_uri())
                if name == "replay-file":
                    page.wait_for_selector("canvas")
                    page.wait_for_timeout(FADE_IN)
                yield name, page.screenshot()


@contextmanager
def opened(browser: Browser, variant: Variant) -> Iterator[Page]:
    """A page on that kind of screen."""
    size: ViewportSize = {"width": variant.width, "height": variant.height}
    context = browser.new_context(
        viewport=size, color_scheme=variant.scheme, has_touch=variant.touch
    )
    page = context.new_page()
    page.set_default_timeout(SOON)
    yield page
    context.close()


# No animation or blinking while a screenshot is taken.
CALM = """() => {
    const style = document.createElement("style");
    style.textContent = "*, *::before, *::after { transition: none !important; " +
        "animation: none !important; caret-color: transparent !important; }";
    document.head.append(style);
}"""


def rest(page: Page) -> None:
    """Wait until the page has been drawn with what the lab last said."""
    page.mouse.move(0, 0)
    page.wait_for_timeout(700)  # the slowest panel is asked twice a second
    page.evaluate(
        """() => new Promise((done) =>
            requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 50))))"""
    )


def beside(page: Page, panel: str, variant: Variant) -> FloatRect | None:
    """Where in the page the panel is, with some of the scene."""
    if not variant.crop:
        return None
    left = page.locator(f".brazo-dock.left #panel-{panel}").count() == 1
    x = 0 if left else variant.width - CROPPED
    return {"x": x, "y": 0, "width": CROPPED, "height": variant.height}


def save(content: bytes, path: Path, lossless: bool) -> None:
    picture = Image.open(io.BytesIO(content)).convert("RGB")
    if lossless:
        picture.save(path.with_suffix(".png"))
    else:
        picture.save(path.with_suffix(".webp"), quality=80, method=6)


if __name__ == "__main__":
    main()
