"""A headless Chromium for tests and for tools that use the lab's page."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, Page, sync_playwright

# The same engine without windows, tabs and menus, and without cameras and sensors: a page loads in
# 60 % of the processor time.
SHELL = "chromium-headless-shell"
NAMES = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "C:/Program Files/Google/Chrome/Application/chrome.exe",
)
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
NOT_FOUND = "no Chromium found: run `make setup`, or set BRAZO_CHROMIUM to its executable"
SOON = 120_000  # ms; software rendering on a busy machine is slow


def chromium_path(devices: bool = False) -> str | None:
    """Return the executable of an installed Chromium or Chrome, or None.

    `devices` is whether pages need a camera or sensors.  `BRAZO_CHROMIUM` in the environment names
    another executable.
    """
    named = os.environ.get("BRAZO_CHROMIUM")
    names = [named] if named else NAMES if devices else [SHELL, *NAMES]
    return next(filter(None, map(shutil.which, names)), None)


@contextmanager
def chromium(*arguments: str) -> Iterator[Browser]:
    """Start a browser; exit with instructions if none is installed."""
    found = chromium_path()
    if found is None:
        sys.exit(NOT_FOUND)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=found, headless=True, args=[*ARGUMENTS, *arguments]
        )
        try:
            yield browser
        finally:
            browser.close()


def drawn(page: Page, cell: str) -> None:
    """Wait until the cell is drawn and framed."""
    page.wait_for_function(
        "(name) => document.documentElement.dataset.brazoReady === name",
        arg=cell,
        polling=50,
        timeout=SOON,
    )


def show(page: Page, panel: str) -> None:
    """Bring a panel, by its id, to the front."""
    tab = page.locator(f"[role=tab][aria-controls=panel-{panel}]")
    if tab.get_attribute("aria-selected") != "true":
        tab.click()
    page.locator(f"#panel-{panel}").wait_for()
