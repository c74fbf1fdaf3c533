"""Measure page load time, click latency and the CPU time of the lab next to the simulation.

    python tools/lab_costs.py

- *page ready*: from the request until the cooperative cell is drawn and framed, in a real browser
  with an empty cache.
- *click to Python*: from a button going down in the browser to its handler on the lab's thread,
  while the program runs and plots are in view.
- *beside the simulation*: CPU time of the lab's process without the simulation thread, relative to
  wall time, while the program runs: with that browser, and with two clients that only read (as fast
  as the lab sends, which a browser with software rendering does not).

Linux only.  The load of the machine is printed, because it affects all results.
"""

from __future__ import annotations

import os
import secrets
import statistics
import subprocess
import sys
import threading
import time

from browsing import SOON, chromium, drawn, show
from lab_process import LabProcess
from websockets.sync.client import connect
from websockets.typing import Origin, Subprotocol

CELL = "cooperative"
LOADS = 5
CLICKS = 60
SECONDS = 20.0

BUTTON = """() => {
    const button = document.createElement("brazo-button");
    button.setAttribute("event", "/measure/click");
    button.textContent = "Measure";
    document.querySelector("#panel-program").prepend(button);
    window.clicks = [];
    button.addEventListener("click", (event) => {
        window.clicks.push((performance.timeOrigin + event.timeStamp) / 1000);
    }, { capture: true });
}"""


def main() -> None:
    print(f"load before: {os.getloadavg()[0]:.2f} on {os.cpu_count()} cores")
    with LabProcess(CELL) as lab:
        with chromium() as browser:
            loads = []
            for _ in range(LOADS):
                context = browser.new_context(viewport={"width": 1440, "height": 900})
                page = context.new_page()
                begin = time.perf_counter()
                page.goto(lab.url)
                drawn(page, CELL)
                loads.append(time.perf_counter() - begin)
                context.close()
            reported("page ready", loads, "s", 2)
            context = browser.new_context(viewport={"width": 1000, "height": 600})
            context.add_init_script("localStorage.setItem('brazo-welcomed', 'true')")
            page = context.new_page()
            page.set_default_timeout(SOON)
            page.goto(lab.url)
            drawn(page, CELL)
            show(page, "data")
            show(page, "program")
            page.locator("#panel-program").get_by_role("button", name="Reset and run").click()
            page.evaluate(BUTTON)
            button = page.get_by_role("button", name="Measure")
            for _ in range(CLICKS):
                button.click()
                page.wait_for_timeout(60)
            page.wait_for_timeout(500)
            sent, came = page.evaluate("window.clicks"), lab.ask("clicks")
            assert len(sent) == len(came) == CLICKS
            reported(
                "click to Python", [1000 * (b - a) for a, b in zip(sent, came, strict=True)], "ms"
            )
            measure(lab, "with a browser that draws by processor")
            context.close()
        readers = [
            subprocess.Popen([sys.executable, __file__, "--read", lab.url]) for _ in range(2)
        ]
        try:
            time.sleep(5)
            measure(lab, "with two clients that only read")
        finally:
            for reader in readers:
                reader.kill()
                reader.wait()


def reported(what: str, values: list[float], unit: str, digits: int = 1) -> None:
    least, median, most = min(values), statistics.median(values), max(values)
    figures = [f"{v:.{digits}f} {unit}" for v in (median, least, most)]
    print("{}: median {}, from {} to {}".format(what, *figures), flush=True)


def measure(lab: LabProcess, what: str) -> None:
    first = lab.sample()
    time.sleep(SECONDS)
    last = lab.sample()
    wall = last.wall - first.wall
    print(
        f"{what}: {last.beside(first):.1%} of one core beside the simulation's"
        f" {(last.player - first.player) / wall:.1%};"
        f" scenes {last.rate(first):.1f}/s, {last.factor(first):.2f} times real time,"
        f" load {os.getloadavg()[0]:.2f}",
        flush=True,
    )


def read(url: str) -> None:
    """A client without a browser, with program and plots in view; all messages are discarded."""
    from brazo.lab.server import hooks

    key, origin = secrets.token_urlsafe(18), url.rstrip("/")
    address = origin.replace("http", "ws")
    scene = connect(
        f"{address}/?page={key}",
        origin=Origin(origin),
        subprotocols=[Subprotocol(hooks.SUBPROTOCOL)],
        max_size=None,
        compression=None,
    )
    channel = connect(f"{address}/channel?page={key}", origin=Origin(origin), max_size=None)
    channel.send('["panels-shown", ["program", "data"]]')
    threading.Thread(target=lambda: [None for _ in scene], daemon=True).start()
    for _ in channel:
        pass


if __name__ == "__main__":
    if sys.argv[1:2] == ["--read"]:
        read(sys.argv[2])
    else:
        main()
