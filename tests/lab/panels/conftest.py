"""One Chromium and one lab for the tests of a panel, which act through the page alone."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from browsing import SOON
from playwright.sync_api import Locator, Page

from brazo.lab.app.lab import Lab

SIZE = {"width": 790, "height": 560}  # hardly any scene: the processor draws it


@dataclass
class Opened:
    """A page of the lab with one panel in front."""

    lab: Lab
    page: Page
    name: str
    errors: list[str] = field(default_factory=list)

    @property
    def panel(self) -> Locator:
        """The panel itself."""
        return self.page.locator(f"#panel-{self.name}")

    def wait(self, condition: str, argument: Any = None) -> None:
        """Wait until a function of JavaScript gives something true."""
        self.page.wait_for_function(condition, arg=argument, polling=30, timeout=SOON)

    def ready(self) -> None:
        """Wait until the lab's cell is drawn."""
        name = self.lab.sim.cell.name
        self.wait("(name) => document.documentElement.dataset.brazoReady === name", name)

    def show(self) -> None:
        """Bring the panel to the front."""
        self.page.locator(f"[role=tab][aria-controls=panel-{self.name}]").click()

    def button(self, name: str) -> Locator:
        """A button of the panel."""
        return self.panel.get_by_role("button", name=name, exact=True)

    def settle(self) -> None:
        """Return when the lab has done what the page asked for and the page knows of it."""
        done = threading.Event()
        self.lab.channel.on("settled", done.set, free=True)
        self.page.evaluate(
            """async () => {
                const { send } = await import("/lab/server/page/channel.js");
                await new Promise((next) => requestAnimationFrame(() => setTimeout(next, 0)));
                send("settled");
            }"""
        )
        assert done.wait(SOON / 1000)
        mark = secrets.token_hex(8)
        self.lab.channel.put({"settled": mark})  # values arrive in the order they are put
        self.page.evaluate(
            """async (mark) => {
                const { watch } = await import("/lab/server/page/channel.js");
                await new Promise((next) => watch("settled", (it) => it === mark && next()));
            }""",
            mark,
        )

    def lines(self, label: str) -> list[dict]:
        """What a plot draws: [{label, unit, t, y}]."""
        return self.panel.get_by_label(label, exact=True).evaluate("(plot) => plot.data")


@pytest.fixture(scope="module")
def open_page(browser) -> Iterator[Callable[..., Opened]]:
    """`open_page(lab, "data")`: a page with that panel in front."""
    contexts = []

    def open_page(
        lab: Lab, name: str, size: dict[str, int] = SIZE, script: str = "", **options: Any
    ) -> Opened:
        context = browser.new_context(viewport=size, **options)
        context.add_init_script(script)
        context.add_init_script("localStorage.setItem('brazo-welcomed', 'true')")
        contexts.append(context)
        opened = Opened(lab, context.new_page(), name)
        opened.page.set_default_timeout(SOON)
        opened.page.on("pageerror", lambda error: opened.errors.append(str(error)))
        opened.page.on(
            "console",
            lambda m: opened.errors.append(m.text) if m.type == "error" else None,
        )
        opened.page.goto(lab.url)
        opened.ready()
        opened.show()
        return opened

    yield open_page
    for context in contexts:
        context.close()
