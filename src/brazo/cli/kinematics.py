"""`brazo fk | ik`: forward and inverse kinematics.  Angles in degrees, or radians with `--rad`."""

from __future__ import annotations

import difflib
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import typer

from brazo import units
from brazo.cli.output import number, print_json, print_line, table
from brazo.cli.quoted_values import QuotedValuesCommand
from brazo.cli.robot_options import ARG, JSON, RAD_IN_AND_OUT, ROBOT, TIP
from brazo.cli.unit_warnings import load_robot, warn
from brazo.errors import BrazoError

_NUMBERS = {"ignore_unknown_options": True}  # -30 is a value, not an option


def register(app: typer.Typer) -> None:
    app.command("fk", context_settings=_NUMBERS)(fk)
    app.command("ik", cls=QuotedValuesCommand, context_settings=_NUMBERS)(ik)


def fk(
    robot: str = ROBOT,
    values: list[str] = typer.Argument(help="Joint values (deg, m; or 30deg, 5cm), or a pose."),
    rad: bool = RAD_IN_AND_OUT,
    frames: bool = typer.Option(False, "--frames", help="Every link frame, not only the tool."),
    tip: str = TIP,
    arg: list[str] = ARG,
    json: bool = JSON,
) -> None:
    """Forward kinematics: the pose of the tool in the base frame."""
    arm = load_robot(robot, tip, arg)
    q = joint_values(arm, values, rad)
    notes = _value_notes(arm, q, values)
    warn(notes)
    T = arm.fk(q)
    poses = {"tool": T}
    if frames:
        every = dict(zip(arm.body_names, arm.frames(q), strict=True))
        poses = every | poses
    if json:
        result = {"q": q, "T": T, **_pose_numbers(T), "warnings": notes}
        if frames:
            result["frames"] = poses
        print_json(result)
        return
    if frames:
        _print_frames(poses, rad)
    else:
        _print_pose(T, rad)


def _print_pose(T: np.ndarray, rad: bool) -> None:
    angle, digits = (1.0, 5) if rad else (180.0 / math.pi, 3)
    numbers = _pose_numbers(T)
    rows = [
        ("x y z", *(number(x, 6) for x in numbers["xyz"]), ""),
        ("O A T", *(number(angle * x, digits) for x in numbers["oat"]), ""),
        ("roll pitch yaw", *(number(angle * x, digits) for x in numbers["rpy"]), ""),
        ("quaternion w x y z", *(number(x, 6) for x in numbers["wxyz"])),
    ]
    table(f"Tool in the base frame [m, {'rad' if rad else 'deg'}]", ("", "", "", "", ""), rows)


def _print_frames(poses: dict, rad: bool) -> None:
    angle, digits = (1.0, 5) if rad else (180.0 / math.pi, 3)
    rows = []
    for name, pose in poses.items():
        numbers = _pose_numbers(pose)
        rows.append(
            (
                name,
                *(number(x, 6) for x in numbers["xyz"]),
                *(number(angle * x, digits) for x in numbers["rpy"]),
            )
        )
    columns = ("", "x", "y", "z", "roll", "pitch", "yaw")
    table(f"Frames in the base frame [m, {'rad' if rad else 'deg'}]", columns, rows)


def ik(
    robot: str = ROBOT,
    xyz: tuple[str, str, str] = typer.Option(..., help="Tool position (m, or 40cm …)."),
    rpy: tuple[str, str, str] = typer.Option(None, help="Roll, pitch, yaw."),
    oat: tuple[str, str, str] = typer.Option(None, help="Unimation angles O, A, T."),
    quat: tuple[float, float, float, float] = typer.Option(None, help="Quaternion w x y z."),
    q0: str = typer.Option(
        None, help="Initial joint values 'v1 v2 …'; the nearest solution is chosen."
    ),
    branch: str = typer.Option(None, help="A branch's name or part of it, e.g. 'LEFTY ABOVE'."),
    orientation: str = typer.Option(
        None, help="Orientation of the tool: full (default), nearest or free (position only)."
    ),
    method: str = typer.Option("auto", help="Solver: auto, closed (closed form) or numeric."),
    nearest: str = typer.Option(
        None,
        help="Five-joint arms: print the nearest configuration; 'pitch' keeps the pitch, "
        "'position' gives priority to the position. Requires --pitch.",
        metavar="pitch|position",
    ),
    pitch: str = typer.Option(None, help="With --nearest: elevation of the tool's axis."),
    roll: str = typer.Option("0", help="With --nearest: value of joint 5."),
    rad: bool = RAD_IN_AND_OUT,
    tip: str = TIP,
    arg: list[str] = ARG,
    json: bool = JSON,
) -> None:
    """Inverse kinematics: all solutions for a tool pose.

    The exit code is 1 if no solution is within the joint limits.
    """
    from brazo.kinematics import orientation as conventions

    arm = load_robot(robot, tip, arg)
    if nearest is not None or pitch is not None:
        if nearest is None or pitch is None or (rpy or oat or quat) is not None:
            raise BrazoError(
                "--nearest and --pitch must be given together, without --rpy, --oat and --quat"
            )
        position = np.array([_length(text, "--xyz") for text in xyz])
        angles = (_angle(pitch, rad, "--pitch"), _angle(roll, rad, "--roll"))
        _nearest(arm, position, angles, nearest, rad, json)
        return
    if sum(option is not None for option in (rpy, oat, quat)) > 1:
        raise BrazoError("give only one of --rpy, --oat and --quat")
    T = np.eye(4)
    T[:3, 3] = [_length(text, "--xyz") for text in xyz]
    if rpy is not None:
        T[:3, :3] = conventions.matrix_from_rpy([_angle(text, rad, "--rpy") for text in rpy])
    elif oat is not None:
        T[:3, :3] = conventions.matrix_from_oat([_angle(text, rad, "--oat") for text in oat])
    elif quat is not None:
        T[:3, :3] = conventions.matrix_from_wxyz(quat)
    elif orientation in ("full", "nearest"):
        raise BrazoError(
            f"--orientation {orientation} needs the angles of the tool or a quaternion: "
            "add --rpy, --oat or --quat"
        )
    elif orientation is None:
        orientation = "free"
    notes = _target_notes(arm, T[:3, 3], xyz)
    warn(notes)
    start = None if q0 is None else joint_values(arm, q0.replace(",", " ").split(), rad)
    options: Any = {"orientation": orientation or "full", "method": method}  # `ik` checks them
    result = arm.ik(T, q0=start, branch=branch, **options)
    free = orientation == "free"
    if json:
        print_json(
            {
                "success": result.success,
                "reason": result.reason,
                "warnings": notes,
                "q": result.q,
                "branch": result.branch,
                "method": result.method,
                "position_error": result.residual.position,
                "orientation_error": None if free else result.residual.orientation,
                "all": [
                    {"name": b.name, "q": b.q, "within_limits": b.within_limits} for b in result.all
                ],
            }
        )
    else:
        _print_solutions(arm, result, rad, free)
    if not result.success:
        raise typer.Exit(1)


def _nearest(
    arm, xyz: np.ndarray, angles: tuple[float, float], rule: Any, rad: bool, json: bool
) -> None:
    """Print the configuration of a five-joint arm that brings the tool nearest to a target.

    `xyz` (m) and `angles` (pitch and roll, rad) are the target.  `rule` is "pitch" or "position",
    see `Robot.nearest_point`.  Exits with code 1 if the target is not reached exactly.
    """
    found = arm.nearest_point(xyz, *angles, rule=rule)
    if json:
        print_json(
            {
                "reached": found.reached,
                "q": found.q,
                "distance": found.distance,
                "pitch": found.pitch,
                "xyz": arm.fk(found.q)[:3, 3],
            }
        )
    else:
        scale, unit, digits = (1.0, "rad", 5) if rad else (180.0 / math.pi, "deg", 3)
        text = "reached" if found.reached else f"not reached: nearest by the rule '{rule}'"
        print_line(
            f"{text}; {1000 * found.distance:.3f} mm away, pitch {scale * found.pitch:.3f} {unit}"
        )
        row = [number(scale * value, digits) for value in found.q]
        table(f"Joint values [{unit}]", arm.joint_names, [row])
    if not found.reached:
        raise typer.Exit(1)


def joint_values(arm, values: list[str], rad: bool) -> np.ndarray:
    """Return joint values (n,) in rad and m from the command line.

    `values` are one text per joint, or the name of a pose.  Angles without a unit are in degrees,
    or in rad if `rad` is True.
    """
    if len(values) == 1 and values[0] in arm.poses:
        return np.array(arm.poses[values[0]])
    poses = ", ".join(arm.poses) or "none"
    if len(values) == 1 < arm.n and values[0].isidentifier():
        close = difflib.get_close_matches(values[0], arm.poses, n=1)
        hint = f"did you mean '{close[0]}'? " if close else ""
        raise BrazoError(
            f"no pose named '{values[0]}'; {hint}poses: {poses}; or give {arm.n} values"
        )
    if len(values) != arm.n:
        raise BrazoError(
            f"{len(values)} joint values for {arm.n} joints ({', '.join(arm.joint_names)}); give "
            f"one value per joint, or the name of a pose: {poses}"
        )
    return np.array(
        [
            _angle(text, rad, f"joint '{name}'")
            if kind == "revolute"
            else _length(text, f"joint '{name}'")
            for text, kind, name in zip(values, arm.joint_kinds, arm.joint_names, strict=True)
        ]
    )


def _value_notes(arm, q: np.ndarray, values: list[str]) -> list[str]:
    """Return warnings about joint values outside the limits and lengths that are probably in mm.

    `q` (rad, m) are the joint values, and `values` the texts on the command line.
    """
    from brazo.formats.robot_yaml.joint_fields import outside
    from brazo.model.plausible import doubt

    notes = []
    named = len(values) != arm.n or values[0] in arm.poses  # the name of a pose has no units
    given = [""] * arm.n if named else values
    rows = zip(
        arm.joint_names, arm.joint_kinds, q.tolist(), arm.limits.tolist(), given, strict=True
    )
    for name, kind, value, (low, high), text in rows:
        plain = kind == "prismatic" and text != "" and units.parse(text).dimension is None
        if not low - 1e-9 <= value <= high + 1e-9:
            notes.append(outside(value, low, high, name, kind, plain))
        elif plain and (message := doubt(value, units.LENGTH)):
            notes.append(f"joint '{name}': {message}")
    return notes


def _target_notes(arm, position: np.ndarray, texts: Sequence[str]) -> list[str]:
    """Return a list with a warning if the target is far out of reach; empty otherwise.

    `position` (3,) is the target in m, and `texts` are its coordinates on the command line.  There
    is no warning if a coordinate has a unit.
    """
    from brazo.model.plausible import target_doubt

    if any(units.parse(text).dimension is not None for text in texts):
        return []
    message = target_doubt(position, arm.model)
    return [message] if message else []


def number_of(text: str, dimension: units.Dimension, what: str) -> float:
    """Return the SI value of a number with or without a unit; error messages start with `what`."""
    try:
        return units.quantity(text, dimension)
    except BrazoError as error:
        raise BrazoError(f"{what}: {error}") from None


def _length(text: str, what: str) -> float:
    return number_of(text, units.LENGTH, what)


def _angle(text: str, rad: bool, what: str) -> float:
    value = number_of(text, units.ANGLE, what)
    if rad or units.parse(text).dimension is not None:
        return value
    return math.radians(value)


def _pose_numbers(T: np.ndarray) -> dict:
    from brazo.kinematics import orientation as conventions

    R = T[:3, :3]
    return {
        "xyz": T[:3, 3],
        "oat": conventions.oat_from_matrix(R),
        "rpy": conventions.rpy_from_matrix(R),
        "wxyz": conventions.wxyz_from_matrix(R),
    }


def _print_solutions(arm, result, rad: bool, free: bool) -> None:
    def texts(q) -> list[str]:
        return [
            number(value, 5)
            if kind == "prismatic"
            else number(value if rad else math.degrees(value), 4 if rad else 2)
            for value, kind in zip(q, arm.joint_kinds, strict=True)
        ]

    unit = "rad" if rad else "deg"
    off = math.degrees(result.residual.orientation)
    if result.success:
        gap = f"; orientation {off:.3f}° off" if off > 1e-6 else ""
        print_line(f"reached ({result.method}{', ' + result.branch if result.branch else ''}){gap}")
    else:
        print_line(f"not reached: {result.reason}", style="yellow")
        gap = f"{1000 * result.residual.position:.3f} mm" + ("" if free else f" and {off:.3f}°")
        print_line(f"closest solution within the limits, error {gap}:")
    rows = [] if result.success else [("this one", *texts(result.q), "")]
    for solution in result.all:
        # Joint numbers, because names would not fit next to the values.
        over = " ".join(str(i + 1) for i in solution.limit_violations)
        rows.append((solution.name or "this one", *texts(solution.q), over or "none"))
    table(f"Joint values [{unit}, m]", ("branch", *arm.joint_names, "out of limits"), rows)
