"""Programs for one or several robots: motions, grips, waits and syncs, checked before they run."""

from brazo.deprecation import renamed_names
from brazo.program.collision import Checker, Hit, MovingRobot
from brazo.program.execution import Execution, Failure, RobotProgress
from brazo.program.free_space import FreeSpace, is_free, plan
from brazo.program.monitor import Collision, Drop
from brazo.program.planner import NoPath, Planner
from brazo.program.program import Goal, Program, StepList
from brazo.program.program_file import load_program, parse_program, program_names

__all__ = [
    "Checker",
    "Collision",
    "Drop",
    "Execution",
    "Failure",
    "FreeSpace",
    "Goal",
    "Hit",
    "MovingRobot",
    "NoPath",
    "Planner",
    "Program",
    "RobotProgress",
    "StepList",
    "is_free",
    "load_program",
    "parse_program",
    "plan",
    "program_names",
]

__getattr__ = renamed_names(__name__, {"NoWay": "NoPath", "Mover": "MovingRobot"})
