"""Screenshots of the two teleoperation pages for the documentation, taken in a real browser.

    python tools/teleop_screenshots.py                into docs/_static

Two Deltas are coupled by wave variables, with a stiff block under the follower: the master's handle
is lowered by its keys until the follower is in contact, then the master's process is killed.
"""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from browsing import SOON, chromium
from PIL import Image
from playwright.sync_api import Browser, Page, ViewportSize, expect

from brazo.lab.app.opening import as_cell
from brazo.lab.stations import MasterLab
from brazo.simulation import Simulation
from brazo.teleop import MasterLink
from brazo.teleop.devices import PageHandle
from brazo.teleop.link.master_link import VALID
from brazo.teleop.stations import ReflectingMaster, scheme_named

OUT = Path(__file__).parents[1] / "docs" / "_static"
SIZE: ViewportSize = {"width": 1366, "height": 768}
FELT = 2.0  # N
DELAY = 0.5  # s; pages with software rendering are slow
DOWN = "PageDown"  # a key that lowers the handle
CELL = """\
name: delta over a block
about: A Delta and a stiff block 40 mm under its tool.
robots:
  - {name: follower, robot: delta, base: {xyz: [0, 0, 0.90]}, start: home}
fixtures:
  - {name: block, box: [0.3, 0.3, 0.49], xyz: [0, 0, 0.245], color: [0.55, 0.57, 0.6]}
contact: {surface_solref: [4ms, 1]}
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        cell = Path(folder) / "block.yaml"
        cell.write_text(CELL, encoding="utf-8")
        take(cell)


def take(cell: Path) -> None:
    """All pictures, of a follower in that cell."""
    follower = ("follower", "--cell", str(cell), "--directions", "same", "--listen", "127.0.0.1:0")
    follower += ("--bilateral", "waves", "--delay", f"{DELAY}")
    follower += ("--page", "127.0.0.1:0", "--no-browser")
    with running("-m", "brazo", "teleop", *follower) as (there, words), ExitStack() as cable:
        address = re.search(r"127\.0\.0\.1:\d+", words[0])
        assert address is not None, words
        here, _ = cable.enter_context(running(__file__, "--master", address[0]))
        if hasattr(os, "nice"):
            os.nice(15)  # the browser, started next, must not delay the robots
        with chromium() as browser:
            master, other = opened(browser, here), opened(browser, there)
            expect(master.get_by_role("button", name="Hold to run")).to_be_enabled(timeout=SOON)
            master.bring_to_front()
            engage(master, other)
            until_felt(master)
            master.wait_for_timeout(1500)
            save(master, "teleop-master")
            save(other, "teleop-follower")
            cable.close()
            expect(other.locator(".station-strip")).to_contain_text("HOLD", timeout=SOON)
            other.wait_for_timeout(1500)
            save(other, "teleop-lost")


def lead(address: str) -> None:
    """Start the master, with a timeout of its switch that is long enough for a screenshot."""
    hand = PageHandle(deadman=20.0)
    delta = Simulation(as_cell("robot:delta"))
    waves = scheme_named("waves")
    with MasterLink(address, name="browser") as link:
        station = ReflectingMaster(link, hand, delta, scheme=waves, valid=VALID + DELAY)
        print(MasterLab(station, port=0).url, flush=True)
        threading.Event().wait()


@contextmanager
def running(*arguments: str) -> Iterator[tuple[str, list[str]]]:
    """Start a station in a separate process; return the address of its page and its output."""
    command = [sys.executable, *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert process.stdout is not None
    words: list[str] = []
    try:
        for line in process.stdout:
            words.append(line)
            if found := re.search(r"http://\S+", line):
                yield found[0], words
                return
        sys.exit("".join(words))
    finally:
        process.kill()
        process.wait()


def opened(browser: Browser, url: str) -> Page:
    """A page whose scene is drawn."""
    context = browser.new_context(viewport=SIZE)
    context.add_init_script("localStorage.setItem('brazo-welcomed', 'true')")
    page = context.new_page()
    page.set_default_timeout(SOON)
    page.goto(url)
    page.wait_for_function("() => document.documentElement.dataset.brazoReady")
    return page


def engage(master: Page, other: Page) -> None:
    """Hold the switch; on a busy machine it may be released once or twice by its timeout."""
    state = other.locator(".station-strip .state")
    for _ in range(20):
        master.keyboard.down("e")
        master.wait_for_timeout(1000)
        if state.inner_text() == "ENGAGED":
            return
        master.keyboard.up("e")
        master.wait_for_timeout(500)
    sys.exit("the follower never engaged")


def until_felt(master: Page) -> None:
    """Lower the handle until the block presses back."""
    force = master.locator('#panel-link [name="force/3"]')
    master.keyboard.down(DOWN)
    end = time.monotonic() + SOON / 1000
    while abs(number(force.inner_text())) < FELT:
        if time.monotonic() > end:
            sys.exit("the block was never felt")
        master.wait_for_timeout(50)
    master.keyboard.up(DOWN)


def number(text: str) -> float:
    found = re.search(r"[−-]?\d+(\.\d+)?", text)
    return float(found[0].replace("−", "-")) if found else 0.0


def save(page: Page, name: str) -> None:
    """A picture as WebP."""
    path = OUT / f"{name}.webp"
    Image.open(io.BytesIO(page.screenshot())).save(path, quality=88, method=6)
    print(f"{path.name}: {path.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--master"]:
        lead(sys.argv[2])
    else:
        main()
