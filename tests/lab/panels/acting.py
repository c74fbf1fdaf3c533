"""What users do with any panel, and how tests wait for what comes of it."""

from __future__ import annotations

import time
from collections.abc import Callable

from playwright.sync_api import Locator, Page, expect

SOON = 30.0  # s

expect.set_options(timeout=1000 * SOON)


def until(page: Page, condition: Callable[[], object]) -> None:
    """Wait until something is so, the page going on meanwhile."""
    deadline = time.monotonic() + SOON
    while not condition():
        assert time.monotonic() < deadline
        page.wait_for_timeout(20)


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
        timeout=1000 * SOON,
    )


def switch(panel: Locator, label: str) -> None:
    """Turn something on or off."""
    panel.locator("label.brazo-toggle", has_text=label).click()


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
