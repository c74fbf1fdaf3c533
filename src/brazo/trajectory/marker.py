"""Position of a coloured marker in an image: the centroid of the largest spot of its colour.

A pixel matches the marker if its hue differs from that of the marker by at most a tolerance, its
saturation is ≥ 0.5 times that of the marker, and its value (the largest of R, G, B) is ≥ 0.25 times
that of the marker.  Light and shade on the marker then do not matter.  The hue is the angle of the
chromaticity

    (R − (G + B)/2,  √3/2 (G − B))

White, grey and black have no hue (saturation below 0.25 or value below 0.15).  For such a marker,
for example a lamp, a pixel matches if its value differs from that of the marker by at most 0.2, and
its saturation is at most 0.25 or its value at most 0.15.

Colours are compared with a precomputed table of 64 steps per channel.
"""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from brazo.errors import BrazoError
from brazo.trajectory.reading import vector

Array = np.ndarray
NAMED = {
    "red": (1.0, 0.0, 0.0),
    "orange": (1.0, 0.5, 0.0),
    "yellow": (1.0, 1.0, 0.0),
    "green": (0.0, 1.0, 0.0),
    "cyan": (0.0, 1.0, 1.0),
    "blue": (0.0, 0.0, 1.0),
    "magenta": (1.0, 0.0, 1.0),
    "white": (1.0, 1.0, 1.0),
    "black": (0.0, 0.0, 0.0),
}
TOLERANCE = math.radians(20.0)  # of the hue
_HEX = re.compile(r"#[0-9a-fA-F]{6}")
_GREY = 0.25  # saturation below which a colour has no hue
_DARK = 0.15  # value below which it has none
_SATURATION = 0.5  # of that of the marker
_VALUE = 0.25  # of that of the marker
_STEP = 0.2  # difference in value from a colour without hue
_LEAST = 9  # px of the marker, and
_RIM = 3  # px around a spot
_DIAMETER = 0.01  # of the longer side of the picture


def read_color(color: Any) -> tuple[float, float, float]:
    """Read a colour as R, G, B from 0 to 1: a name (`red`), `#e02020`, or three numbers."""
    if isinstance(color, str):
        if color.lower() in NAMED:
            return NAMED[color.lower()]
        if not _HEX.fullmatch(color):
            raise BrazoError(f"colour '{color}': expected #RRGGBB or {', '.join(NAMED)}")
        red, green, blue = (int(color[k : k + 2], 16) / 255.0 for k in (1, 3, 5))
        return red, green, blue
    red, green, blue = vector(color, 3, "colour").tolist()
    if not 0.0 <= min(red, green, blue) <= max(red, green, blue) <= 1.0:
        raise BrazoError(f"colour ({red:g}, {green:g}, {blue:g}): each value must be from 0 to 1")
    return red, green, blue


def color_text(color: tuple[float, float, float]) -> str:
    """Colour as text such as `#e02020`, with its name if it has one."""
    text = "#" + "".join(f"{round(255.0 * one):02x}" for one in color)
    name = next((name for name, one in NAMED.items() if one == color), "")
    return f"{name} {text}" if name else text


def color_table(color: tuple[float, float, float], tolerance: float = TOLERANCE) -> Array:
    """Boolean table (64, 64, 64) that is True for the colours that match the marker `color`.

    The indices are the 8-bit channels R, G, B divided by 4.  `tolerance` (rad) is the max
    difference in hue.
    """
    if not 0.0 < tolerance <= math.pi:
        raise BrazoError(
            f"tolerance {math.degrees(tolerance):g}°: must be above 0° and at most 180°"
        )
    level = (4.0 * np.arange(64) + 1.5) / 255.0
    rgb = np.stack(np.meshgrid(level, level, level, indexing="ij"))
    hue, saturation, value = _hsv(rgb)
    wanted_hue, wanted_saturation, wanted_value = (float(v) for v in _hsv(np.array(color)))
    if wanted_saturation < _GREY or wanted_value < _DARK:
        plain = (saturation <= _GREY) | (value <= _DARK)
        return plain & (np.abs(value - wanted_value) <= _STEP)
    apart = np.abs((hue - wanted_hue + math.pi) % (2.0 * math.pi) - math.pi)
    return (
        (apart <= tolerance)
        & (saturation >= _SATURATION * wanted_saturation)
        & (value >= _VALUE * wanted_value)
    )


def _hsv(rgb: Array) -> tuple[Array, Array, Array]:
    """Hue (rad), saturation and value of colours (3, ...)."""
    red, green, blue = rgb
    high, low = rgb.max(axis=0), rgb.min(axis=0)
    hue = np.arctan2(math.sqrt(0.75) * (green - blue), red - 0.5 * (green + blue))
    return hue, (high - low) / np.maximum(high, 1e-9), high


def find_marker(frame: Array, table: Array) -> tuple[float, float] | None:
    """Position of the marker in an image (height, width, 3), in px: x to the right, y down.

    `table` is a `color_table`.  Pixel (i, j) has its centre at (j + 0.5, i + 0.5).  None if no spot
    is large enough: its area must be at least 9 px, and at least that of a circle whose diameter is
    1 % of the longer image side.  None also if the largest spot touches the edge of the image,
    because part of the marker may be outside.
    """
    from scipy import ndimage

    level = frame >> 2
    mask = table[level[..., 0], level[..., 1], level[..., 2]]
    found: Any = ndimage.label(mask)
    labels, count = found
    if not count:
        return None
    sizes = np.bincount(labels.ravel())[1:]
    best = int(np.argmax(sizes))
    if sizes[best] < max(_LEAST, math.pi / 4.0 * (_DIAMETER * max(mask.shape)) ** 2):
        return None
    rows, columns = ndimage.find_objects(labels, best + 1)[best]
    height, width = mask.shape
    if not rows.start or not columns.start or rows.stop == height or columns.stop == width:
        return None
    # The box around the spot, with the pixels that it covers in part.
    box = (
        slice(max(rows.start - _RIM, 0), min(rows.stop + _RIM, height)),
        slice(max(columns.start - _RIM, 0), min(columns.stop + _RIM, width)),
    )
    weights = _coverage(frame[box], labels[box] == best + 1)
    y, x = np.tensordot(np.indices(weights.shape), weights) / weights.sum()
    return float(box[1].start + x + 0.5), float(box[0].start + y + 0.5)


def _coverage(rgb: Array, spot: Array) -> Array:
    """Fraction of each pixel that the marker covers, from 0 to 1; `spot` is the mask of its pixels.

    A pixel at the edge mixes the colours of marker and background in proportion to their areas.
    Videos also blur the colour over two pixels.  The fraction is therefore linear in the colour,
    from the median colour of the background to that of the marker.  With these fractions as
    weights, neither effect shifts the centroid.
    """
    from scipy import ndimage

    spot = np.asarray(
        ndimage.binary_fill_holes(spot), dtype=bool
    )  # a highlight is part of the marker
    near = np.asarray(ndimage.binary_dilation(spot, iterations=_RIM - 1), dtype=bool)
    inside = np.asarray(ndimage.binary_erosion(spot, iterations=_RIM - 1), dtype=bool)
    if not inside.any() or near.all():
        return spot.astype(float)
    colors = rgb.astype(float)
    behind = np.median(colors[~near], axis=0)
    across = np.median(colors[inside], axis=0) - behind
    share = (colors - behind) @ across / max(float(across @ across), 1.0)
    return np.where(inside, 1.0, np.where(near, np.clip(share, 0.0, 1.0), 0.0))
