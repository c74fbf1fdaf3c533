"""The figures of a report, picked by what was recorded, each with a sentence on how to read it.

A run without references has no tracking errors, one without contacts no forces: such figures are
left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from brazo.recording.numbers import both_hold, internal_forces
from brazo.recording.paths import moved_bodies, path_figure, xyz
from brazo.recording.plots import figure, lanes_of, span_figure, timeline_figure, torque_figure
from brazo.recording.recording import Recording
from brazo.recording.robots import RobotSignals, robots_of
from brazo.recording.timeline import merged

TOGETHER = 4  # spans shown in which two robots hold one body
FEW = 6  # events of one kind
FALLBACK = 8  # groups shown of a run whose names say nothing


@dataclass(frozen=True)
class Chapter:
    """A figure with its heading."""

    title: str
    text: str
    figure: Any  # matplotlib's


def default_figures(recording: Recording) -> list[Chapter]:
    """All figures there is data for."""
    if len(recording) < 2:
        return []
    found: list[Chapter] = []
    robots = robots_of(recording)
    if lanes_of(recording, True):
        found.append(
            Chapter(
                "What happened",
                "A bar lasts as long as what it names; a tick is a moment.",
                timeline_figure(recording),
            )
        )
    for robot in robots:
        found += _robot(robot)
    tools = [
        robot.name
        for robot in robots
        if robot.name
        and robot.has_tool
        and np.isfinite(xyz(recording, robot.prefix("tool"))).all(axis=1).any()
    ]
    if tools:
        text = "The tools in the frame of the cell; both views have one scale."
        found.append(Chapter("Tool paths", text, path_figure(recording, tools)))
    found += _forces(recording, robots)
    if distances := _starting(recording, "distance"):
        text = "Least distance between pairs; 0 is contact."
        found.append(_chapter(recording, "Distances", text, distances))
    bodies = {f"height.{b}": recording.columns[f"{b}.z"] for b in moved_bodies(recording)}
    if bodies:
        text = "Height of the middle of each body that moved."
        found.append(_chapter(_derived(recording, bodies), "Bodies", text, list(bodies)))
    if energy := _starting(recording, "energy"):
        text = "Kinetic and potential energy of all that moves."
        found.append(_chapter(recording, "Energy", text, energy))
    return found or _any(recording)


def _robot(robot: RobotSignals) -> list[Chapter]:
    recording, found = robot.recording, []
    if names := robot.group("q"):
        text = "Joint positions; limits are dashed where a joint comes near them."
        found.append(_chapter(recording, f"{robot.title}: joint motion", text, names))
    errors = robot.errors()
    if errors:
        start = len(robot.prefix("q")) + 1
        columns = {
            f"error.{name[start:]}": (values, recording.unit(name))
            for name, values in errors.items()
        }
        text = "Where each joint was asked to be, less where it was."
        derived = _derived(recording, columns)
        found.append(_chapter(derived, f"{robot.title}: tracking error", text, list(columns)))
    if names := robot.group("torque", "tau"):
        text = "What the drives gave; limits are dashed where a drive comes near them."
        drawn = torque_figure(recording, names)
        found.append(Chapter(f"{robot.title}: torques", text, drawn))
    return found


def _forces(recording: Recording, robots: Sequence[RobotSignals]) -> list[Chapter]:
    found = []
    contacts, clamps = {}, {}
    for robot in robots:
        force = robot.contact_force()
        if force is not None and np.fmax.reduce(force, initial=0.0) > 0.0:
            contacts[f"contact force.{robot.title}"] = (force, "N")
        for name in robot.group("clamp"):
            values = recording[name]
            if recording.unit(name) == "N" and np.fmax.reduce(np.abs(values), initial=0.0) > 0.0:
                clamps[f"clamp force.{robot.title}"] = (values, "N")
    if contacts:
        text = "Size of the sum of the contact forces on each robot."
        drawn = _derived(recording, contacts)
        found.append(_chapter(drawn, "Contact forces", text, list(contacts)))
    if clamps:
        text = "Force of each clamp's drive; closing is positive."
        found.append(_chapter(_derived(recording, clamps), "Clamps", text, list(clamps)))
    for pair, signals in internal_forces(recording).items():
        together = merged(both_hold(recording), gap=0.5)[:TOGETHER]
        if together and signals:
            text = (
                f"What {pair.replace('-', ' and ')} press or pull against each other through the "
                "body both hold: its size, and the part along the line between their hands."
            )
            drawn = span_figure(recording.t, signals, together)
            found.append(Chapter("Internal force", text, drawn))
    return found


def _any(recording: Recording) -> list[Chapter]:
    """What there is, group by group."""
    groups: dict[str, list[str]] = {}
    for name in recording.names:
        groups.setdefault(name.rpartition(".")[0] or name, []).append(name)
    return [
        _chapter(recording, group, "", names) for group, names in list(groups.items())[:FALLBACK]
    ]


def _chapter(recording: Recording, title: str, text: str, names: Sequence[str]) -> Chapter:
    return Chapter(title, text, figure(recording, list(names), events=_quiet(recording)))


def _quiet(recording: Recording) -> list[str]:
    """The kinds of events that go above every figure: holds, and what happened only a few times."""
    kinds = Counter(str(e.get("kind", "")) for e in recording.events)
    few = [k for k, n in kinds.items() if n <= FEW and not k.startswith("contact")]
    return ["grasped", "released", *few]


def _derived(recording: Recording, columns: dict[str, tuple[np.ndarray, str]]) -> Recording:
    """Signals computed from others, on the same time axis, with the same events."""
    time = dict(list(recording.columns.items())[:1])
    return Recording(time | columns, recording.events)


def _starting(recording: Recording, word: str) -> list[str]:
    return [name for name in recording.names if name.split(".")[0] == word]
