"""Physical model of a robot cell: robots, grippers, bodies, contacts, grasps and distances."""

from brazo.world.assembly import Drawn
from brazo.world.attachment import AttachedGripper, AttachedTool
from brazo.world.cell import BinShape, Cell, CellRobot, Chute, Fixture, Frame, FreeBody, TableShape
from brazo.world.cell_file import cell_names, load_cell, parse_cell
from brazo.world.contact_events import ContactEvent, GraspEvent
from brazo.world.contacts import Contact, Contacts
from brazo.world.distances import Distance
from brazo.world.divergence_guard import Diverged
from brazo.world.grasps import Grasp
from brazo.world.overlaps import Overlap
from brazo.world.robots import WorldRobot
from brazo.world.state import State
from brazo.world.world import World

__all__ = [
    "AttachedGripper",
    "AttachedTool",
    "BinShape",
    "Cell",
    "CellRobot",
    "Chute",
    "Contact",
    "ContactEvent",
    "Contacts",
    "Distance",
    "Diverged",
    "Drawn",
    "Fixture",
    "Frame",
    "FreeBody",
    "Grasp",
    "GraspEvent",
    "Overlap",
    "State",
    "TableShape",
    "World",
    "WorldRobot",
    "cell_names",
    "load_cell",
    "parse_cell",
]
