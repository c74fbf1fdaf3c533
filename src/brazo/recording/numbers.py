"""Key figures of a run, computed from its signals, as tables of name and value with unit.

Tracking errors are q_ref − q over all rows; RMS is the root mean square.  The path length of a
tool is the sum of the distances between successive rows.  A jump of the tool because the robot was
edited is not included.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, permutations

import numpy as np

from brazo.recording.display import measure, number
from brazo.recording.metrics import peak, rms
from brazo.recording.names import SIMULATED, last
from brazo.recording.paths import holds, xyz
from brazo.recording.recording import Recording
from brazo.recording.robots import RecordedRobot, robots_of
from brazo.recording.source import event_time
from brazo.recording.timeline import Span, lanes, overlaps

Table = dict[str, str]
EDIT_ROUNDING = 1e-9  # s


def key_numbers(recording: Recording) -> dict[str, Table]:
    """Return tables of key figures by heading: first the run, then each robot."""
    found = {"Run": _run(recording)}
    for robot in robots_of(recording):
        found[robot.title] = _robot(robot)
    return {heading: table for heading, table in found.items() if table}


def _run(recording: Recording) -> Table:
    found: Table = {}
    t = recording.t
    if len(t) < 2:
        return {"rows": str(len(t))}
    simulated = simulated_time(recording)
    found["simulated time"] = f"{simulated[-1] - simulated[0]:.6g} s"
    found["rows"] = f"{len(t):,} × {len(recording.names)} signals".replace(",", " ")
    found["sampling"] = measure_time(float(np.median(np.diff(t))))
    for name in recording.names:
        if name.startswith("distance."):
            at = int(np.nanargmin(recording[name])) if np.isfinite(recording[name]).any() else 0
            value = float(recording[name][at])
            pair = name.removeprefix("distance.").replace(".", " – ")
            found[f"min distance {pair}"] = (
                f"{measure(value, recording.unit(name))} (at {float(t[at]):.4g} s)"
            )
    found |= _internal(recording)
    if "energy.kinetic" in recording:
        found["max kinetic energy"] = measure(_peak(recording["energy.kinetic"]), "J")
    kinds = lanes(recording.events, float(t[-1]))
    contacts = [lane for lane in kinds if lane.kind == "contact"]
    if contacts:
        found["contacts"] = (
            f"{sum(c.count for c in contacts)} between {counted(len(contacts), 'pair')}"
        )
    return found


def _internal(recording: Recording) -> Table:
    """Return key figures of the internal force while two robots hold the same body."""
    found: Table = {}
    together = both_hold(recording)
    if together:
        total = sum(span.stop - span.start for span in together)
        found["dual-grasp time"] = f"{number(total, 3)} s in {counted(len(together), 'span')}"
    forces = internal_forces(recording)
    for pair, signals in forces.items():
        inside = rows_shared(recording, pair)
        if not inside.any():
            continue  # no shared body, no internal force
        for component, values in signals.items():
            chosen = values[inside]
            label = "internal force" + ("" if component == "force" else f" {component}")
            label += " while both hold"
            label += f", {pair}" if len(forces) > 1 else ""
            mean = measure(_mean(np.abs(chosen)), "N")
            found[f"max {label}"] = f"{measure(_peak(chosen), 'N')} (mean {mean})"
    return found


def internal_forces(recording: Recording) -> dict[str, dict[str, np.ndarray]]:
    """Return the internal forces (N) of each pair of robots: pair -> key -> values (rows,).

    The key "force" is the magnitude, computed from the signals `internal.R-S.x`, `.y` and `.z` of
    the pair `R-S`.  A signal `internal.R-S.along` has the key "along".
    """
    groups: dict[str, dict[str, np.ndarray]] = {}
    for name in recording.names:
        parts = name.split(".")
        if parts[0] == "internal" and recording.unit(name) == "N":
            pair = ".".join(parts[1:-1])
            groups.setdefault(pair, {})[parts[-1]] = recording[name]
    found = {}
    for pair, signals in groups.items():
        axes = [signals.pop(axis) for axis in "xyz" if axis in signals]
        size = {"force": np.linalg.norm(np.column_stack(axes), axis=1)} if axes else {}
        found[pair] = size | signals
    return found


def rows_shared(recording: Recording, pair: str) -> np.ndarray:
    """Return a mask of the rows in which both robots of a pair (`R-S`) hold the same body.

    The mask is computed from the signals `R.grasp.body` and `S.grasp.body` if recorded, otherwise
    from the events.
    """
    held = {
        name.removesuffix(".grasp.body"): recording[name]
        for name in recording.names
        if name.endswith(".grasp.body")
    }
    for first, second in permutations(held, 2):
        if f"{first}-{second}" == pair:
            return (held[first] > 0.0) & (held[first] == held[second])
    inside = np.zeros(len(recording), bool)
    for span in both_hold(recording, pair):
        inside |= (recording.t >= span.start) & (recording.t <= span.stop)
    return inside


def both_hold(recording: Recording, pair: str | None = None) -> list[Span]:
    """Return the time spans in which both robots of a pair (`R-S`) hold the same body.

    Without `pair`, the spans of all pairs of robots are returned.
    """
    found = holds(recording)
    return [
        span
        for first, second in combinations(found, 2)
        if pair in (None, f"{first}-{second}", f"{second}-{first}")
        for span in overlaps(found[first], found[second])
    ]


def _robot(robot: RecordedRobot) -> Table:
    recording, found = robot.recording, {}
    errors = robot.errors()
    for unit in ("rad", "m"):
        mine = {n: e for n, e in errors.items() if recording.unit(n) == unit}
        if mine:
            kind = "rotary" if unit == "rad" else "linear"
            found[f"RMS error, {kind}"] = _worst(mine, unit, _rms)
            found[f"max error, {kind}"] = _worst(mine, unit, _peak)
    found |= _torques(robot)
    speeds = robot.group("qd")
    for unit in ("rad/s", "m/s"):
        mine = {n: recording[n] for n in speeds if recording.unit(n) == unit}
        if mine:
            kind = "rotary" if unit == "rad/s" else "linear"
            found[f"max speed, {kind}"] = _worst(mine, unit, _peak)
    if robot.has_tool and len(recording) > 1:
        p = xyz(recording, robot.prefix("tool"))
        steps = np.linalg.norm(np.diff(p, axis=0), axis=1)
        for event in recording.events_of("edit"):
            if event.get("robot") == robot.name:
                # The geometry changed: the step to the first row after the edit is not a motion.
                at = int(np.searchsorted(recording.t, event_time(event) - EDIT_ROUNDING))
                if 0 < at <= len(steps):
                    steps[at - 1] = 0.0
        found["tool path length"] = f"{number(float(np.nansum(steps)), 3)} m"
        dt = np.diff(simulated_time(recording))
        if (dt > 0).all():
            found["max speed, tool"] = measure(_peak(steps / dt), "m/s")
    force = robot.contact_force()
    if force is not None and np.isfinite(force).any():
        found["max contact force"] = measure(_peak(force), "N")
    return found


def _torques(robot: RecordedRobot) -> Table:
    """Return the max torques, and the joint with the highest torque relative to its limit."""
    recording = robot.recording
    names = robot.torques
    found: Table = {}
    for unit in ("N m", "N"):
        mine = {n: recording[n] for n in names if recording.unit(n) == unit}
        if mine:
            kind = "torque" if unit == "N m" else "force"
            found[f"max {kind}"] = _worst(mine, unit, _peak)
    limits = recording.limits
    shares = {}
    for name in names:
        limit = max((abs(v) for v in limits.get(name, ())), default=np.inf)
        if np.isfinite(limit) and limit > 0:
            shares[last(name)] = _peak(recording[name]) / limit
    if shares:
        joint = max(shares, key=lambda j: shares[j])
        found["max drive load"] = f"{number(100 * shares[joint], 3)} % of its limit ({joint})"
    return found


def _worst(signals: dict[str, np.ndarray], unit: str, size) -> str:
    sizes = {name: size(values) for name, values in signals.items()}
    worst = max(sizes, key=lambda name: sizes[name])
    return f"{measure(sizes[worst], unit)} ({last(worst)})"


def _rms(values: np.ndarray) -> float:
    return float(np.nan_to_num(rms(values)))


def _mean(values: np.ndarray) -> float:
    values = values[np.isfinite(values)]
    return float(np.mean(values)) if len(values) else 0.0


def _peak(values: np.ndarray) -> float:
    return float(np.nan_to_num(peak(values)))


def measure_time(value: float) -> str:
    """Return a sampling period (s) as text: `every 10 ms (100 Hz)`."""
    text = f"{1e3 * value:.4g} ms" if value < 1 else f"{value:.4g} s"
    return f"every {text}" + (f" ({1 / value:.4g} Hz)" if value > 0 else "")


def simulated_time(recording: Recording) -> np.ndarray:
    """Return the simulated time (rows,) in s: the signal `simulated`, or else the time axis."""
    return recording[SIMULATED] if SIMULATED in recording.columns else recording.t


def counted(count: int, noun: str) -> str:
    """Return a count with its noun: `1 pair`, `2 pairs`."""
    return f"{count} {noun}" + ("" if count == 1 else "s")


def names_of(tables: Sequence[Table]) -> list[str]:
    """Return the row names of several tables, without duplicates, in order."""
    return list(dict.fromkeys(key for table in tables for key in table))
