"""Immutable data exchanged between the thread of the link and the control loop.

The threads share one reference to such an object.  Reading or replacing this reference needs no
lock and never blocks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from brazo.teleop.link.inbox import Received
    from brazo.teleop.link.wire_format import Pose, Wrench


@dataclass(frozen=True, slots=True, eq=False)
class LinkView:
    """State of the link at the follower, with the newest valid command."""

    session: int = 0  # session of the connected master, 0 if there is none
    latest: Received | None = None
    jumps: int = 0  # clock jumps in this session
    missing: int = 0  # missing sequence numbers in this session


@dataclass(frozen=True, slots=True, eq=False)
class LinkReport:
    """State of the follower that its control loop publishes to all connected clients."""

    state: int  # index into `wire_format.STATES`
    cause: str
    share: float = 0.0  # fraction of full speed
    engagement: int = 0  # last number used
    age: float = 0.0  # s, of the newest command
    q: tuple[float, ...] = ()
    pose: Pose | None = None
    wrench: Wrench | None = None
    warnings: tuple[str, ...] = ()
    extra: tuple[float, ...] = ()
