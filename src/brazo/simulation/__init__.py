"""The clock and the loop: laws, references and a physical world in steps that repeat to the bit."""

from brazo.simulation.costs import Costs
from brazo.simulation.events import Event
from brazo.simulation.player import Player
from brazo.simulation.robot import SimRobot
from brazo.simulation.simulation import Simulation, Task
from brazo.simulation.state import SimState

__all__ = ["Costs", "Event", "Player", "SimRobot", "SimState", "Simulation", "Task"]
