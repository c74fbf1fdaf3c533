"""What passes between the link's thread and the control loop: small, frozen, replaced as a whole.

Either side only ever reads or writes one reference, which needs no lock and never waits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from brazo.teleop.link.frames import Pose, Wrench
    from brazo.teleop.link.inbox import Received


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """What the follower's link knows at one moment."""

    session: int = 0  # of the master that is connected, 0 when there is none
    latest: Received | None = None
    jumps: int = 0  # of a clock, in this session
    missing: int = 0  # numbers skipped, in this session


@dataclass(frozen=True, slots=True, eq=False)
class Report:
    """What the follower tells everyone who is connected."""

    state: int  # index into `frames.STATES`
    cause: str
    share: float = 0.0  # of full speed
    engagement: int = 0  # the last one used up
    age: float = 0.0  # s, of the newest command
    q: tuple[float, ...] = ()
    pose: Pose | None = None
    wrench: Wrench | None = None
    warnings: tuple[str, ...] = ()
    extra: tuple[float, ...] = ()
