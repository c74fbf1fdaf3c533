"""Labels of the controllers for display in the panels."""

from __future__ import annotations

import re

from brazo.control import controllers
from brazo.simulation.robot_control import IDEAL

TITLES = {
    "CartesianImpedance": "Cartesian impedance",
    "ComputedTorque": "Computed torque",
    "PDGravity": "PD with gravity",
    "SlidingMode": "Sliding mode",
    "TorqueFunctions": "Torque functions",
}


def titles(with_dynamics: bool) -> dict[str, str]:
    """Labels of the available controllers as a dict from controller name to label.

    For a robot without masses (`with_dynamics=False`), only ideal positioning is available.
    """
    found = {}
    if with_dynamics:
        found = {name: TITLES.get(name) or _spaced(name) for name in controllers()}
    return {**found, IDEAL: "Ideal positioning"}


def title_of(name: str) -> str:
    """Label of the controller with this name, which can also be `"ideal"` or `"none"`."""
    if name == "none":
        return "No controller"
    return titles(True).get(name) or TITLES.get(name, name)


def _spaced(name: str) -> str:
    """Split a class name into words: `MyController` gives `My controller`."""
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+", name)
    return " ".join([words[0], *(w if w.isupper() else w.lower() for w in words[1:])])
