"""Figures of a report, selected by the recorded signals, each with a caption.

Figures without data are omitted, such as tracking errors without references or forces without
contacts.
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
from brazo.recording.robots import RecordedRobot, robots_of
from brazo.recording.timeline import merged

TOGETHER = 4  # spans shown in which two robots hold one body
FEW = 6  # events of one kind that are marked in every figure
FALLBACK = 8  # groups shown of a run without known signal names


@dataclass(frozen=True)
class Chapter:
    """Figure with heading and caption."""

    title: str
    text: str
    figure: Any  # matplotlib's


def default_figures(recording: Recording) -> list[Chapter]:
    """Return all figures for which there is data.

    If no signal has a known name, there is one figure for each of the first `FALLBACK` groups.
    """
    if len(recording) < 2:
        return []
    found: list[Chapter] = []
    robots = robots_of(recording)
    if lanes_of(recording, True):
        found.append(
            Chapter(
                "Events",
                "Bars are intervals, ticks are instants.",
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
        text = "Tool positions in the frame of the cell; both views have the same scale."
        found.append(Chapter("Tool paths", text, path_figure(recording, tools)))
    found += _forces(recording, robots)
    if distances := _starting(recording, "distance"):
        text = "Min distance of each pair; 0 is contact."
        found.append(_chapter(recording, "Distances", text, distances))
    bodies = {f"height.{b}": recording.columns[f"{b}.z"] for b in moved_bodies(recording)}
    if bodies:
        text = "Height of the centre of each body that moved."
        found.append(_chapter(_derived(recording, bodies), "Bodies", text, list(bodies)))
    if energy := _starting(recording, "energy"):
        text = "Kinetic and potential energy of all moving bodies."
        found.append(_chapter(recording, "Energy", text, energy))
    return found or _any(recording)


def _robot(robot: RecordedRobot) -> list[Chapter]:
    recording, found = robot.recording, []
    if names := robot.group("q"):
        text = "Joint positions; limits are dashed if a joint comes close to them."
        found.append(_chapter(recording, f"{robot.title}: joint motion", text, names))
    errors = robot.errors()
    if errors:
        start = len(robot.prefix("q")) + 1
        columns = {
            f"error.{name[start:]}": (values, recording.unit(name))
            for name, values in errors.items()
        }
        text = "Reference position minus position of each joint."
        derived = _derived(recording, columns)
        found.append(_chapter(derived, f"{robot.title}: tracking error", text, list(columns)))
    if names := robot.torques:
        text = "Drive torques; limits are dashed if a drive comes close to them."
        drawn = torque_figure(recording, names)
        found.append(Chapter(f"{robot.title}: torques", text, drawn))
    return found


def _forces(recording: Recording, robots: Sequence[RecordedRobot]) -> list[Chapter]:
    found = []
    contacts, grippers = {}, {}
    for robot in robots:
        force = robot.contact_force()
        if force is not None and np.fmax.reduce(force, initial=0.0) > 0.0:
            contacts[f"contact force.{robot.title}"] = (force, "N")
        for name in robot.group("gripper", "clamp"):
            values = recording[name]
            if recording.unit(name) == "N" and np.fmax.reduce(np.abs(values), initial=0.0) > 0.0:
                grippers[f"gripper force.{robot.title}"] = (values, "N")
    if contacts:
        text = "Magnitude of the sum of the contact forces on each robot."
        drawn = _derived(recording, contacts)
        found.append(_chapter(drawn, "Contact forces", text, list(contacts)))
    if grippers:
        text = "Drive force of each gripper; positive when closing."
        found.append(_chapter(_derived(recording, grippers), "Grippers", text, list(grippers)))
    for pair, signals in internal_forces(recording).items():
        together = merged(both_hold(recording, pair), gap=0.5)[:TOGETHER]
        if together and signals:
            text = (
                f"Internal force between {pair.replace('-', ' and ')} in the body that both hold: "
                "its magnitude, and its component along the line between the tools."
            )
            drawn = span_figure(recording.t, signals, together)
            found.append(Chapter("Internal force", text, drawn))
    return found


def _any(recording: Recording) -> list[Chapter]:
    """Return one figure for each of the first `FALLBACK` groups of signals."""
    groups: dict[str, list[str]] = {}
    for name in recording.names:
        groups.setdefault(name.rpartition(".")[0] or name, []).append(name)
    return [
        _chapter(recording, group, "", names) for group, names in list(groups.items())[:FALLBACK]
    ]


def _chapter(recording: Recording, title: str, text: str, names: Sequence[str]) -> Chapter:
    return Chapter(title, text, figure(recording, list(names), events=_few(recording)))


def _few(recording: Recording) -> list[str]:
    """Return the kinds of events to mark in a figure: grasps, releases, and rare kinds.

    A kind is rare if it has at most `FEW` events; contacts are never marked.
    """
    kinds = Counter(str(e.get("kind", "")) for e in recording.events)
    few = [k for k, n in kinds.items() if n <= FEW and not k.startswith("contact")]
    return ["grasped", "released", *few]


def _derived(recording: Recording, columns: dict[str, tuple[np.ndarray, str]]) -> Recording:
    """Return a recording of computed signals, with the time axis and events of the original."""
    time = dict(list(recording.columns.items())[:1])
    return Recording(time | columns, recording.events)


def _starting(recording: Recording, group: str) -> list[str]:
    return [name for name in recording.names if name.split(".")[0] == group]
