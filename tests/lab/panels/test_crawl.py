"""Some controls of every panel, used as a hand would: nothing is cut, covered or out of view.

`tools/crawl.py` uses all controls, on more screens.
"""

from __future__ import annotations

import logging

import pytest
from crawl import PANELS, SIZES, Crawl, Errors

pytestmark = pytest.mark.browser
CONTROLS = 3  # per panel and size


@pytest.fixture(scope="module")
def lab(running):
    with running("cooperative") as lab:
        lab.do(lab.sim.player.pause)  # nothing has to be drawn
        yield lab


@pytest.mark.parametrize("width", [390, 1366])
def test_controls_of_all_panels_are_usable_and_the_page_stays(lab, open_page, width):
    opened = open_page(lab, "pendant", {"width": width, "height": SIZES[width]})
    crawl, logged = Crawl(opened.page, lab), Errors()
    logging.getLogger("brazo").addHandler(logged)
    names = opened.page.evaluate(PANELS)
    assert len(names) >= 13
    for name in names:
        crawl.sample(name, CONTROLS, offset=width)
    logging.getLogger("brazo").removeHandler(logged)
    assert crawl.problems == {} and logged.found == [] and opened.errors == []
    assert crawl.used >= 2 * len(names)
    opened.page.close()
