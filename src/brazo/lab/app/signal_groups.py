"""Groups of related signals, such as all joint positions or all torques of a robot."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

CELL = "Cell"
_OF_ROBOT = {
    "q": "Position",
    "qd": "Velocity",
    "qdd": "Acceleration",
    "q_ref": "Reference position",
    "qd_ref": "Reference velocity",
    "qdd_ref": "Reference acceleration",
    "error": "Tracking error",
    "tool_ref": "Reference tool position",
    "measured": "Encoders",
    "torque": "Torque",
    "current": "Motor current",
    "voltage": "Motor voltage",
    "duty": "Duty cycle",
    "external": "External torque",
    "contact": "Contact force",
    "energy": "Energy",
    "gripper": "Gripper",
    "clamp": "Gripper",  # its name in recordings of earlier versions
    "grasp": "Grasp",
}
_TURN = ("qw", "qx", "qy", "qz")
_DECIMALS = {
    "deg": 2, "deg/s": 2, "deg/s²": 1, "mm": 2, "mm/s": 1, "mm/s²": 0, "N m": 3, "N": 2, "J": 3,
    "A": 3, "V": 3,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Group:
    """Related signals with a common title; pages refer to the group by `id`."""

    id: str
    owner: str  # a robot, or `CELL`
    title: str
    signals: tuple[str, ...]


def groups_of(columns: Iterable[str], robots: Iterable[str]) -> dict[str, Group]:
    """Group signals by robot and quantity: group id -> group, in the order of the signals.

    `columns` are the names of the signals.  The first is the time and is omitted.
    """
    found: dict[str, tuple[str, str, list[str]]] = {}
    robots = tuple(robots)
    for name in list(columns)[1:]:
        for id, owner, title in _places(name, robots):
            found.setdefault(id, (owner, title, []))[2].append(name)
    return {
        id: Group(id, owner, title, tuple(names)) for id, (owner, title, names) in found.items()
    }


def _places(name: str, robots: tuple[str, ...]) -> list[tuple[str, str, str]]:
    # Names of robots and bodies may contain dots.
    robot = next((one for one in robots if name.startswith(f"{one}.")), None)
    if robot is not None:
        what, _, last = name[len(robot) + 1 :].partition(".")
        if what == "tool":
            turn = last in _TURN
            title = "Tool orientation" if turn else "Tool position"
            return [(f"{robot}.{'turn' if turn else 'tool'}", robot, title)]
        return [(f"{robot}.{what}", robot, _OF_ROBOT.get(what, what))]
    head, _, last = name.rpartition(".")
    if head == "energy":
        return [("energy", CELL, "Energy")]
    if name.startswith("distance."):
        return [("distance", CELL, "Distance between robots")]
    if name.startswith("internal."):
        return [(head, CELL, "Internal force")]
    turn = last in _TURN
    title = f"{head}: {'orientation' if turn else 'position'}"
    return [(f"{head}.{'turn' if turn else 'place'}", CELL, title)]


def is_of_robot(name: str) -> bool:
    """Whether `name` is the name of a robot signal without the robot's name, e.g. `q.elbow`."""
    head, dot, _ = name.partition(".")
    return bool(dot) and (head in _OF_ROBOT or head == "tool")


def label_of(name: str, group: Group | None, robots: Collection[str]) -> str:
    """Label of a signal in a legend.

    `group` is the group that the legend shows, or None if it shows single signals.  The label of a
    signal in a group is the last component of its name.  The label of a single signal is its whole
    name with spaces instead of dots, without the robot's name if there is only one robot.  The
    label of a distance between robots is always its name without `distance.`.
    """
    if name.startswith("distance."):
        return name.removeprefix("distance.")
    if group is not None:
        return name.rpartition(".")[2]
    if len(robots) == 1:
        name = name.removeprefix(f"{next(iter(robots))}.")
    return name.replace(".", " ")


def decimals(unit: str) -> int:
    """Number of decimals to show for a value in `unit`."""
    return _DECIMALS.get(unit, 3)
