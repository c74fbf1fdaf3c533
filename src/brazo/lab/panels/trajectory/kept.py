"""Storage of trajectory drafts in the file `trajectories.yaml` of a project.

    scara1:
      shows: points                # or curve
      space: joint                 # or tool
      interpolation: cubic
      rule: average
      orientation: full
      points:
        - {t: 0.0, point: P1}
        - {t: 1.5, q: [0.1, 0.7, 0.8, 0.05, 0.0]}
      curve: {kind: circle, plane: xy, time: 4.0, xyz: [...], rpy: [...],
              sizes: {circle.radius: 0.05}}

Units are s, m and rad.  `shows` selects what is planned: the waypoints (`points`) or the curve.
`rule` determines the velocities at the waypoints.  A waypoint is a named point of the robot, joint
values `q`, or a tool pose in the base frame (`xyz` and `rpy`).  Joint velocities `qd` and
accelerations `qdd` are optional.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np

from brazo.formats.document import Field
from brazo.kinematics.orientation import matrix_from_rpy, rpy_from_matrix
from brazo.lab.panels.trajectory.curve_section import MAX_SVG, TURNS
from brazo.lab.panels.trajectory.draft import Draft, Row
from brazo.lab.panels.trajectory.layout import SPACES, THROUGH
from brazo.lab.panels.trajectory.tool_curve import KINDS, MAX_STROKES, PLANES, ToolCurve
from brazo.operate import Points
from brazo.program.flow import flow, plain_text
from brazo.robot import Robot
from brazo.trajectory.drawing_path import RETRACTS, Retract
from brazo.trajectory.text_drawing import FONTS, MAX_TEXT
from brazo.trajectory.via_points import RULES

MOST_POINTS = 500
MOST_POSES = 5000
_CONTENTS = ("content", "font", "retract", "svg", "svg_name")  # text of a curve
_FIELDS = ("shows", "space", "interpolation", "rule", "orientation", "points", "curve")


def drafts_yaml(drafts: Mapping[str, Draft], points: Callable[[str], Points]) -> str:
    """Text of `trajectories.yaml` for `drafts` (robot name -> trajectory draft).

    `points(robot)` returns the named points of a robot.  Drafts without waypoints are omitted,
    unless their curve is selected or was edited.
    """
    lines = []
    for robot, draft in drafts.items():
        if not draft.rows and not draft.curved and draft.curve_is_fresh:
            continue
        names = {one.number: one.name for one in points(robot)}
        lines += [
            f"{plain_text(robot)}:",
            f"  shows: {'curve' if draft.curved else 'points'}",
            f"  space: {draft.space}",
            f"  interpolation: {draft.through}",
            f"  rule: {draft.rule}",
            f"  orientation: {draft.orientation}",
            "  points:" + ("" if draft.rows else " []"),
            *(f"    - {flow(_row(row, draft, names))}" for row in draft.rows),
        ]
        if draft.curved or not draft.curve_is_fresh:
            curve = draft.curve
            lines.append(f"  curve: {curve.cached('yaml', lambda one=curve: flow(_curve(one)))}")
    return "".join(f"{line}\n" for line in lines)


def read_draft(block: Field, draft: Draft, arm: Robot, points: Points) -> None:
    """Read the entry of one robot in `trajectories.yaml` into `draft`."""
    fields = block.mapping(_FIELDS)
    rows = []
    for item in fields["points"].items(MOST_POINTS) if "points" in fields else ():
        rows.append(_read_row(item, rows, arm, points))
    draft.rows = rows
    if "curve" in fields:
        draft.curve = _read_curve(fields["curve"])
    for name, key, allowed in (
        ("space", "space", SPACES),
        ("interpolation", "through", THROUGH),
        ("rule", "rule", RULES),
        ("orientation", "orientation", TURNS),
    ):
        if name in fields:
            setattr(draft, key, fields[name].choice(*allowed))
    draft.curved = "shows" in fields and fields["shows"].choice("points", "curve") == "curve"
    draft.restore(draft.state)  # new rows get numbers after these


def _row(row: Row, draft: Draft, names: Mapping[int, str]) -> dict[str, Any]:
    plain: dict[str, Any] = {"t": float(row.t)}
    if row.point in names:
        plain["point"] = names[row.point]
    elif draft.space == "joint":
        plain["q"] = row.q.tolist()
    else:
        plain |= _pose(row.T)
    rates = {"qd": row.qd, "qdd": row.qdd}
    return plain | {key: value.tolist() for key, value in rates.items() if value is not None}


def _curve(curve: ToolCurve) -> dict[str, Any]:
    plain = {"kind": curve.kind, "plane": curve.plane, "time": float(curve.time)}
    sizes = {name: float(value) for name, value in curve.sizes.items()}
    more: dict[str, Any] = {}
    fresh = ToolCurve(curve.start)
    for name in _CONTENTS:
        if getattr(curve, name) != getattr(fresh, name):
            more[name] = getattr(curve, name)
    if curve.strokes:
        more["strokes"] = [[list(p) for p in one] for one in curve.strokes]
    if curve.recorded is not None:
        t, poses = curve.recorded
        rows = [[*T[:3, 3].tolist(), *rpy_from_matrix(T[:3, :3]).tolist()] for T in poses]
        more["recorded"] = {"time": float(t[-1]), "poses": rows}
    return {**plain, **_pose(curve.start), "sizes": sizes, **more}


def _pose(T: np.ndarray) -> dict[str, Any]:
    return {"xyz": T[:3, 3].tolist(), "rpy": rpy_from_matrix(T[:3, :3]).tolist()}


def _read_row(item: Field, before: Sequence[Row], arm: Robot, points: Points) -> Row:
    number = len(before) + 1
    given = item.mapping(("t", "point", "q", "xyz", "rpy", "qd", "qdd"), required=("t",))
    t = given["t"].number()
    if "point" in given:
        name = given["point"].identifier()
        point = points.find(name)
        if point is None or point.q is None or len(point.q) != arm.n:
            given["point"].fail(f"{arm.name} has no point '{name}' with joint values")
        row = Row(number, t, np.array(point.q), arm.fk(point.q), point=point.number)
    elif "q" in given:
        q = np.array(given["q"].numbers(arm.n))
        row = Row(number, t, q, arm.fk(q))
    else:
        T = _read_pose(item, given)
        near = before[-1].q if before else None
        found = arm.ik(T, q0=near)
        row = Row(number, t, found.q if found.success else np.zeros(arm.n), T)
    row.qd = np.array(given["qd"].numbers(arm.n)) if "qd" in given else None
    row.qdd = np.array(given["qdd"].numbers(arm.n)) if "qdd" in given else None
    return row


def _read_curve(field: Field) -> ToolCurve:
    known = ("kind", "plane", "time", "xyz", "rpy", "sizes", "strokes", "recorded", *_CONTENTS)
    given = field.mapping(known, required=("kind", "plane", "time"))
    named = [f"{kind}.{name}" for kind, sizes in KINDS.items() for name in sizes]
    sizes = given["sizes"].mapping(named) if "sizes" in given else {}
    curve = ToolCurve(
        _read_pose(field, given),
        given["kind"].choice(*KINDS),
        given["plane"].choice(*PLANES),
        given["time"].number(above=0.0),
        {name: one.number() for name, one in sizes.items()},
    )
    if "content" in given:
        curve.content = given["content"].text(at_most=MAX_TEXT)
    if "font" in given:
        curve.font = given["font"].choice(*FONTS)
    if "retract" in given:
        curve.retract = cast(Retract, given["retract"].choice(*RETRACTS))
    if "svg" in given:
        curve.svg = given["svg"].text(at_most=MAX_SVG)
        curve.svg_name = given["svg_name"].text() if "svg_name" in given else "SVG"
    if "strokes" in given:
        curve.strokes = tuple(
            tuple(cast(tuple[float, float], tuple(p.numbers(2))) for p in one.items())
            for one in given["strokes"].items(MAX_STROKES)
        )
    if "recorded" in given:
        curve.recorded = _read_recorded(given["recorded"])
    return curve


def _read_recorded(field: Field) -> tuple[np.ndarray, np.ndarray]:
    given = field.mapping(("time", "poses"), required=("time", "poses"))
    rows = np.array([one.numbers(6) for one in given["poses"].items(MOST_POSES)])
    if len(rows) < 6:
        given["poses"].fail(f"{len(rows)} poses; expected at least 6")
    poses = np.tile(np.eye(4), (len(rows), 1, 1))
    poses[:, :3, 3] = rows[:, :3]
    poses[:, :3, :3] = [matrix_from_rpy(row) for row in rows[:, 3:]]
    return np.linspace(0.0, given["time"].number(above=0.0), len(rows)), poses


def _read_pose(field: Field, given: Mapping[str, Field]) -> np.ndarray:
    for name in ("xyz", "rpy"):
        if name not in given:
            field.missing(name)
    T = np.eye(4)
    T[:3, 3] = given["xyz"].numbers(3)
    T[:3, :3] = matrix_from_rpy(given["rpy"].numbers(3))
    if not np.isfinite(T).all():
        field.fail("the numbers of xyz and rpy must be finite")
    return T
