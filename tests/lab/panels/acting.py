"""What users do with any panel, and how tests wait for what comes of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from browsing import SOON
from playwright.sync_api import Locator, Page, expect


def until(
    page: Page, condition: Callable[[], object], why: Callable[[], object] = lambda: None
) -> None:
    """Wait until a condition holds, while the page keeps running; `why()` explains a failure."""
    deadline = time.monotonic() + SOON / 1000
    while not condition():
        assert time.monotonic() < deadline, why()
        page.wait_for_timeout(50)


def show(page: Page, title: str) -> Locator:
    """Bring a panel to the front; what is in it."""
    tab = page.get_by_role("tab", name=title, exact=True)
    if tab.get_attribute("aria-selected") != "true":
        tab.click()
    panel = page.locator(f"#{tab.get_attribute('aria-controls')}")
    expect(panel).to_be_visible()
    return panel


def drawn(page: Page, cell: str) -> None:
    """Wait until that cell is drawn."""
    page.wait_for_function(
        "(name) => document.documentElement.dataset.brazoReady === name",
        arg=cell,
        polling=30,
        timeout=SOON,
    )


def resized(page: Page, width: int, height: int) -> None:
    """Change the size of the page; return when its panels are arranged for it."""
    page.set_viewport_size({"width": width, "height": height})
    page.wait_for_function(
        """(width) => innerWidth === width
            && document.documentElement.hasAttribute("data-brazo-narrow") === (width <= 760)""",
        arg=width,
        polling=30,
        timeout=SOON,
    )


def switch(panel: Locator, label: str, refused: bool = False) -> None:
    """Turn something on or off; return when the page shows that the lab has done it.

    A click before that would request the same state again.  `refused` is whether the lab refuses.
    """
    toggle = panel.locator("label.brazo-toggle", has_text=label)
    box = toggle.locator("input")
    before = box.is_checked()
    toggle.click()
    if not refused:
        expect(box).to_be_checked(checked=not before)


def unfold(panel: Locator, *titles: str) -> None:
    """Open parts of a panel."""
    for title in titles:
        part = panel.locator("details", has=panel.page.locator("summary", has_text=title)).first
        if part.get_attribute("open") is None:
            part.locator("summary").click()


def typed(field: Locator, text: str) -> None:
    """Type into a field and leave it with Enter."""
    field.fill(text)
    field.press("Enter")


def number(text: str) -> float:
    """A number as the page writes it."""
    return float(text.replace("−", "-"))


# What has scrolled besides a panel's own content and the row of tabs, and what has left the screen;
# of all nodes, or only of those that contain a control.
_MOVED = """(kept, control) => {
    const nodes = control ? [] : [...document.querySelectorAll("*")];
    for (let node = control; node; node = node.parentElement) nodes.push(node);
    const moved = nodes
        .filter((node) => (node.scrollTop || node.scrollLeft)
            && !node.closest(".content, .brazo-dock .tabs"))
        .map((node) => `${node.tagName} ${node.className} scrolled`);
    const box = document.querySelector(kept).getBoundingClientRect();
    const inside = box.width && box.top >= 0 && box.left >= 0
        && box.right <= innerWidth && box.bottom <= innerHeight;
    return inside ? moved : [...moved, `${kept} is not in view`];
}"""
# What lies over the middle of the control that has the focus.
_COVERED = """(control) => {
    const look = { opacityProperty: true, visibilityProperty: true };
    if (document.activeElement !== control || !control.checkVisibility(look)) return [];
    const { left, right, top, bottom } = control.getBoundingClientRect();
    if (right - left < 2 || bottom - top < 2) return []; // the box of a switch
    const at = document.elementFromPoint((left + right) / 2, (top + bottom) / 2);
    const own = at && (control.contains(at) || at.contains(control) || at.closest("label"));
    return own ? [] : [`covered by ${at?.outerHTML.slice(0, 80)}`];
}"""
_FOCUS_EACH = f"""(panel, kept) => {{
    const controls = [...panel.querySelectorAll("a, button, input, select, summary")];
    return controls.map((control) => {{
        control.focus(); // scrolls what contains it
        return [...({_MOVED})(kept, control), ...({_COVERED})(control)]
            .map((what) => `${{control.outerHTML.slice(0, 80)}}: ${{what}}`);
    }}).flat();
}}"""
# Toggles are switched, but the lab does not hear of it.
_MUTE = "() => addEventListener('change', (event) => event.stopImmediatePropagation(), true)"


def panels_in_turn(page: Page) -> Iterator[Locator]:
    """Every panel of the docks in turn, shown and with all its parts unfolded."""
    for tab in page.locator(".brazo-dock .tabs .tab:visible").all():
        if tab.get_attribute("aria-selected") != "true":
            tab.click()
        panel = page.locator(f"#{tab.get_attribute('aria-controls')}")
        panel.locator("> *").first.wait_for(state="attached")
        panel.locator("details").evaluate_all("(all) => all.forEach((one) => (one.open = true))")
        yield panel


def assert_page_stays(page: Page, kept: str) -> None:
    """Click every toggle and focus every control of every panel: nothing but a panel scrolls.

    `kept` (CSS) has to stay on the screen, and nothing may cover the control with the focus.
    """
    page.evaluate(_MUTE)
    for panel in panels_in_turn(page):
        for toggle in panel.locator("label.brazo-toggle:visible").all():
            toggle.click(force=True)
            assert page.evaluate(_MOVED, kept) == [], toggle.inner_text()
        found = panel.evaluate(_FOCUS_EACH, kept)
        assert not found, found
        panel.hover(position={"x": 4, "y": 4}, force=True)
        page.mouse.wheel(0, 3000)  # beyond the end of the panel
        assert page.evaluate(_MOVED, kept) == []  # of all nodes
