"""`CellChange`: comparison of two descriptions of a cell.

The result shows which robots and bodies keep their state in a running simulation.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from brazo.world.cell import Cell, CellRobot, FreeBody


class CellChange:
    """Difference between the cells `old` and `new`; `renamed` maps old names to new ones."""

    def __init__(self, old: Cell, new: Cell, renamed: Mapping[str, str]) -> None:
        #: New names by old name, of the robots and bodies that change their name.
        self.renamed = {a: b for a, b in renamed.items() if a != b}
        earlier = {b: a for a, b in self.renamed.items()}
        robots = {one.name: one for one in old.robots if one.name not in earlier}
        robots |= {b: one for one in old.robots for a, b in self.renamed.items() if one.name == a}
        #: Old names by new name, of the robots that keep their state: those with the same joints.
        self.before = {
            one.name: robots[one.name].name
            for one in new.robots
            if one.name in robots and _same_joints(one, robots[one.name])
        }
        self.kept_robots: list[CellRobot] = [one for one in new.robots if one.name in self.before]
        self.changed_robots = [one for one in self.kept_robots if one is not robots[one.name]]
        bodies = {self.renamed.get(one.name, one.name): one for one in old.bodies}
        #: Bodies that are new or were moved.
        self.placed_bodies: list[FreeBody] = [
            one
            for one in new.bodies
            if one.name not in bodies or not np.array_equal(one.pose, bodies[one.name].pose)
        ]


def _same_joints(a: CellRobot, b: CellRobot) -> bool:
    """Whether two robots have the same joint names and joint kinds, in the same order."""
    return (a.model.joint_names, a.model.joint_kinds) == (b.model.joint_names, b.model.joint_kinds)
