"""Metrics of a motion: tracking error, overshoot, settling time, energy and peak torque.

With the reference r(t), the position y(t) and the error e = r − y, over the rows of the motion:

    RMS error      sqrt(mean e²)
    max error      max |e|
    overshoot      distance by which y leaves the range of r, divided by that range
    settling time  from the end of the motion until |e| stays within `BAND` times that range
    energy         ∫ |τ q̇| dt, the mechanical work, with braking counted as positive
    peak torque    max |τ|

y is the position of one joint (m,) or of the tool (m, 3).  For the tool, |e| is a distance, and the
range of r is the diagonal of its bounding box.  The motion ends at the last change of any joint
reference of the robot.  If r is a step, overshoot and settling time are those of a step response.
Undefined values are NaN: the overshoot of a joint whose reference does not move, or the settling
time of a joint that does not settle before the last row.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from brazo.recording.paths import xyz
from brazo.recording.robots import RecordedRobot

BAND = 0.02  # settling band, relative to the range of the reference
AFTER = 1.0  # s; rows after the end of the motion that belong to it
CHANGED = 1e-9  # rad and m; a smaller change of a reference is rounding
MOVED = 1e-4  # rad and m; a smaller motion of a joint without a reference is noise
ALL, TOOL = "all joints", "tool"
START = "motion_start"  # key of `about`: time (s) at which the motion starts, if it is known

Array = np.ndarray


def rms(values: Array) -> Array:
    """Return the root mean square of the finite values of each column (m, …); NaN if none."""
    values = np.asarray(values, dtype=float)
    finite = np.isfinite(values)
    count = finite.sum(axis=0)
    total = np.where(finite, values, 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.sqrt((total * total).sum(axis=0) / count)


def peak(values: Array) -> Array:
    """Return the max absolute value of each column (m, …), without NaN; NaN if all are NaN."""
    values = np.abs(np.asarray(values, dtype=float))
    return np.fmax.reduce(values, axis=0, initial=np.nan)


def overshoot(y: Array, reference: Array) -> float:
    """Return the overshoot of y (m,) or (m, k), as a fraction of the range of its reference.

    If the reference leaves its start value and does not return to it, values beyond the start do
    not count: an arm that sags before it moves up does not overshoot.  NaN if the reference does
    not move.
    """
    y, r = _rows(y), _rows(reference)
    if not len(y) or not len(r) or not (span := range_of(r)) > CHANGED:
        return math.nan
    low, high = overshoot_bounds(r)
    beyond = np.maximum(np.maximum(y - high, low - y), 0.0)
    return float(peak(np.linalg.norm(beyond, axis=1)) / span)


def overshoot_bounds(reference: Array) -> tuple[Array, Array]:
    """Return the bounds low, high (k,) beyond which y overshoots its reference (m,) or (m, k).

    If the reference starts at one end of its range and never returns there, the bound at that end
    is infinite.
    """
    r = _rows(reference)
    low, high = np.fmin.reduce(r), np.fmax.reduce(r)
    near = 1e-6 * range_of(r)
    moved = np.flatnonzero((np.abs(r - r[0]) > near).any(axis=1))
    later = r[moved[0] :] if len(moved) else r
    return (
        np.where((later <= low + near).any(axis=0), low, -np.inf),
        np.where((later >= high - near).any(axis=0), high, np.inf),
    )


def settling_time(t: Array, error: Array, band: float, start: float = 0.0) -> float:
    """Return the time (s) from `start` until |error|, (m,) or (m, k), stays within `band`.

    0 if the error is always within the band, NaN if the last row is outside it.
    """
    outside = np.flatnonzero(~(np.linalg.norm(_rows(error), axis=1) <= band))
    if not len(outside):
        return 0.0
    last = int(outside[-1])
    return math.nan if last == len(t) - 1 else max(float(t[last + 1]) - start, 0.0)


def work(t: Array, torque: Array, speed: Array) -> float:
    """Return the work (J) of a drive, ∫ |τ q̇| dt, with braking counted as positive.

    The trapezoidal rule is used.  Rows that are not finite are ignored; NaN if no row is finite.
    """
    power = np.abs(torque * speed)
    known = np.isfinite(power)
    if not known.any():
        return math.nan
    return float(np.trapezoid(power[known], t[known]))


def range_of(reference: Array) -> float:
    """Return max − min of a reference (m,), or the diagonal of the bounding box of (m, k)."""
    r = _rows(reference)
    return float(np.linalg.norm(np.fmax.reduce(r) - np.fmin.reduce(r))) if len(r) else math.nan


def measured_motion(t: Array, y: Array, reference: Array, stop: float) -> dict[str, float]:
    """Return RMS error, max error, overshoot and settling time of y, (m,) or (m, k), by name.

    `stop` is the time (s) at which the reference reaches its last value.
    """
    error = _rows(reference) - _rows(y)
    size = np.linalg.norm(error, axis=1)
    span = range_of(reference)
    settled = math.nan
    if span > CHANGED:
        settled = settling_time(t, _after(t, error, stop), BAND * span, stop)
    return {
        "rms_error": float(rms(size)),
        "max_error": float(peak(size)),
        "overshoot": overshoot(y, reference),
        "settling_time": settled,
    }


@dataclass(frozen=True, slots=True)
class MotionMetrics:
    """Metrics of one joint or of the tool, or the energy of all joints; NaN where undefined."""

    robot: str
    part: str  # name of a joint, `TOOL` or `ALL`
    unit: str = ""  # of the errors: rad or m
    torque_unit: str = ""  # N m or N
    rms_error: float = math.nan
    max_error: float = math.nan
    overshoot: float = math.nan  # fraction of the range of the reference
    settling_time: float = math.nan  # s
    energy: float = math.nan  # J
    peak_torque: float = math.nan  # N m or N


def motion_span(robot: RecordedRobot) -> tuple[float, float]:
    """Return the start and end time (s) of the motion of a robot.

    The motion starts when the reference leaves its first value, and ends when the reference reaches
    its last value.  Without a moving reference, the measured positions are used instead.  If the
    robot does not move, the motion is the entire run.  If `about[START]` of the recording is a time
    before the end, it replaces the start time.
    """
    recording = robot.recording
    t = recording.t
    if not len(t):
        return 0.0, 0.0
    start, stop = _moved_span(robot)
    try:
        given = float(recording.about.get(START, "nan"))
    except ValueError:
        given = math.nan
    return (given, stop) if given <= stop else (start, stop)


def _moved_span(robot: RecordedRobot) -> tuple[float, float]:
    recording = robot.recording
    t = recording.t
    for groups, least in ((("q_ref", "ref.q"), CHANGED), (("q",), MOVED)):
        names = robot.group(*groups)
        if not names:
            continue
        values = np.column_stack([recording[name] for name in names])
        left = np.flatnonzero((np.abs(values - values[0]) > least).any(axis=1))
        if len(left):
            coming = np.flatnonzero((np.abs(values - values[-1]) > least).any(axis=1))
            return float(t[left[0] - 1]), float(t[coming[-1] + 1])
    return float(t[0]), float(t[-1])


def metrics_of(robot: RecordedRobot, after: float = AFTER) -> list[MotionMetrics]:
    """Return the metrics of a motion: first of the tool, then of each joint, then of all joints.

    The metrics of all joints contain only the energy.  The rows from the start of the motion until
    `after` seconds after its end are used.
    """
    start, stop = motion_span(robot)
    cut = robot.recording.between(start, max(start, stop + after))
    part = RecordedRobot(cut, robot.name)
    t, title = cut.t, robot.title
    found = [_tool(part, stop)]
    errors, energies = part.errors(), []
    for joint in part.joints:
        name = part.prefix(f"q.{joint}")
        unit = cut.unit(name)
        numbers = {}
        if name in errors:
            numbers = measured_motion(t, cut[name], errors[name] + cut[name], stop)
        torque, speed = part.prefix(f"torque.{joint}"), part.prefix(f"qd.{joint}")
        torque_unit = "N m" if unit == "rad" else "N"
        if torque in cut:
            torque_unit = cut.unit(torque)
            numbers["peak_torque"] = float(peak(cut[torque]))
            if speed in cut:
                numbers["energy"] = work(t, cut[torque], cut[speed])
                energies.append(numbers["energy"])
        found.append(MotionMetrics(title, joint, unit, torque_unit, **numbers))
    return [*found, MotionMetrics(title, ALL, energy=sum(energies) if energies else math.nan)]


def tool_error(robot: RecordedRobot) -> Array | None:
    """Return reference minus position of the tool (rows, 3) in m; None if not recorded."""
    if not robot.has_tool or not all(
        robot.prefix(f"tool_ref.{a}") in robot.recording for a in "xyz"
    ):
        return None
    tool, reference = robot.prefix("tool"), robot.prefix("tool_ref")
    return xyz(robot.recording, reference) - xyz(robot.recording, tool)


def _tool(robot: RecordedRobot, stop: float) -> MotionMetrics:
    error, t = tool_error(robot), robot.recording.t
    if error is None or not len(t):
        return MotionMetrics(robot.title, TOOL, "m")
    tool = xyz(robot.recording, robot.prefix("tool"))
    found = measured_motion(t, tool, error + tool, stop)
    return replace(MotionMetrics(robot.title, TOOL, "m"), **found)


def _after(t: Array, error: Array, stop: float) -> Array:
    """Return the error with 0 for all rows before the time `stop` (s).

    The settling time is then measured from `stop`.
    """
    error = error.copy()
    error[t < stop - CHANGED] = 0.0
    return error


def _rows(values: Array) -> Array:
    values = np.asarray(values, dtype=float)
    return values[:, None] if values.ndim == 1 else values
