"""Run the lab for a long time and measure its memory growth.

    python tools/soak.py                20 minutes
    python tools/soak.py 5 --trace      5 minutes, with the allocations of Python

Two pages of a real browser show the cooperative cell: the page in control with program and plots in
view, with the program restarted when it ends, the other with pendant and plots.  Memory must not
grow by 20 MB after the first two minutes.  Linux only.
"""

from __future__ import annotations

import argparse
import sys
import time

from browsing import SOON, chromium, drawn, show
from lab_process import LabProcess, Sample
from playwright.sync_api import CDPSession, Page

CELL = "cooperative"
WARM_UP = 120.0  # s
MOST = 20.0  # MB
EVERY = 10.0  # s between samples
PANELS = (("program", "data"), ("pendant", "data"))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("minutes", nargs="?", type=float, default=20.0)
    parser.add_argument("--trace", action="store_true", help="say what Python's memory grew by")
    chosen = parser.parse_args()
    options = ["--trace"] if chosen.trace else []
    with LabProcess(CELL, *options) as lab, chromium() as browser:
        pages = []
        for panels in PANELS:
            context = browser.new_context(viewport={"width": 1000, "height": 600})
            context.add_init_script("localStorage.setItem('brazo-welcomed', 'true')")
            page = context.new_page()
            page.set_default_timeout(SOON)
            page.goto(lab.url)
            drawn(page, CELL)
            for panel in panels:
                show(page, panel)
            pages.append(Watched(page, context.new_cdp_session(page)))
        grown = soak(lab, pages, 60.0 * chosen.minutes, chosen.trace)
    sys.exit(0 if grown < MOST else 1)


class Watched:
    """A page, its JavaScript memory and its pictures per second."""

    def __init__(self, page: Page, session: CDPSession) -> None:
        self.page, self._session = page, session

    def heap(self) -> float:
        """MB, garbage aside."""
        self._session.send("HeapProfiler.collectGarbage")
        return self._session.send("Runtime.getHeapUsage")["usedSize"] / 1e6

    def frames(self) -> str:
        return self.page.locator(".brazo-status .frames b").inner_text()


def soak(lab: LabProcess, pages: list[Watched], seconds: float, trace: bool) -> float:
    """Run and print a line per sample; return the memory growth after the warm-up, MB."""
    again = (
        pages[0]
        .page.locator("#panel-program")
        .get_by_role("button", name="Reset and run", exact=True)
    )
    begin, before = time.monotonic(), lab.sample()
    rows: list[tuple[float, Sample]] = []
    heaps: list[list[float]] = []
    runs, warm = 0, False
    print("   min      RSS   growth   beside   scenes  factor   runs   pages: heap, frames")
    while (now := time.monotonic()) < begin + seconds:
        if again.is_enabled():
            again.click()
            runs += 1
        pages[0].page.wait_for_timeout(max(0.0, 1000 * (now + EVERY - time.monotonic())))
        sample = lab.sample()
        rows.append((sample.wall - begin, sample))
        heaps.append([one.heap() for one in pages])
        if not warm and sample.wall - begin > WARM_UP:
            warm = True
            if trace:
                lab.ask("memory")
        shown = "  ".join(
            f"{heap:.1f} MB {one.frames()}/s" for heap, one in zip(heaps[-1], pages, strict=True)
        )
        print(
            f"{(sample.wall - begin) / 60:6.2f} {sample.rss:7.1f}MB {growth(rows):+6.1f}MB"
            f" {sample.beside(before):7.1%} {sample.rate(before):6.1f}/s"
            f" {sample.factor(before):6.2f} {runs:6}   {shown}",
            flush=True,
        )
        before = sample
    grown = growth(rows)
    late = [row for t, row in rows if t > WARM_UP]
    print(f"\n{runs} runs of the program in {seconds / 60:g} minutes, two pages")
    if len(late) > 1:
        print(f"beside the simulation {late[-1].beside(late[0]):.1%} of one core")
        print(f"scenes shown {late[-1].rate(late[0]):.1f}/s")
    for number, (first, last) in enumerate(zip(heaps[len(heaps) // 10], heaps[-1], strict=True), 1):
        print(f"page {number}: {first:.1f} MB, at the end {last:.1f} MB")
    if trace and warm:
        for size, count, lines in lab.ask("memory"):
            print(f"\n{size / 1e6:+.2f} MB, {count:+} pieces")
            print("\n".join(lines))
    verdict = "flat" if grown < MOST else "GROWS"
    print(f"memory after {WARM_UP / 60:g} minutes: {grown:+.1f} MB, limit {MOST:g} MB: {verdict}")
    return grown


def growth(rows: list[tuple[float, Sample]]) -> float:
    """Return the memory growth (MB): mean of the last minute minus mean of the first."""
    late = [(t, row.rss) for t, row in rows if t >= WARM_UP]
    if not late:
        return 0.0
    first = [r for t, r in late if t <= late[0][0] + 60.0]
    last = [r for t, r in late if t >= late[-1][0] - 60.0]
    return sum(last) / len(last) - sum(first) / len(first)


if __name__ == "__main__":
    main()
