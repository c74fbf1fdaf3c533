"""Conversion of text to a `Drawing`: single strokes (Hershey fonts), or the outlines of a font.

The height is the height of a capital letter.  Lines are 1.7 heights apart.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from brazo.checks import one_of, positive
from brazo.errors import BrazoError
from brazo.text import one_line
from brazo.trajectory.curves import Curve
from brazo.trajectory.drawing import Drawing, Stroke, bezier, chain, stroke_of_points

FONTS = ("single-stroke", "script", "outline")
_HERSHEY = {"single-stroke": "futural", "script": "scripts"}
_CAPITAL = 21.0  # height of a capital letter in the units of Hershey's fonts
_SPACING = 1.7
MAX_TEXT = 200


def text_drawing(text: str, height: float, font: str = "single-stroke") -> Drawing:
    """Create a drawing of a text; its first baseline starts at the origin.

    `height` (m) is the height of a capital letter.  `font` is `"single-stroke"` (for a pen),
    `"script"` (single strokes with joined letters) or `"outline"` (the contours of DejaVu Sans).
    """
    one_of(font, FONTS, "font")
    height = positive(height, "height")
    if not isinstance(text, str) or not text.strip():
        raise BrazoError("text is empty; expected at least one letter")
    if len(text) > MAX_TEXT:
        raise BrazoError(f"text has {len(text)} characters; at most {MAX_TEXT}")
    strokes: list[Stroke] = []
    for k, line in enumerate(text.splitlines()):
        found = _outlines(line) if font == "outline" else _single(line, _HERSHEY[font])
        if found:
            strokes += Drawing(tuple(found)).shifted((0.0, -_SPACING * k)).strokes
    if not strokes:
        raise BrazoError(f"text '{one_line(text)}' has no visible letters")
    return Drawing(tuple(strokes)).scaled(height)


def _single(line: str, font: str) -> list[Stroke]:
    """Single strokes of a line of text, with capital letters of height 1."""
    missing = sorted({c for c in line if not " " <= c <= "~"})
    if missing:
        raise _no_letter(missing, "a single-stroke font has only ASCII letters; use 'outline'")
    found = []
    for stroke in _hershey(font).strokes_for_text(line):
        points = np.array(stroke, dtype=float) / _CAPITAL
        points[:, 1] = 9.0 / _CAPITAL - points[:, 1]  # down from the middle to up from the baseline
        pieces = stroke_of_points(points, smooth=True)
        if pieces:
            found.append(pieces)
    return found


@functools.cache
def _hershey(font: str) -> Any:
    from HersheyFonts import HersheyFonts

    found = HersheyFonts()
    found.load_default_font(font)
    return found


def _outlines(line: str) -> list[Stroke]:
    """Contours of a line of text, with capital letters of height 1."""
    from matplotlib import font_manager, get_data_path
    from matplotlib.path import Path
    from matplotlib.textpath import TextPath

    file = f"{get_data_path()}/fonts/ttf/DejaVuSans.ttf"
    font = font_manager.get_font(file)
    missing = sorted({c for c in line if c != " " and font.get_char_index(ord(c)) == 0})
    if missing:
        raise _no_letter(missing, "not in the font DejaVu Sans")
    properties = font_manager.FontProperties(fname=file)
    capital = TextPath((0, 0), "H", size=100, prop=properties).vertices[:, 1].max()
    path = TextPath((0, 0), line, size=100, prop=properties, usetex=False)
    found: list[Stroke] = []
    pieces: list[Curve] = []
    start = here = np.zeros(2)

    def end() -> None:
        if pieces:
            found.append(chain(pieces))
            pieces.clear()

    for points, code in _segments(path, Path):
        p = np.asarray(points, dtype=float).reshape(-1, 2) / capital
        if code == Path.MOVETO:
            end()
            start = here = p[0]
            continue
        target = [start] if code == Path.CLOSEPOLY else list(p)
        pieces += bezier([here, *target])
        here = np.asarray(target[-1])
        if code == Path.CLOSEPOLY:
            end()
    end()
    return found


def _segments(path: Any, kind: Any) -> Sequence[tuple[Any, Any]]:
    """Control points and code of each segment of a matplotlib path.

    `kind` is the class `matplotlib.path.Path`, which defines the codes.  Its method `iter_segments`
    is not used, because it would simplify the path.
    """
    count = {kind.MOVETO: 1, kind.LINETO: 1, kind.CURVE3: 2, kind.CURVE4: 3, kind.CLOSEPOLY: 1}
    found, k = [], 0
    while k < len(path.codes):
        code = path.codes[k]
        found.append((path.vertices[k : k + count[code]], code))
        k += count[code]
    return found


def _no_letter(missing: list[str], why: str) -> BrazoError:
    more = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
    return BrazoError(
        f"the font has no letter {', '.join(repr(c) for c in missing[:5])}{more}: {why}"
    )
