"""Selection of the link that carries the tool of an imported robot, unless the user names it.

URDF and MJCF have no field for this link.  `choose_tip` decides by structure and by names:

1. Joints that move a finger of a gripper are excluded.  A joint moves a finger if one of these
   rules applies:
   * No moving joint follows the joint, and on its parent body one joint mimics another.
   * A word in the name of the joint or its child link indicates a finger (`finger`, `jaw`,
     `gripper` …), and this rule also applies to all moving joints after the joint.
   * The parent body of the joint is a palm: a body with two or more branches, of which the longest
     two are equally long and shorter than the arm before the palm.
   The last two rules require an arm of at least two joints before the finger.  They are not used if
   they would exclude every moving joint.
2. Of the remaining links, those with the most moving joints before them are considered.  Candidates
   are the ends of chains and the links with the name of a tool frame (`tcp` … `pinch`).
3. Among the candidates, the name decides (`tcp` before `tool` before `ee` …).  If two names have
   the same rank, the end of a chain is chosen before other links, and a link of the robot before an
   MJCF site.  If this does not decide, the first link in depth-first order is chosen.
4. If the selected link does not have the name of a tool frame, but a link at most two joints before
   it has such a name, that link is selected instead.

The result is deterministic.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from brazo.model.description import TipChoice

if TYPE_CHECKING:
    from brazo.formats.assembly import Connection, FileLink

# Most likely first.  Those up to `pinch` name a tool frame wherever they occur.
_TOOL_WORDS = (
    "tcp", "tool", "ee", "eef", "effector", "endeffector", "gripperframe", "grasp", "grasping",
    "pinch", "flange", "attachment", "hand", "gripper", "palm",
)  # fmt: skip
_FRAMES = _TOOL_WORDS.index("pinch")
_DEVICES = frozenset(
    [
        "camera",
        "cam",
        "optical",
        "imu",
        "sensor",
        "light",
        "laser",
        "lidar",
        "sonar",
        "range",
        "display",
        "accelerometer",
    ]
)
_FINGER_WORDS = frozenset(
    ["finger", "fingers", "fingertip", "fngr", "thumb", "jaw", "claw", "knuckle"]
)
_DIGITS = frozenset(["index", "middle", "ring", "little", "pinky"])  # together with the word `hand`
_WRIST_WORDS = frozenset(
    ["wrist", "yaw", "pitch", "roll", "rotate"]
)  # of a joint that rotates a gripper
_STILL_WORDS = frozenset(["fixed", "static", "stator"])  # of the half that carries the other
_LEAST_ARM = 2  # moving joints
_BEYOND = 2  # moving joints that may follow a tool frame
_SHOWN = 4


def choose_tip(root: str, order: Sequence[Connection], links: Mapping[str, FileLink]) -> TipChoice:
    """Return the link that most likely carries the tool, and the reason.

    `root` is the name of the root link.  `order` lists the connections, parents before children.
    """
    tree = _Bodies(root, order)
    fingers = tree.coupled() | tree.named() | tree.of_palms()
    depth = tree.reached_without(fingers)
    if max(depth.values()) == 0:  # a hand or gripper without an arm
        fingers = tree.coupled()
        depth = tree.reached_without(fingers)
    # A link with a camera on it still counts as an end.
    solid = [c for c in order if not links[c.child].is_marker and not _is_device(c.child)]
    inner = {c.parent for c in solid if c.child in depth}
    places = {name: k for k, name in enumerate(depth)}

    def rank(name: str) -> tuple[int, bool, bool, int]:
        return tool_rank(name), name in inner, links[name].is_marker, places[name]

    far = max(depth.values())
    ends = [n for n in depth if depth[n] == far and (n not in inner or tool_rank(n) <= _FRAMES)]
    best = min(ends, key=rank)
    if tool_rank(best) > _FRAMES:
        above = tree.path(tree.body[best])[: _BEYOND + 1]
        frames = [
            n
            for n in depth
            if tree.body[n] in above and depth[n] >= _LEAST_ARM and tool_rank(n) <= _FRAMES
        ]
        best = max(frames, key=lambda n: (depth[n], -rank(n)[0]), default=best)
    named = tool_rank(best) < len(_TOOL_WORDS)
    reason = "named like a tool" if named else "the end of the longest chain of joints"
    left = [c.name for c in order if c.name in fingers]
    if left:
        more = f" and {len(left) - _SHOWN} more" if len(left) > _SHOWN else ""
        shown = ", ".join(f"'{name}'" for name in left[:_SHOWN])
        plural = len(left) > 1
        reason += (
            f"; joint{'s' if plural else ''} {shown}{more} move{'' if plural else 's'} fingers"
        )
    return TipChoice(best, reason)


def tool_rank(name: str) -> int:
    """Return the rank of a link name as the name of a tool; a smaller rank is more likely.

    The rank is the smallest index in `_TOOL_WORDS` of a word in the name.  For a name without such
    a word, it is the length of `_TOOL_WORDS`; for a device such as a camera, this length plus 1.
    """
    words = _words(name)
    if _is_device(name):
        return len(_TOOL_WORDS) + 1
    pairs = [a + b for a, b in pairwise(words)]
    ranks = [_TOOL_WORDS.index(word) for word in (*words, *pairs) if word in _TOOL_WORDS]
    return min(ranks, default=len(_TOOL_WORDS))


def _is_device(name: str) -> bool:
    return bool(_DEVICES.intersection(_words(name)))


class _Bodies:
    """Tree of moving bodies; a body has the name of the link that its joint moves."""

    def __init__(self, root: str, order: Sequence[Connection]) -> None:
        self.root, self.order = root, order
        self.body: dict[str, str] = {root: root}  # of each link
        self.depth: dict[str, int] = {root: 0}  # moving joints before a body
        self.above: dict[str, str] = {}
        self.joints: dict[str, list[Connection]] = {root: []}  # joints on a body
        for c in order:
            carrier = self.body[c.parent]
            if c.kind == "fixed":
                self.body[c.child] = carrier
                continue
            self.body[c.child] = c.child
            self.depth[c.child] = self.depth[carrier] + 1
            self.above[c.child] = carrier
            self.joints[c.child] = []
            self.joints[carrier].append(c)
        self.height: dict[str, int] = {}  # moving joints after a body, along the longest branch
        for body in reversed(list(self.depth)):
            self.height[body] = max(
                (1 + self.height[c.child] for c in self.joints[body]), default=0
            )

    def path(self, body: str) -> list[str]:
        """Return a body and its ancestors; the base is last."""
        found = [body]
        while found[-1] in self.above:
            found.append(self.above[found[-1]])
        return found

    def coupled(self) -> set[str]:
        """Return the names of the joints that move coupled fingers.

        No moving joint follows such a joint, and on its parent body one joint mimics another.
        """
        found: set[str] = set()
        for group in self.joints.values():
            names = {c.name for c in group}
            if any(c.mimic is not None and c.mimic.master in names for c in group):
                # The horn of a motor or a propeller beside the fingers is not a chain either.
                found |= {c.name for c in group if not self.joints[c.child]}
        return found

    def named(self) -> set[str]:
        """Return the names of the joints that move a finger according to the names in the file.

        Such a joint has at least `_LEAST_ARM` moving joints before it, and all joints after it move
        a finger too.
        """
        found: set[str] = set()
        for body in reversed(list(self.depth)):
            for c in self.joints[body]:
                below = self.joints[c.child]
                if (
                    self.depth[body] >= _LEAST_ARM
                    and all(b.name in found for b in below)
                    # A body with several fingers is the palm, and its joint belongs to the wrist.
                    and (_is_finger(c) or (len(below) < 2 and "gripper" in _gripper_words(c)))
                ):
                    found.add(c.name)
        # A finger on its own base has no arm before it.
        alone: set[str] = set()
        after: set[str] = set()  # bodies after such a finger
        for body in self.depth:
            for c in self.joints[body]:
                if body in after:
                    alone.add(c.name)
                if body in after or (_is_finger(c) and c.name not in found):
                    after.add(c.child)
        return found - alone

    def of_palms(self) -> set[str]:
        """Return the names of the joints whose parent body is a palm (see the module docstring)."""
        found: set[str] = set()
        for body, group in self.joints.items():
            lengths = sorted((1 + self.height[c.child] for c in group), reverse=True)
            if (
                len(lengths) >= 2
                and lengths[0] == lengths[1] < self.depth[body]
                and self.depth[body] >= _LEAST_ARM
            ):
                found |= {c.name for c in group}
        return found

    def reached_without(self, joints: set[str]) -> dict[str, int]:
        """Return, by link, the number of moving joints between the root and the link.

        Links that are moved by one of `joints` are not included.
        """
        depth = {self.root: 0}
        for c in self.order:
            if c.parent in depth and c.name not in joints:
                depth[c.child] = depth[c.parent] + (c.kind != "fixed")
        return depth


def _is_finger(connection: Connection) -> bool:
    words = _gripper_words(connection)
    return bool(words & _FINGER_WORDS or ("hand" in words and words & _DIGITS))


def _gripper_words(connection: Connection) -> set[str]:
    """Return the words in the names of a joint and its child link.

    The result is empty if the joint name indicates a wrist or the link name a fixed gripper part.
    """
    joint, link = set(_words(connection.name)), set(_words(connection.child))
    return set() if joint & _WRIST_WORDS or link & _STILL_WORDS else joint | link


def _words(name: str) -> list[str]:
    return re.findall(r"[a-z]+", re.sub(r"([a-z])([A-Z])", r"\1_\2", name).lower())
