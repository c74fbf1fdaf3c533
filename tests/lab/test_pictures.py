"""Every panel has screenshots in the documentation, of limited size."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from brazo.lab.panels.registry import panel_types

DOCS = Path(__file__).parents[2] / "docs"
PICTURES = DOCS / "_static" / "lab"
PAGES = ("cell", "welcome", "help", "replay-file", "report")
PANELS = {panel.id: panel for panel in panel_types()}
SUBJECTS = (*PAGES, *PANELS)
SIZES = {"light": (1440, 900), "dark": (1440, 900), "laptop": (1366, 768), "phone": (390, 844)}
CROPPED = 720  # px; a panel with some of the scene beside it
MOST = 6e6  # bytes of all
ADVICE = "take it with `python tools/screenshots.py`"


@pytest.mark.parametrize("variant", SIZES)
@pytest.mark.parametrize("subject", SUBJECTS)
def test_a_picture_is_there_and_shows_something(subject: str, variant: str) -> None:
    path = PICTURES / f"{subject}-{variant}.webp"
    assert path.exists(), f"{path.name} is missing: {ADVICE}"
    with Image.open(path) as picture:
        width, height = SIZES[variant]
        beside = subject in PANELS and "cell" in PANELS[subject].used_for
        cropped = beside and variant in ("light", "dark")
        assert picture.size == (CROPPED if cropped else width, height)
        extrema = np.reshape(picture.convert("RGB").getextrema(), (3, 2))
        spread = extrema[:, 1] - extrema[:, 0]
        assert min(spread) > 100, "a picture of nothing"


@pytest.mark.parametrize("page, variants", [("lab", ["light"]), ("lab-pictures", list(SIZES)[1:])])
def test_the_documentation_shows_it(page: str, variants: list[str]) -> None:
    shown = set(re.findall(r"_static/lab/(\S+?)\.webp", (DOCS / f"{page}.md").read_text("utf-8")))
    wanted = {f"{subject}-{variant}" for subject in SUBJECTS for variant in variants}
    assert shown == wanted


def test_all_of_them_are_light_and_none_is_left_over() -> None:
    files = list(PICTURES.iterdir())
    assert {path.stem for path in files} == {f"{s}-{v}" for s in SUBJECTS for v in SIZES}
    assert sum(path.stat().st_size for path in files) < MOST
