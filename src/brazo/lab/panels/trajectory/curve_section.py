"""Curve controls of the trajectory panel.

A curve is a text, an SVG file, a drawing, a recorded motion, or a geometric figure such as a
circle.  A curve that the arm cannot follow can be shifted or scaled to the nearest feasible
placement.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from brazo.errors import BrazoError
from brazo.lab.app.panel import Values
from brazo.lab.panels.common.html import (
    button,
    buttons,
    fixed,
    note,
    number,
    row,
    segments,
    select,
    text,
    upload,
)
from brazo.lab.panels.trajectory.camera_section import CameraSection
from brazo.lab.panels.trajectory.tool_curve import (
    DRAWINGS,
    KINDS,
    MAX_STROKE_POINTS,
    MAX_STROKES,
    PLANES,
    TITLES,
    ToolCurve,
)
from brazo.recording import Recording
from brazo.trajectory import Placement, nearest_placement, parse_svg, recorded_path
from brazo.trajectory.drawing_path import RETRACTS
from brazo.trajectory.placement import By
from brazo.trajectory.recorded import DT
from brazo.trajectory.text_drawing import FONTS, text_drawing

if TYPE_CHECKING:
    from brazo.lab.app.jobs import Job
    from brazo.lab.panels.trajectory.panel import TrajectoryPanel
    from brazo.lab.server.transfers import Upload
    from brazo.trajectory import Drawing

TURNS = {"full": "fixed", "nearest": "closest feasible", "free": "free"}
FONT_TITLES = {"single-stroke": "Single stroke", "script": "Script", "outline": "Outline"}
RETRACT_TITLES = {"tool": "Tool axis", "normal": "Plane normal"}
MAX_SVG = 1 << 20  # bytes
MOST_RECORDED = 60.0  # s of a recording
LISTED = 30  # recordings


class CurveSection:
    """Controls that edit the selected robot's curve.  Use on the lab's thread only."""

    def __init__(self, panel: TrajectoryPanel) -> None:
        self._panel = panel
        self._placing: Job | None = None  # the last search for a placement
        self._camera = CameraSection(panel)
        panel.on("curve", self._set_kind, str)
        panel.on("plane", self._set_plane, str)
        panel.on("here", self._begin_here)
        panel.on_number("time", self._set_time, unit="s")
        panel.on("content", self._set_content, str)
        panel.on("font", self._set_font, str)
        panel.on("retract", self._set_retract, str)
        panel.on("stroke", self._add_stroke, list)
        panel.on("stroke-undo", self._remove_stroke)
        panel.on("stroke-clear", self._clear_strokes)
        panel.on("recording", self._take_recording, str)
        panel.on("shift", lambda: self._place("shift"))
        panel.on("scale", lambda: self._place("scale"))
        panel.on_upload("svg", self._load_svg, ".svg", most=MAX_SVG)
        for kind, sizes in KINDS.items():
            for name, size in sizes.items():
                panel.on_number(
                    f"size/{kind}/{name}",
                    functools.partial(self._set_size, kind, name),
                    unit=size.unit,
                )

    @property
    def _curve(self) -> ToolCurve:
        return self._panel.draft.curve

    # ---- display ---------------------------------------------------------------------------

    def html(self) -> str:
        """HTML of the controls for the selected robot's curve."""
        curve = self._curve
        fields = [
            row(
                size.title,
                number(
                    f"size/{curve.kind}/{name}",
                    "" if size.unit == "number" else size.unit,
                    label=size.title,
                    digits=2,
                ),
            )
            for name, size in KINDS[curve.kind].items()
        ]
        drawn, recorded = curve.kind in DRAWINGS, curve.kind == "recorded"
        plane = row("Plane", segments("plane", {p: p.upper() for p in PLANES}, label="Plane"))
        place = row("Centre" if drawn else "Start point", text("begin", "mm"))
        here = "Centre at current pose" if drawn else "Start at current pose"
        moves = (
            "Moves the centre of the curve to the current tool position"
            if drawn
            else "Moves the start point of the curve to the current tool position"
        )
        return (
            row("Curve", select("curve", TITLES, label="Curve"))
            + self._contents(curve)
            + ("" if recorded else plane)
            + "".join(fields)
            + (
                row("Retract along", segments("retract", RETRACT_TITLES, label="Retract along"))
                if drawn
                else ""
            )
            + row("Time", number("time", "s", label="Time", digits=2))
            + row("Orientation", select("orientation", TURNS, label="Orientation"))
            + ("" if recorded else place)
            + buttons(
                "" if recorded else button(here, "here", title=moves),
                button("Convert to waypoints", "as-points", title="Makes the points editable"),
            )
        )

    def _contents(self, curve: ToolCurve) -> str:
        if curve.kind == "text":
            return row(
                "Text", '<brazo-entry name="content" event="content" label="Text"></brazo-entry>'
            ) + row("Font", segments("font", FONT_TITLES, label="Font"))
        if curve.kind == "svg":
            return row("File", text("svg-name", wide=True)) + buttons(
                upload("Load SVG…", "svg", ".svg")
            )
        if curve.kind == "drawing":
            pad = '<brazo-pad name="strokes" event="stroke" label="Drawing pad"></brazo-pad>'
            return pad + self._camera.html()
        if curve.kind == "recorded":
            return row(
                "Recording",
                select(
                    "",
                    label="Recording",
                    event="recording",
                    placeholder="Choose a recording…",
                    options_from="recordings",
                ),
            ) + note("Tool path of this robot in a recording, from its first to its last motion.")
        return ""

    def values(self) -> Values:
        """Page values of the selected robot's curve."""
        curve = self._curve
        found: Values = {
            "curve": curve.kind,
            "plane": curve.plane,
            "time": curve.time,
            "content": curve.content,
            "font": curve.font,
            "retract": curve.retract,
            "svg-name": curve.svg_name or "none",
            "begin": ", ".join(fixed(1e3 * v, 1) for v in curve.start[:3, 3]),
        }
        for name, size in KINDS[curve.kind].items():
            scale = 1e3 if size.unit == "mm" else 1.0
            found[f"size/{curve.kind}/{name}"] = scale * curve.size(name)
        if curve.kind == "drawing":
            found["strokes"] = {
                "lines": [[list(p) for p in one] for one in curve.strokes],
                "width": 1e3 * curve.size("width"),
            }
        if curve.kind == "recorded":
            found["recordings"] = self._recordings()
        return found

    def _recordings(self) -> list[list[str]]:
        runs = self._panel.context.runs.list()
        return [[one.name, one.title] for one in runs[:LISTED] if not one.problem]

    # ---- user actions ----------------------------------------------------------------------

    def _set_kind(self, kind: str) -> None:
        if kind in KINDS:
            self._curve.kind = kind
            self._panel.edited(f"curve {kind}", html=True)

    def _set_plane(self, plane: str) -> None:
        if plane in PLANES:
            self._curve.plane = plane
            self._panel.edited("plane of curve")

    def _set_size(self, kind: str, name: str, value: float) -> None:
        self._curve.sizes[f"{kind}.{name}"] = value
        self._panel.edited(f"{name} of {kind}", key=f"size/{kind}/{name}")

    def _set_time(self, value: float) -> None:
        if not 0.05 <= value <= 3600.0:
            raise BrazoError(f"time {value:g} s: must be 0.05 to 3600 s")
        self._curve.time = value
        self._panel.edited("time of curve")

    def _begin_here(self) -> None:
        robot = self._panel.robot
        self._curve.start = robot.arm.fk(robot.reference.q)
        self._panel.edited("start of curve")

    def _set_content(self, content: str) -> None:
        text_drawing(content, 0.01, self._curve.font)  # raises for what cannot be drawn
        self._curve.content = content
        self._panel.edited("text")

    def _set_font(self, font: str) -> None:
        if font in FONTS:
            self._curve.font = font
            self._panel.edited("font")

    def _set_retract(self, retract: str) -> None:
        for allowed in RETRACTS:
            if retract == allowed:
                self._curve.retract = allowed
                self._panel.edited("retraction of the pen")

    def _load_svg(self, given: Upload) -> None:
        panel, draft, content = self._panel, self._panel.draft, given.text()

        def done(_: Drawing) -> None:
            panel.context.post(lambda: panel.context.jobs.cancel(job.number))
            if self._panel.draft is not draft:
                return  # another robot is selected
            curve = draft.curve
            curve.kind, curve.svg, curve.svg_name = "svg", content, given.name
            panel.edited(f"load {given.name}", html=True)

        job = panel.context.jobs.start(
            f"Read {given.name}", lambda _: parse_svg(content, given.name), done
        )

    def _add_stroke(self, points: list[Any]) -> None:
        curve = self._curve
        if len(curve.strokes) >= MAX_STROKES:
            raise BrazoError(f"at most {MAX_STROKES} strokes: remove some first")
        try:
            stroke = np.array(points, dtype=float).reshape(-1, 2)
        except (TypeError, ValueError):
            return  # not from the pad
        if not np.isfinite(stroke).all() or not 2 <= len(stroke) <= MAX_STROKE_POINTS:
            return
        kept = simplified(np.clip(stroke, -0.5, 0.5))
        if len(kept) > 1:
            curve.strokes = (*curve.strokes, tuple((float(x), float(y)) for x, y in kept))
            self._panel.edited("draw a stroke")

    def _remove_stroke(self) -> None:
        if self._curve.strokes:
            self._curve.strokes = self._curve.strokes[:-1]
            self._panel.edited("remove the last stroke")

    def _clear_strokes(self) -> None:
        if self._curve.strokes:
            self._curve.strokes = ()
            self._panel.edited("clear the drawing")

    def _take_recording(self, name: str) -> None:
        run = next((one for one in self._panel.context.runs.list() if one.name == name), None)
        if run is None:
            raise BrazoError("this recording no longer exists")
        robot, curve = self._panel.robot, self._curve
        found = recorded_path(
            Recording.open(run.path, salvage=True), robot.arm, robot.name, end=MOST_RECORDED
        )
        t = np.linspace(0.0, found.duration, round(found.duration / DT) + 1)
        curve.recorded, curve.time = (t, found.pose(t)), found.duration
        self._panel.edited(f"take {run.title}")

    # ---- placement -------------------------------------------------------------------------

    def _place(self, by: By) -> None:
        """Search for the nearest feasible placement in the background, then place the curve there.

        `by` is "shift" to translate the curve, or "scale" to shrink it.
        """
        if self._placing is not None and self._placing.state == "running":
            raise BrazoError("a feasible placement is being searched for: wait, or cancel the job")
        panel, draft = self._panel, self._panel.draft
        robot, revision = panel.robot, draft.revision
        arm, q0, path, how = robot.arm, robot.reference.q, draft.curve.path(), draft.orientation

        def done(found: Placement) -> None:
            panel.context.post(lambda: panel.context.jobs.cancel(job.number))
            if panel.robot is not robot or panel.draft is not draft or draft.revision != revision:
                panel.say("the curve was not moved, because it was edited meanwhile")
                return
            draft.curve.place(found.shift, found.scale, found.about)
            if by == "shift":
                x, y, z = 1e3 * found.shift
                panel.say(f"curve shifted by {x:.1f}, {y:.1f}, {z:.1f} mm")
            else:
                panel.say(f"curve scaled to {100 * found.scale:.0f} %")
            panel.edited("move curve to the nearest feasible placement")

        self._placing = job = panel.context.jobs.start(
            "Find a feasible placement",
            lambda _: nearest_placement(arm, path, q0, orientation=how, by=by, tolerance=1e-6),
            done,
        )


def simplified(points: np.ndarray, tolerance: float = 1.5e-3) -> np.ndarray:
    """Simplify a polyline of points (k, 2) with the Douglas-Peucker algorithm.

    A removed point is at most `tolerance` away from the straight segment between the kept points
    before and after it.
    """
    keep = np.zeros(len(points), dtype=bool)
    keep[[0, -1]] = True
    parts = [(0, len(points) - 1)]
    while parts:
        a, b = parts.pop()
        if b - a < 2:
            continue
        chord, rest = points[b] - points[a], points[a + 1 : b] - points[a]
        square = float(chord @ chord)
        share = np.clip(rest @ chord / square, 0.0, 1.0) if square > 0.0 else np.zeros(len(rest))
        away = np.linalg.norm(rest - share[:, None] * chord, axis=1)
        k = int(np.argmax(away))
        if away[k] > tolerance:
            keep[a + 1 + k] = True
            parts += [(a, a + 1 + k), (a + 1 + k, b)]
    return points[keep]
