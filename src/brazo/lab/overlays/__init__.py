"""What may be drawn over a cell: each overlay in its own file, built when it is first wanted."""

from brazo.lab.overlays.base import Overlay
from brazo.lab.overlays.collision import CollisionSolids
from brazo.lab.overlays.contacts import ContactMarks, HandOver
from brazo.lab.overlays.ghost import DesiredRobots
from brazo.lab.overlays.marks import Labels, LinkFrames, MassCentres
from brazo.lab.overlays.trace import ToolTrace
from brazo.lab.overlays.workspace import WorkspaceCloud

OVERLAYS: tuple[type[Overlay], ...] = (
    CollisionSolids,
    ContactMarks,
    DesiredRobots,
    HandOver,
    LinkFrames,
    ToolTrace,
    WorkspaceCloud,
    MassCentres,
    Labels,
)

__all__ = ["OVERLAYS", "Overlay"]
