"""Use every control of every panel of the lab as a hand would, on screens of several sizes.

    python tools/crawl.py                    all sizes and panels, on the cell `cooperative`
    python tools/crawl.py 390 1366 --panels pendant,scene --cell puma560
    python tools/crawl.py --some 5           five controls of each panel, spread over it

Every control that is visible is clicked with the mouse; numbers are typed, choices chosen, and the
Tab key goes through each panel.  After each action the page is inspected.  A problem is

- an error on the console, an exception in the page, or an internal error of the lab,
- a page that scrolled, or STOP outside the view or covered,
- a control that is cut, or that another control covers.

Problems are printed; the exit code is 1 if there are any.
"""

from __future__ import annotations

import argparse
import contextlib
import logging
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from browsing import chromium, drawn
from playwright.sync_api import Error, Page

SIZES = {390: 844, 1366: 768, 1440: 900, 1920: 1080, 3840: 2160}
MOST = 200  # controls used per panel
ENOUGH = 45_000  # ms until a control is usable; software rendering on a busy machine is slow
LEFT_ALONE = ("wide editor", "full screen")  # they cover the panel

LIST = """(panel) => {
    const root = document.getElementById(`panel-${panel}`);
    if (!root) return [];
    for (const one of root.querySelectorAll("details")) one.open = true;
    const kinds = "button, input, select, textarea, [role=radio], [role=option], [role=tab]";
    const seen = {};
    return [...root.querySelectorAll(kinds)]
        .filter((node) => node.checkVisibility({ visibilityProperty: true, opacityProperty: true }))
        .filter((node) => !node.disabled && getComputedStyle(node).pointerEvents !== "none")
        .map((node) => {
            const label = node.getAttribute("aria-label") || node.title
                || node.labels?.[0]?.textContent.trim() || node.textContent.trim() || node.name;
            const key = `${node.tagName.toLowerCase()} ${node.type ?? ""} ${label}`.slice(0, 90);
            seen[key] = (seen[key] ?? 0) + 1;
            node.dataset.crawl = `${key} #${seen[key]}`;
            const tag = node.tagName.toLowerCase();
            return { key: node.dataset.crawl, tag, type: node.type ?? "" };
        });
}"""

INSPECT = """(panel) => {
    const found = [];
    const scrolled = [document.scrollingElement, document.body]
        .some((box) => box.scrollTop || box.scrollLeft);
    if (scrolled || window.scrollY || window.scrollX) found.push("the page scrolled");
    const wide = document.documentElement.scrollWidth - innerWidth;
    if (wide > 0) found.push(`the page is ${wide} px too wide`);
    const stop = document.querySelector(".brazo-bar .stop");
    const box = stop.getBoundingClientRect();
    const inside = box.top >= 0 && box.left >= 0
        && box.right <= innerWidth && box.bottom <= innerHeight;
    const at = document.elementFromPoint((box.left + box.right) / 2, (box.top + box.bottom) / 2);
    if (!inside) found.push("STOP is outside the view");
    // A click on STOP behind a question stops, too.
    else if (!stop.contains(at) && !document.querySelector("dialog[open]"))
        found.push(`STOP is covered by ${at?.className || at?.tagName}`);
    const root = document.getElementById(`panel-${panel}`);
    if (!root) return found;
    const name = (node) => node.dataset.crawl
        || `${node.tagName.toLowerCase()}.${node.className} ${node.textContent.slice(0, 30)}`;
    const kinds = "button, input:not([type=checkbox]):not([type=radio]), select";
    const all = { opacityProperty: true, visibilityProperty: true };
    const shown = [...root.querySelectorAll(kinds)].filter((node) => node.checkVisibility(all));
    for (const node of shown) {
        const style = getComputedStyle(node);
        const cut = node.scrollWidth > node.clientWidth + 1 && style.textOverflow !== "ellipsis";
        if (cut && node.tagName !== "INPUT" && node.clientWidth) found.push(`cut: ${name(node)}`);
    }
    const floats = (node) => {
        for (let one = node; one && one !== root; one = one.parentElement)
            if (["sticky", "fixed"].includes(getComputedStyle(one).position)) return true;
        return false;
    };
    const visible = (node) => {
        let { left, top, right, bottom } = node.getBoundingClientRect();
        for (let one = node.parentElement; one && one !== root; one = one.parentElement) {
            const { overflowX, overflowY } = getComputedStyle(one);
            const edge = one.getBoundingClientRect();
            if (overflowX !== "visible")
                [left, right] = [Math.max(left, edge.left), Math.min(right, edge.right)];
            if (overflowY !== "visible")
                [top, bottom] = [Math.max(top, edge.top), Math.min(bottom, edge.bottom)];
        }
        return { left, top, right, bottom };
    };
    const boxes = shown.filter((node) => !floats(node)).map((node) => [node, visible(node)])
        .filter(([, b]) => b.right > b.left && b.bottom > b.top);
    for (let i = 0; i < boxes.length; i++) {
        for (let j = i + 1; j < boxes.length; j++) {
            const [a, p] = boxes[i], [b, q] = boxes[j];
            if (a.contains(b) || b.contains(a)) continue;
            // A mark on the rail of a slider.
            if (a.type === "range" && a.parentElement === b.parentElement) continue;
            const x = Math.min(p.right, q.right) - Math.max(p.left, q.left);
            const y = Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top);
            if (x > 2 && y > 2) found.push(`overlap: ${name(a)} and ${name(b)}`);
        }
    }
    const edge = root.getBoundingClientRect();
    for (const [node, b] of boxes) {
        let scroller = node.parentElement;
        const scrolls = (one) => ["auto", "scroll"].includes(getComputedStyle(one).overflowX);
        while (scroller && scroller !== root && !scrolls(scroller))
            scroller = scroller.parentElement;
        if (scroller === root && (b.right > edge.right + 1 || b.left < edge.left - 1))
            found.push(`outside its panel: ${name(node)}`);
    }
    return found;
}"""


@dataclass
class Crawl:
    """One page of one size."""

    page: Page
    problems: dict[str, str] = field(default_factory=dict)  # what -> where it was first seen
    used: int = 0
    where: str = ""
    most: int = MOST
    pictures: ClassVar[str] = ""

    def note(self, what: str) -> None:
        """Keep a problem; each is printed once."""
        if what not in self.problems:
            self.problems[what] = self.where
            print(f"  {self.where}: {what}", flush=True)
            if self.pictures:
                self.page.screenshot(path=f"{self.pictures}/{len(self.problems):03}.png")

    def inspect(self, panel: str) -> None:
        """Look at the page; a problem that goes by itself soon was new content being laid out."""
        for wait in (50, 100, 200, 400, 800, 0):
            found = self.page.evaluate(INSPECT, panel)
            if not found:
                return
            self.page.wait_for_timeout(wait)
        for what in found:
            self.note(what)

    def panel(self, name: str) -> None:
        """Use all controls of a panel."""
        done: set[str] = set()
        missed: Counter[str] = Counter()  # controls that were drawn again after they were listed
        while len(done) < self.most:
            self._front(name)
            controls = [one for one in self.page.evaluate(LIST, name) if one["key"] not in done]
            if not controls:
                break
            for one in controls[: self.most - len(done)]:
                key = one["key"]
                self.where = f"{name}, {key}"
                left_alone = any(word in key.lower() for word in LEFT_ALONE)
                if not left_alone and not self._use(name, one) and missed[key] < 2:
                    missed[key] += 1
                    break
                self.used += not left_alone
                done.add(key)
        self._tab_through(name)

    def sample(self, name: str, count: int, offset: int = 0) -> None:
        """Use some controls of a panel, always the same: `count` of them, spread over the panel."""
        self._front(name)
        controls = self.page.evaluate(LIST, name)
        step = max(1, len(controls) // count)
        for one in controls[offset % step :: step][:count]:
            if any(word in one["key"].lower() for word in LEFT_ALONE):
                continue
            self._front(name)
            self.page.evaluate(LIST, name)  # names the controls of a panel that was drawn again
            self.where = f"{name}, {one['key']}"
            self.used += self._use(name, one)
        self._tab_through(name, 10)

    def _front(self, name: str) -> None:
        self._close_questions()
        self.where = name
        tab = self.page.locator(f"[role=tab][aria-controls=panel-{name}]")
        if tab.get_attribute("aria-selected") != "true":
            tab.click()

    def _use(self, panel: str, one: dict[str, Any]) -> bool:
        """Use a control; False if it is not there any more."""
        node = self.page.locator(f'#panel-{panel} [data-crawl="{_escaped(one["key"])}"]')
        try:
            # It may have been drawn again since it was listed.
            if node.count() != 1 or not node.is_visible() or not node.is_enabled(timeout=1000):
                return False
        except Error:
            return False
        try:
            if one["tag"] == "select":
                values = node.evaluate(
                    "(n) => [...n.options].filter((o) => !o.disabled).map((o) => o.value)"
                )
                before = node.input_value()
                for value in dict.fromkeys([*values[-1:], before]):
                    if value in values:
                        node.select_option(value, timeout=ENOUGH)
            elif one["tag"] == "textarea":
                node.click(timeout=ENOUGH)
                self.page.keyboard.press("End")
            elif one["tag"] == "input" and one["type"] in ("text", "number", "search", ""):
                node.click(timeout=ENOUGH)
                value = node.input_value()
                node.fill(value or "1", timeout=ENOUGH)
                self.page.keyboard.press("Enter")
            elif one["tag"] == "input" and one["type"] == "range":
                node.focus()
                self.page.keyboard.press("ArrowRight")
            elif one["tag"] == "input" and one["type"] in ("checkbox", "radio"):
                node.evaluate("(n) => (n.closest('label') ?? n).scrollIntoView({block: 'nearest'})")
                box = node.evaluate(
                    "(n) => { const b = (n.closest('label') ?? n).getBoundingClientRect();"
                    " return [b.left + b.width / 2, b.top + b.height / 2]; }"
                )
                self.page.mouse.click(*box)
            elif one["tag"] == "input" and one["type"] in ("file", "color"):
                return True
            else:
                node.click(timeout=ENOUGH)
        except Error as error:
            what = str(error).splitlines()
            covered = [line for line in what if "intercepts" in line]
            if covered and self.page.locator("dialog[open]").count():
                self._close_questions()
            elif covered:
                self.note(f"covered: {covered[0].strip()[:160]}")
            elif node.count() == 1 and node.is_visible():
                self.note(f"cannot be used: {what[0][:160]}")
        self.inspect(panel)
        self._close_questions()
        return True

    def _close_questions(self) -> None:
        for question in self.page.locator("dialog[open]").all():
            with contextlib.suppress(Error):
                question.get_by_role("button", name="Cancel").click(timeout=1000)

    def _tab_through(self, name: str, times: int = 25) -> None:
        self._front(name)
        self.where = f"{name}, Tab key"
        self.page.locator(f"[role=tab][aria-controls=panel-{name}]").focus()
        for _ in range(times):
            self.page.keyboard.press("Tab")
        self.inspect(name)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\a ")


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

    problems: dict[str, str] = {}
    used = 0
    logged = Errors()
    logging.getLogger("brazo").addHandler(logged)
    with tempfile.TemporaryDirectory() as runs, chromium() as browser:
        for width, height in sizes.items():
            lab = serve(cell, port=0, block=False, open_browser=False, runs=Path(runs))
            context = browser.new_context(viewport={"width": width, "height": height})
            context.add_init_script("localStorage.setItem('brazo-welcomed', 'true')")
            page = context.new_page()
            page.set_default_timeout(60_000)
            one = Crawl(page)
            page.on("pageerror", lambda error, one=one: one.note(f"exception: {error}"))
            page.on(
                "console",
                lambda m, one=one: one.note(f"console: {m.text}") if m.type == "error" else None,
            )
            try:
                page.goto(lab.url)
                drawn(page, cell)
                ids = panels or page.evaluate(
                    "() => [...document.querySelectorAll('[role=tab][aria-controls^=panel-]')]"
                    ".map((tab) => tab.getAttribute('aria-controls').slice(6))"
                )
                for name in ids:
                    lab.do(lab.sim.player.pause)  # nothing has to be drawn
                    started, before = time.monotonic(), one.used
                    if some:
                        one.sample(name, some)
                    else:
                        one.panel(name)
                    for what in logged.found:
                        one.note(f"error of the lab: {what}")
                    logged.found.clear()
                    print(
                        f"{width} px, {name}: {one.used - before} controls, "
                        f"{time.monotonic() - started:.1f} s",
                        flush=True,
                    )
            finally:
                context.close()
                lab.stop()
            problems |= {f"{width} px: {what}": where for what, where in one.problems.items()}
            used += one.used
    logging.getLogger("brazo").removeHandler(logged)
    return problems, used


def main() -> int:
    """Crawl, print and return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("width", nargs="*", type=int, help="px; default: all")
    parser.add_argument("--cell", default="cooperative")
    parser.add_argument("--some", type=int, default=0, help="controls per panel; default: all")
    parser.add_argument("--pictures", default="", help="folder for a picture of every problem")
    parser.add_argument("--panels", default="", help="their ids, separated by commas")
    given = parser.parse_args()
    if not {*given.width} <= {*SIZES}:
        parser.error(f"width: expected some of {', '.join(map(str, SIZES))}")
    panels = given.panels.split(",") if given.panels else None
    Crawl.pictures = given.pictures
    problems, used = crawl(
        given.cell, {w: SIZES[w] for w in given.width or SIZES}, panels, given.some
    )
    print(f"{used} controls used, {len(problems)} problems")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
