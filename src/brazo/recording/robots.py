"""Signals of each robot of a run, found by their names.

    R.q.J  R.qd.J  R.torque.J     joints of robot R      R.q_ref.J    reference positions
    R.error.J                     q_ref − q              R.tool.x …   tool in the world
    R.tool_ref.x y z              tool in the world, at the reference positions of the joints
    R.contact.x y z               sum of contact forces  R.gripper.…  gripper

R is the name of a robot, and J is the name of one of its joints.  In a run of a single robot, the
name of the robot may be missing (`q.shoulder`).
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from brazo.recording.recording import Recording


@dataclass(frozen=True)
class RecordedRobot:
    """Signals of one robot in a recording."""

    recording: Recording
    name: str  # "" in a run without robot names

    @property
    def title(self) -> str:
        """Name of the robot for headings."""
        return self.name or self.recording.about.get("robot", "robot")

    def prefix(self, group: str) -> str:
        """Return the prefix of the signal names of a group: `scara1.q`."""
        return f"{self.name}.{group}" if self.name else group

    def group(self, *groups: str) -> list[str]:
        """Return the signal names of the first group in `groups` that was recorded."""
        for group in groups:
            start = self.prefix(group) + "."
            found = [name for name in self.recording.names if name.startswith(start)]
            if found:
                return found
        return []

    @cached_property
    def torques(self) -> list[str]:
        """Names of the joint torque signals."""
        if found := self.group("torque"):
            return found
        if found := self.group("tau"):
            warnings.warn(
                f"signals named {self.prefix('tau')} are deprecated; use {self.prefix('torque')}",
                DeprecationWarning,
                stacklevel=2,
            )
        return found

    @cached_property
    def joints(self) -> list[str]:
        """Names of the joints."""
        start = len(self.prefix("q")) + 1
        return [name[start:] for name in self.group("q")]

    def errors(self) -> dict[str, np.ndarray]:
        """Return the tracking error (reference minus position) of each joint, in rad or m.

        The keys are the names of the position signals.  Joints without a recorded error or
        reference are omitted.
        """
        found = {}
        for joint in self.joints:
            q = self.prefix(f"q.{joint}")
            error = self.prefix(f"error.{joint}")
            if error in self.recording:
                found[q] = self.recording[error]
                continue
            for reference in (self.prefix(f"q_ref.{joint}"), self.prefix(f"ref.q.{joint}")):
                if reference in self.recording:
                    found[q] = self.recording[reference] - self.recording[q]
                    break
        return found

    @property
    def has_tool(self) -> bool:
        """Whether the tool path was recorded."""
        return all(self.prefix(f"tool.{axis}") in self.recording for axis in "xyz")

    def contact_force(self) -> np.ndarray | None:
        """Return the magnitude of the sum of the contact forces (N); None if not recorded."""
        names = [self.prefix(f"contact.{axis}") for axis in "xyz"]
        if not all(name in self.recording for name in names):
            return None
        return np.linalg.norm(np.column_stack([self.recording[n] for n in names]), axis=1)


def robots_of(recording: Recording) -> list[RecordedRobot]:
    """Return the robots of a run, in the order of their signals in the recording."""
    names: dict[str, None] = {}
    for signal in recording.names:
        parts = signal.split(".")
        if parts[0] == "q" and len(parts) > 1:
            names[""] = None
        elif len(parts) > 2 and parts[1] == "q":
            names[parts[0]] = None
    return [RecordedRobot(recording, name) for name in names]
