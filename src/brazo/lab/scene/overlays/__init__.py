"""Overlays of the 3D scene, which can be switched on and off in the View panel."""

from brazo.lab.scene.overlays.base import Overlay
from brazo.lab.scene.overlays.collision import CollisionSolids
from brazo.lab.scene.overlays.contacts import ContactMarks, HandOver
from brazo.lab.scene.overlays.ghost import DesiredRobots
from brazo.lab.scene.overlays.marks import Labels, LinkFrames, MassCentres
from brazo.lab.scene.overlays.trace import TraceOverlay
from brazo.lab.scene.overlays.workspace import WorkspaceCloud

OVERLAYS: tuple[type[Overlay], ...] = (
    CollisionSolids,
    ContactMarks,
    DesiredRobots,
    HandOver,
    LinkFrames,
    TraceOverlay,
    WorkspaceCloud,
    MassCentres,
    Labels,
)

__all__ = ["OVERLAYS", "Overlay"]
