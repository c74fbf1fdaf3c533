"""Report page of a teleoperation session, from the recordings of both sides.

The clock of the follower is the common time axis.  The recording of the master contains times by
its own clock and, in every row, the estimated clock offset to the follower.  The median of these
offsets converts the times of the master.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from brazo.errors import BrazoError
from brazo.recording.drawable import drawable
from brazo.recording.figures import Chapter
from brazo.recording.numbers import counted
from brazo.recording.plots import figure
from brazo.recording.recording import Recording
from brazo.recording.report import write_report
from brazo.teleop.follow.safety import SafetyState

Array = np.ndarray
GRID = 0.005  # s, resolution of the delay between master and tool
LONGEST_LAG = 1.0  # s
FELT = ("felt.x", "felt.y", "felt.z")
LEAST_FORCE = 0.1  # N, threshold of a contact


def session_report(
    follower: str | Path, path: str | Path, master: str | Path | None = None
) -> dict[str, str]:
    """Write the report page of a session to `path` and return its key figures.

    `follower` and `master` are the recording files; `master` is optional.
    """
    followed = _station(follower, "follower")
    columns = dict(followed.columns)
    numbers = follower_numbers(followed)
    if master is not None:
        hand = _station(master, "master")
        columns |= together(followed, hand)
        numbers |= master_numbers(Recording(columns, followed.events, followed.about), hand)
    whole = Recording(columns, followed.events, followed.about)
    holds = [event for event in followed.events if "→ HOLD" in str(event.get("text", ""))]
    figures = {
        "Tool position and its target": ["tool.*", "target.*"],
        "Age of the newest command, latency": ["age", "latency"],
        "State": ["state"],
        "Fraction of full speed": ["share"],
        "Joints": ["q.*", "reference.*"],
    }
    if "max contact force" in numbers:
        figures["Contact force"] = ["force.*"]
    if "felt force / contact force" in numbers:
        figures["Force felt at the hand"] = ["felt.*"]
    if master is not None:
        figures = {"The master's handle": ["handle.*"], **figures}
    verdict = f"{counted(len(holds), 'time')} in HOLD" if holds else "followed without a HOLD"
    states = [state.name for state in SafetyState]
    write_report(
        whole,
        path,
        f"Teleoperation of {followed.about.get('robot', 'a robot')}",
        verdict=verdict,
        success=not holds,
        numbers={"Session": numbers},
        figures=[
            Chapter(title, "", figure(whole, names, states=states if names == ["state"] else ()))
            for title, names in figures.items()
        ],
    )
    return numbers


def _station(path: str | Path, station: str) -> Recording:
    """Read the recording of a station (`master` or `follower`); raise an error for other files."""
    found = Recording.open(path)
    if found.about.get("station") != station:
        raise BrazoError(f"{path}: not the recording of a {station} station")
    if not len(found):
        raise BrazoError(f"{path}: no rows were recorded; use the recording of another session")
    return drawable(found)[0]


def _clock_start(recording: Recording, station: str) -> float:
    text = recording.about.get("clock_start", "")
    try:
        start = float(text)
    except ValueError:
        start = math.nan
    if not math.isfinite(start):
        raise BrazoError(f"recording of the {station}: clock_start is '{text}'; expected a number")
    return start


def together(followed: Recording, hand: Recording) -> dict[str, tuple[Array, str]]:
    """Return the signals of the master at the times of the follower's recording.

    `followed` is the recording of the follower, and `hand` that of the master.  The result maps the
    name of each signal to its values and unit.  Values are nan where the master was not recording.
    """
    start = _clock_start(hand, "master") - _clock_start(followed, "follower")
    offsets = hand["offset"][np.isfinite(hand["offset"])]
    if not len(offsets):
        raise BrazoError(
            "the master's recording contains no clock offset: the master was never connected; "
            "record a session with a connection"
        )
    t = hand.t + start + float(np.median(offsets))
    at = np.searchsorted(t, followed.t, side="right") - 1
    there = (at >= 0) & (followed.t <= t[-1] + 0.1)
    found = {}
    for name in ("handle.x", "handle.y", "handle.z", "run", "clutch", *FELT):
        if name not in hand.columns:  # not in older recordings
            continue
        values, unit = hand.columns[name]
        found[name] = (np.where(there, values[np.maximum(at, 0)], np.nan), unit)
    return found


def follower_numbers(followed: Recording) -> dict[str, str]:
    """Return the key figures of the follower's recording: name -> text."""
    state, age, latency = followed["state"], followed["age"], followed["latency"]
    t = followed.t
    following = np.isin(state, (SafetyState.ENGAGED, SafetyState.DEGRADED))
    dt = np.diff(t, prepend=t[0])
    error = np.linalg.norm(followed.matrix("tool.*") - followed.matrix("target.*"), axis=1)
    holds = np.flatnonzero((state[1:] == SafetyState.HOLD) & following[:-1]) + 1
    found = {
        "recorded": f"{followed.duration:.1f} s",
        "following": f"{float(dt[following].sum()):.1f} s",
        "at reduced speed": f"{float(dt[state == SafetyState.DEGRADED].sum()):.2f} s",
        "holds": str(len(holds)),
        "commands used": _acted(followed),
    }
    if following.any():
        found |= {
            "age of commands": _spread(age[following]),
            "one-way latency": _spread(latency[following]),
            "max tool tracking error": f"{1e3 * _largest(error[following]):.2f} mm",
        }
    if "force.x" in followed.columns and (force := _length(followed, "force.*")).any():
        found["max contact force"] = f"{_largest(force):.2f} N"
    # When the link is lost, the follower also forgets the commands.  The age of the last valid one
    # is then that of the previous row plus the time since.
    waits = np.where(np.isfinite(age[holds]), age[holds], age[holds - 1] + dt[holds])
    if np.isfinite(waits).any():
        worst = 1e3 * float(np.nanmax(waits))
        found["max time from the last valid command to HOLD"] = f"{worst:.0f} ms"
    return found


def _acted(followed: Recording) -> str:
    if "acted" not in followed:  # older recordings: count the commands seen in its rows
        return str(len(np.unique(followed["seq"][followed["seq"] > 0])))
    acted, accepted = (int(_largest(followed[name])) for name in ("acted", "accepted"))
    return (
        f"{acted} of {accepted} accepted (only while following, and only the newest in each step "
        "of the robot)"
    )


def master_numbers(both: Recording, hand: Recording) -> dict[str, str]:
    """Return the key figures that need the master's recording (`hand`): name -> text.

    `both` contains the signals of follower and master.
    """
    trips = hand["round_trip"][np.isfinite(hand["round_trip"])]
    found = {"commands sent": str(len(hand))}
    if len(trips):
        found["min round trip"] = f"{1e3 * float(trips.min()):.2f} ms"
    if (share := fidelity(both)) is not None:
        found["felt force / contact force"] = f"{100.0 * share:.0f} %"
    lag = delay(both)
    if math.isfinite(lag):
        found["lag of the tool"] = f"{1e3 * lag:.0f} ms"
    return found


def fidelity(both: Recording) -> float | None:
    """Return the ratio of the force felt by the operator to the contact force.

    This is the ratio of the medians while both forces act.  With a mapping scale k the expected
    ratio is 1/k.  `both` contains the signals of follower and master.  Return None if both forces
    act in fewer than 10 rows, or were not recorded.
    """
    if not {"force.x", *FELT} <= set(both.columns):
        return None
    felt, met = _length(both, "felt.*"), _length(both, "force.*")
    touching = np.isfinite(felt) & (felt > 0.0) & (met > LEAST_FORCE)
    if touching.sum() < 10:
        return None
    return float(np.median(felt[touching]) / np.median(met[touching]))


def delay(both: Recording) -> float:
    """Return the lag (s) of the tool behind the handle that maximises the correlation of speeds.

    `both` contains the signals of follower and master.  Return nan if there was contact (which
    changes the motion of the tool), if there are too few samples, or if tool or handle is at rest.
    """
    following = np.isin(both["state"], (SafetyState.ENGAGED, SafetyState.DEGRADED)) & (
        both["clutch"] == 0.0
    )
    if "force.x" in both.columns and (_length(both, "force.*")[following] > LEAST_FORCE).any():
        return math.nan
    if following.sum() < 100:
        return math.nan
    t = np.arange(both.t[0], both.t[-1], GRID)
    speeds = []
    for name in ("handle", "tool"):
        x = np.column_stack(
            [np.interp(t, both.t, np.nan_to_num(both[f"{name}.{axis}"])) for axis in "xyz"]
        )
        speeds.append(np.linalg.norm(np.gradient(x, GRID, axis=0), axis=1))
    on = np.interp(t, both.t, following.astype(float)) > 0.99
    hand, tool = (np.where(on, speed, 0.0) for speed in speeds)
    if not (hand.any() and tool.any()):
        return math.nan
    shifts = np.arange(int(LONGEST_LAG / GRID))
    fit = [float(hand[: len(hand) - k] @ tool[k:]) for k in shifts if len(hand) > k]
    return GRID * int(np.argmax(fit))


def _length(recording: Recording, names: str) -> Array:
    return np.linalg.norm(recording.matrix(names), axis=1)


def _largest(values: Array) -> float:
    return float(np.fmax.reduce(values, initial=0.0))


def _spread(values: Array) -> str:
    values = 1e3 * values[np.isfinite(values)]
    if not len(values):
        return "unknown"
    half, most = np.percentile(values, [50, 99])
    return f"median {half:.2f} ms, 99 % below {most:.2f} ms"
