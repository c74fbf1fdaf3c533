"""What a run has to say about each robot, found by the names of its signals.

    R.q.J  R.qd.J  R.torque.J     joints of robot R      R.q_ref.J    where they were asked to be
    R.error.J                     q_ref − q              R.tool.x …   tool in the world
    R.contact.x y z               sum of contact forces  R.clamp.…    its clamp

A run of a single robot may leave out the robot's name (`q.shoulder`).  Whatever is not there is
left out of figures and numbers; nothing is made up.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from brazo.recording.recording import Recording


@dataclass(frozen=True)
class RobotSignals:
    """The signals of one robot."""

    recording: Recording
    name: str  # "" in a run without names of robots

    @property
    def title(self) -> str:
        """The robot as a heading calls it."""
        return self.name or self.recording.about.get("robot", "robot")

    def prefix(self, what: str) -> str:
        """The start of the names of a group: `scara1.q`."""
        return f"{self.name}.{what}" if self.name else what

    def group(self, *whats: str) -> list[str]:
        """Names of the first of these groups that was recorded."""
        for what in whats:
            start = self.prefix(what) + "."
            found = [name for name in self.recording.names if name.startswith(start)]
            if found:
                return found
        return []

    @cached_property
    def joints(self) -> list[str]:
        """Names of the joints."""
        start = len(self.prefix("q")) + 1
        return [name[start:] for name in self.group("q")]

    def errors(self) -> dict[str, np.ndarray]:
        """Signal of each joint's position -> where it was asked to be less where it was."""
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
        """Whether the tool's way was recorded."""
        return all(self.prefix(f"tool.{axis}") in self.recording for axis in "xyz")

    def contact_force(self) -> np.ndarray | None:
        """Size of the sum of the contact forces (N), if recorded."""
        names = [self.prefix(f"contact.{axis}") for axis in "xyz"]
        if not all(name in self.recording for name in names):
            return None
        return np.linalg.norm(np.column_stack([self.recording[n] for n in names]), axis=1)


def robots_of(recording: Recording) -> list[RobotSignals]:
    """The robots of a run, in the order of its signals."""
    names: dict[str, None] = {}
    for signal in recording.names:
        words = signal.split(".")
        if words[0] == "q" and len(words) > 1:
            names[""] = None
        elif len(words) > 2 and words[1] == "q":
            names[words[0]] = None
    return [RobotSignals(recording, name) for name in names]
