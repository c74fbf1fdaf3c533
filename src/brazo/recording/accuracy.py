"""Path accuracy and repeatability of the tool over cycles, with the names of ISO 9283.

c_i are points on the commanded path at equal intervals of time.  x_ij is the point at which the
tool crosses the plane through c_i normal to the path in cycle j of n, and x̄_i is its mean over the
cycles:

    path accuracy AT_p         max_i |x̄_i − c_i|
    path repeatability RT_p    max_i (l̄_i + 3 S_i), with l_ij = |x_ij − x̄_i|, l̄_i its mean and
                               S_i its standard deviation (n − 1) over the cycles
    position overshoot OV      max distance from the last commanded position, after the tool has
                               entered the band and starts to move away again
    stabilization time t       time from the first entry into the band, on the final approach, until
                               the tool stays within the band

The band is a sphere around the last commanded position.  Let d(t) be the distance of the tool from
this position.  The final approach starts at the last time at which d exceeds half of its max.

Distances are geometric: a lag of the tool along the path does not count.  Only positions are
evaluated, not orientations.  The names are those of the standard, but the test conditions (loads,
speeds, cube, warm-up, measuring equipment) are not, so conformity with the standard is not claimed.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from brazo.errors import BrazoError
from brazo.recording.metrics import AFTER, BAND, motion_span, range_of, settling_time, tool_error
from brazo.recording.paths import xyz
from brazo.recording.recording import Recording
from brazo.recording.robots import RecordedRobot, robots_of

POINTS = 200  # of one cycle
MAX_CYCLES = 50  # that are recognised
SAME = 1e-6  # m per m of the path's range; a reference that repeats within this is a cycle

Array = np.ndarray


@dataclass(frozen=True, slots=True)
class PathAccuracy:
    """Accuracy of the tool over the cycles of a run, in SI units; NaN where undefined."""

    robot: str
    cycles: int
    path_accuracy: float  # AT_p, m
    path_repeatability: float  # RT_p, m; needs two cycles
    worst_time: float  # s, time in the first cycle at which AT_p occurs
    overshoot: float  # OV, m
    stabilization_time: float  # s; NaN if the tool does not settle
    band: float  # m, tolerance for overshoot and stabilization time

    def as_dict(self) -> dict[str, Any]:
        """Return the values by name."""
        return asdict(self)


def path_accuracy(
    recording: Recording,
    cycles: int | None = None,
    *,
    robot: str | None = None,
    band: float | None = None,
    after: float = AFTER,
) -> PathAccuracy:
    """Return the accuracy of a robot's tool over the cycles of its motion.

    Parameters
    ----------
    recording : recording with the signals `R.tool` and `R.tool_ref` of robot R, as recorded by
        simulations.
    cycles : number of equally long cycles of the motion; by default detected from the reference.
    robot : name of the robot; default: the first one.
    band : radius (m) of the band for overshoot and stabilization time; default: 2 % of the
        diagonal of the bounding box of the commanded path.
    after : the evaluation ends this time (s) after the end of the motion.
    """
    chosen = robot_of(recording, robot)
    start, stop = motion_span(chosen)
    part = RecordedRobot(recording.between(start, max(start, stop + after)), chosen.name)
    error = tool_error(part)
    if error is None:
        raise BrazoError(
            f"robot '{chosen.title}': path accuracy needs the signals 'tool' and 'tool_ref', which "
            "are not in this recording"
        )
    t, tool = part.recording.t, xyz(part.recording, part.prefix("tool"))
    known = np.isfinite(error).all(axis=1)
    t, tool, reference = t[known], tool[known], (error + tool)[known]
    moving = t <= stop + 1e-9
    if moving.sum() < 3 or not range_of(reference[moving]) > 0.0:
        raise BrazoError(f"robot '{chosen.title}': the reference does not move in this recording")
    if cycles is not None and cycles < 1:
        raise BrazoError(f"cycles = {cycles}; it must be at least 1")
    n = cycles or _cycles(t[moving], reference[moving])
    accuracy, repeatability, worst = _along(t, tool, reference, start, stop, n)
    if band is None:
        band = BAND * range_of(reference[moving])
    elif not band > 0.0:
        raise BrazoError(f"band = {band:g} m; it must be greater than 0")
    over, settled = _at_end(t, tool, reference[-1], band)
    return PathAccuracy(chosen.title, n, accuracy, repeatability, worst, over, settled, band)


def robot_of(recording: Recording, name: str | None) -> RecordedRobot:
    """Return the robot of a recording with this name; the first robot if `name` is None."""
    robots = robots_of(recording)
    if not robots:
        raise BrazoError("this recording has no robot: no signals named q.JOINT or ROBOT.q.JOINT")
    for one in robots:
        if name in (None, one.name, one.title):
            return one
    known = ", ".join(one.title for one in robots)
    raise BrazoError(f"no robot named '{name}' in this recording; robots: {known}")


def _cycles(t: Array, reference: Array) -> int:
    """Return the number of equally long cycles in which the reference repeats.

    If several numbers are possible, the largest up to `MAX_CYCLES` is returned.  Returns 1 if the
    reference does not repeat.
    """
    near = SAME * range_of(reference)
    span = t[-1] - t[0]
    for n in range(MAX_CYCLES, 1, -1):
        phase = np.linspace(0.0, span / n, 50)
        first = _at(t, reference, t[0] + phase)
        if not range_of(first) > 10.0 * near:
            continue
        rest = (_at(t, reference, t[0] + k * span / n + phase) for k in range(1, n))
        # Between two rows the interpolated reference differs from the true one.
        if all(np.abs(one - first).max() <= near + _between_rows(t, reference) for one in rest):
            return n
    return 1


def _between_rows(t: Array, reference: Array) -> float:
    """Return a bound (m) on the error of linear interpolation between rows of the reference.

    The bound is a quarter of the largest second difference.
    """
    if len(t) < 3:
        return 0.0
    return 0.25 * float(np.abs(np.diff(reference, 2, axis=0)).max())


def _along(
    t: Array, tool: Array, reference: Array, start: float, stop: float, n: int
) -> tuple[float, float, float]:
    """Return path accuracy (m), repeatability (m), and the time (s) of the largest deviation.

    `start` and `stop` (s) are the start and end of the motion, which has n cycles.  The time of the
    largest deviation is that of the commanded point in the first cycle.
    """
    length = (stop - start) / n
    phase = length * (np.arange(POINTS) + 0.5) / POINTS
    h = min(0.25 * length / POINTS, 1e-3)
    commanded = _at(t, reference, start + phase)
    tangent = _at(t, reference, start + phase + h) - _at(t, reference, start + phase - h)
    speed = np.linalg.norm(tangent, axis=1)
    used = np.flatnonzero(speed > 1e-9 * max(float(speed.max()), 1e-300))
    crossed = np.full((n, len(used), 3), np.nan)
    for j in range(n):
        for k, i in enumerate(used):
            moment = start + j * length + phase[i]
            normal = tangent[i] / speed[i]
            crossed[j, k] = _crossing(t, tool, commanded[i], normal, moment, 0.25 * length)
    known = np.isfinite(crossed).all(axis=(0, 2))
    if not known.any():
        return math.nan, math.nan, math.nan
    crossed, used = crossed[:, known], used[known]
    mean = crossed.mean(axis=0)
    away = np.linalg.norm(mean - commanded[used], axis=1)
    worst = int(np.argmax(away))
    repeatability = math.nan
    if n > 1:
        spread = np.linalg.norm(crossed - mean, axis=2)
        repeatability = float((spread.mean(axis=0) + 3.0 * spread.std(axis=0, ddof=1)).max())
    return float(away[worst]), repeatability, float(start + phase[used[worst]])


def _crossing(
    t: Array, tool: Array, point: Array, normal: Array, moment: float, window: float
) -> Array:
    """Return the point (3,) at which the tool crosses the plane through `point` with `normal`.

    Only crossings in the direction of `normal` count.  Of several, the one nearest to the time
    `moment` (s) is used.  Returns NaN if there is none within `window` (s) of this time.
    """
    low, high = np.searchsorted(t, [moment - window, moment + window])
    beyond = (tool[low:high] - point) @ normal
    change = np.flatnonzero((beyond[:-1] <= 0.0) & (beyond[1:] > 0.0))
    if not len(change):
        return np.full(3, np.nan)
    k = int(change[np.argmin(np.abs(t[low + change] - moment))])
    share = beyond[k] / (beyond[k] - beyond[k + 1])
    return tool[low + k] + share * (tool[low + k + 1] - tool[low + k])


def _at_end(t: Array, tool: Array, last: Array, band: float) -> tuple[float, float]:
    """Return position overshoot (m) and stabilization time (s) at the last commanded position.

    Both are NaN if the tool does not enter the band.
    """
    away = np.linalg.norm(tool - last, axis=1)
    # The last time the tool comes from outside the band's surroundings: a cycle may pass the end.
    outside = np.flatnonzero(away > 0.5 * away.max())
    begin = int(outside[-1]) if len(outside) else 0
    inside = np.flatnonzero(away[begin:] <= band)
    if not len(inside):
        return math.nan, math.nan
    first = begin + int(inside[0])
    settled = settling_time(t[first:], away[first:], band, float(t[first]))
    rising = np.flatnonzero(np.diff(away[first:]) > 0.0)  # past the first approach
    over = float(away[first + int(rising[0]) :].max()) if len(rising) else 0.0
    return over, settled


def _at(t: Array, values: Array, times: Array) -> Array:
    return np.stack([np.interp(times, t, column) for column in values.T], axis=-1)
