"""Drawings against their sources: fonts, SVG geometry by another library, exact lengths."""

import numpy as np
import pytest

import brazo
from brazo.trajectory import DOWN, drawing_of_points, parse_svg, strokes, svg, text, text_drawing
from brazo.trajectory.drawing import ALIGNED, bezier, chain, sections
from brazo.trajectory.text_drawing import FONTS

MM = 0.0254 / 96  # m of an SVG unit without a size in the file


def document(content: str) -> str:
    return f'<svg xmlns="http://www.w3.org/2000/svg">{content}</svg>'


@pytest.mark.parametrize("font", FONTS)
def test_capital_letters_have_the_height(font):
    drawing = text_drawing("H", 0.02, font)
    low, high = drawing.bounds
    # Script letters have swashes beyond the height.
    assert high[1] - low[1] == pytest.approx(0.02, rel=0.1 if font == "script" else 1e-9)


def test_lines_of_text_are_below_each_other():
    one, two = text_drawing("L", 0.02), text_drawing("L\nL", 0.02)
    assert two.bounds[0, 1] == pytest.approx(one.bounds[0, 1] - 1.7 * 0.02)


def test_outlines_enclose_the_area_of_the_glyph():
    # Green's theorem over the contours, against the triangulated polygons of matplotlib.
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextPath

    drawing = text_drawing("B8", 1.0, "outline")
    x, w = np.polynomial.legendre.leggauss(8)
    x, w = 0.5 * (x + 1.0), 0.5 * w
    area = 0.0
    for stroke in drawing.strokes:
        for piece in stroke:
            p, v = piece.at(x)[:2]
            area += 0.5 * float(w @ (p[:, 0] * v[:, 1] - p[:, 1] * v[:, 0]))
    path = TextPath((0, 0), "B8", size=100, prop=FontProperties(family="DejaVu Sans"))
    capital = TextPath((0, 0), "H", size=100, prop=FontProperties(family="DejaVu Sans"))
    fine = path.interpolated(1)
    exact = 0.0
    for polygon in fine.to_polygons(closed_only=True):
        X, Y = (polygon / capital.vertices[:, 1].max()).T
        exact += 0.5 * float(np.sum(X[:-1] * Y[1:] - X[1:] * Y[:-1]))
    # The polygons have chords for curves.
    assert abs(area) == pytest.approx(abs(exact), rel=5e-3)


def test_svg_curves_are_exact_with_their_transforms():
    import svgelements

    d = "M 10,10 L 80,20 Q 90,60 50,70 C 20,90 5,60 10,40 A 25 15 30 1 1 60 50"
    drawing = parse_svg(document(f'<g transform="rotate(30) scale(2,1)"><path d="{d}"/></g>'))
    (stroke,) = drawing.strokes
    path = svgelements.Path(d)
    c, s = np.cos(np.pi / 6), np.sin(np.pi / 6)
    A = np.array([[c, -s], [s, c]]) @ np.diag([2.0, 1.0])
    segments = [one for one in path if not isinstance(one, svgelements.Move)]
    assert len(stroke) == len(segments)
    x = np.linspace(0.0, 1.0, 21)
    for piece, segment in zip(stroke, segments, strict=True):
        wanted = np.array([[p.x, p.y] for p in (segment.point(float(one)) for one in x)])
        wanted = wanted @ A.T * [1.0, -1.0]
        np.testing.assert_allclose(piece.at(x)[0, :, :2], MM * wanted, atol=1e-9 * MM * 100)


def test_the_size_of_a_file_counts():
    drawing = parse_svg(
        '<svg xmlns="http://www.w3.org/2000/svg" width="100mm" height="50mm" viewBox="0 0 200 100">'
        '<rect x="20" y="10" width="40" height="20"/></svg>'
    )
    np.testing.assert_allclose(drawing.bounds, [[0.010, -0.015], [0.030, -0.005]], atol=1e-6)
    np.testing.assert_allclose(np.diff(drawing.fitted(width=0.1).bounds, axis=0), [[0.1, 0.05]])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("<svg", "not valid XML"),
        (document(""), "no path or shape"),
        (document("<text>a</text>"), "no path or shape"),
        ("<!DOCTYPE svg [<!ENTITY a 'a'>]><svg/>", "entities and other"),
        ("<!DOCTYPE svg [<!ENTITY a 'a'>]><svg/>".encode("utf-16"), "entities and other"),
        ("<!DOCTYPE svg [<!ATTLIST g d CDATA 'M0 0'>]><svg/>", "entities and other"),
        ("<html/>", "a.svg: not an SVG file: its root is <html>"),
        (b'<?xml version="1.0" encoding="foo"?><svg/>', "a.svg.*encoding"),
        (b"<svg>\xff</svg>", "a.svg:1: not valid XML"),
        (b"\0\0\0", "a.svg:1: not valid XML"),
        (document('<path d="M0 0 L a b"/>'), "a.svg: n"),
        (document("<g>" * 100 + "</g>" * 100), "more than 60 nested elements"),
        (document('<g id="a"><use href="#a"/></g>'), "contains a <use> of itself"),
        (document(f'<g transform="{"scale(1)" * 1000}"/>'), "'transform' of a <g> has 8000"),
    ],
)
def test_files_that_cannot_be_drawn_are_reported(content, message):
    with pytest.raises(brazo.BrazoError, match=message):
        parse_svg(content, "a.svg")


def nested_uses(inner: str, uses: int, levels: int) -> str:
    """A drawing in which each group uses the one before it several times."""
    groups = f'<g id="g0">{inner}</g>' + "".join(
        f'<g id="g{k}">' + f'<use href="#g{k - 1}"/>' * uses + "</g>" for k in range(1, levels)
    )
    return document(f'<defs>{groups}</defs><use href="#g{levels - 1}"/>')


def test_uses_are_counted_before_they_are_expanded():
    line = '<path d="M0 0 L1 1"/>'
    assert len(parse_svg(nested_uses(line, 3, 4)).strokes) == 3**3
    with pytest.raises(brazo.BrazoError, match="more than 10,000 elements, with all <use>"):
        parse_svg(nested_uses(line, 10, 9))
    with pytest.raises(brazo.BrazoError, match="more than 60 nested elements"):
        parse_svg(nested_uses(line, 1, 40))
    with pytest.raises(brazo.BrazoError, match="500,000 characters"):
        parse_svg(nested_uses(f'<path d="M0 0{" L1 1" * 1000}"/>', 10, 4))


@pytest.mark.parametrize("style", ["a" * 90_000, "a" + " " * 90_000 + "a", "/*" * 40_000])
def test_styles_without_rules_are_read_in_linear_time(style):
    assert parse_svg(document(f'<style>{style}</style><path d="M0 0 L1 1"/>')).strokes


def test_styles_that_change_the_lines_count():
    style = "/* a */ .no, .never { display : none; fill: url(http://a) } .x{transform:scale(2)}"
    shapes = "".join(f'<path class="{c}" d="M0 0 L3 4"/>' for c in ("no", "never", "x"))
    drawing = parse_svg(document(f"<style>{style}</style>{shapes}"))
    assert len(drawing.strokes) == 1
    np.testing.assert_allclose(np.diff(drawing.bounds, axis=0), [[6 * MM, 8 * MM]])


def test_other_encodings_are_read():
    text = document('<path id="é" d="M0 0 L1 1"/>')
    for encoding in ("utf-16", "latin-1"):
        declared = f'<?xml version="1.0" encoding="{encoding}"?>{text}'
        assert parse_svg(declared.encode(encoding)).strokes
        assert parse_svg(declared).strokes  # decoded before


def test_missing_letters_are_reported():
    with pytest.raises(brazo.BrazoError, match="no letter 'é'"):
        text_drawing("café", 0.01)
    assert text_drawing("café", 0.01, "outline").strokes
    with pytest.raises(brazo.BrazoError, match="empty"):
        text_drawing("  ", 0.01)


def test_a_curve_without_velocity_at_its_end_keeps_its_shape():
    P = [(0.0, 0.0), (0.0, 0.0), (1.0, 2.0), (3.0, 0.0)]
    pieces = bezier(P)
    x = np.linspace(0.0, 1.0, 4001)
    weights = [(1 - x) ** 3, 3 * x * (1 - x) ** 2, 3 * x**2 * (1 - x), x**3]
    exact = np.transpose(weights) @ np.array(P)
    found = np.concatenate([one.at(np.linspace(0, 1, 50))[0, :, :2] for one in pieces])
    away = np.linalg.norm(found[:, None] - exact[None], axis=2).min(axis=1)
    assert away.max() < 1e-3  # spacing of the samples
    for one in pieces:
        assert np.linalg.norm(one.at(np.array([0.0, 1.0]))[1], axis=1).min() > 1e-3


def test_rounded_control_points_leave_no_corner():
    stroke = chain([*bezier([(0, 0), (1, 0), (2, 1)]), *bezier([(2, 1), (3, 2.05), (4, 2)])])
    assert len(sections(stroke)) == 1
    sharp = chain([*bezier([(0, 0), (1, 0), (2, 1)]), *bezier([(2, 1), (3, 1), (4, 2)])])
    assert len(sections(sharp)) == 2 and ALIGNED < 0.1


def test_strokes_of_points_pass_through_them():
    points = np.array([[0.0, 0.0], [0.01, 0.003], [0.02, 0.0], [0.03, 0.004], [0.03, 0.03]])
    (stroke,) = drawing_of_points([points]).strokes
    for piece, p in zip(stroke, points, strict=False):
        np.testing.assert_allclose(piece.at(np.zeros(1))[0, 0, :2], p, atol=1e-15)
    assert len(sections(stroke)) == 2  # the last point is behind a corner


def test_the_pen_is_raised_between_strokes():
    path = strokes(
        [[(0, 0), (0.02, 0)], [(0, 0.01), (0.02, 0.01)]], (0.3, 0.1, 0.2), DOWN, 6.0, lift=0.015
    )
    t = np.linspace(0.0, 6.0, 2001)
    p = path.pose(t)[:, :3, 3]
    down = np.zeros(len(t), dtype=bool)
    for start, end in path.pen_down:
        down |= (t >= start) & (t <= end)
    assert np.abs(p[down, 2] - 0.2).max() < 1e-12
    assert p[:, 2].max() == pytest.approx(0.215)
    np.testing.assert_allclose(p[[0, -1], 2], 0.215)
    drawn = np.linalg.norm(np.diff(p, axis=0), axis=1)[down[:-1] & down[1:]].sum()
    assert drawn == pytest.approx(0.04, rel=1e-2)


def test_the_pen_can_be_raised_along_the_tool():
    tilted = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])  # tool z along x
    path = text("I", 0.02, (0.3, 0, 0.2), tilted, 2.0, normal=(-1, 0, 0), retract="tool")
    np.testing.assert_allclose(path.pose(0.0)[0, 3], 0.3 - 0.01, atol=1e-12)


def test_a_drawing_moves_and_scales_with_its_pen():
    path = text("L", 0.02, (0.3, 0, 0.2), DOWN, 2.0)
    moved = path.moved((0.01, 0.02, 0.03), 0.5, (0.3, 0, 0.2))
    np.testing.assert_array_equal(moved.pen_down, path.pen_down)
    t = np.linspace(0.0, 2.0, 11)
    wanted = np.array([0.3, 0, 0.2]) + 0.5 * (path.pose(t)[:, :3, 3] - [0.3, 0, 0.2])
    np.testing.assert_allclose(moved.pose(t)[:, :3, 3], wanted + [0.01, 0.02, 0.03], atol=1e-15)


def test_an_svg_file_becomes_a_path(tmp_path):
    file = tmp_path / "a.svg"
    file.write_text(document('<circle cx="0" cy="0" r="10"/>'))
    path = svg(file, (0.3, 0, 0.2), DOWN, 4.0, width=0.05)
    p = path.pose(np.linspace(*path.pen_down[0], 200))[:, :3, 3]
    np.testing.assert_allclose(np.linalg.norm(p - [0.3, 0, 0.2], axis=1), 0.025, rtol=2e-4)
    with pytest.raises(brazo.BrazoError, match="no such file"):
        svg(tmp_path / "b.svg", (0.3, 0, 0.2), DOWN, 4.0)
