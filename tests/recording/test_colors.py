"""Line colours are distinguishable in print and on the page, also with colour blindness."""

from __future__ import annotations

import re
from importlib.resources import files
from itertools import combinations

import numpy as np
import pytest

from brazo.recording.colors import COLORS, DARK_COLORS

# Linear RGB with protanopia and deuteranopia: Machado, Oliveira and Fernandes (2009).
VISION = {
    "normal": np.eye(3),
    "protanopia": np.array(
        [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]]
    ),
    "deuteranopia": np.array(
        [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]]
    ),
}
XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def perceived(color: str, vision: np.ndarray) -> np.ndarray:
    """Return the CIELAB coordinates of a colour as perceived."""
    rgb = np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)]) / 255.0
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    xyz = XYZ @ np.clip(vision @ linear, 0.0, 1.0) / XYZ.sum(axis=1)
    x, y, z = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16.0 / 116.0)
    return np.array([116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)])


@pytest.mark.parametrize("vision", VISION)
@pytest.mark.parametrize("colors", [COLORS, DARK_COLORS], ids=["light", "dark"])
def test_first_six_colours_are_distinguishable(colors, vision):
    six = [perceived(color, VISION[vision]) for color in colors[:6]]
    assert min(np.linalg.norm(a - b) for a, b in combinations(six, 2)) > 15.0


def test_page_and_figures_have_the_same_line_colours():
    css = files("brazo.lab").joinpath("panels/common/plot.css").read_text(encoding="utf-8")
    assert tuple(re.findall(r"--line-\d: (#\w+);", css)) == COLORS + DARK_COLORS
