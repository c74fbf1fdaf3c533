"""Robot programs: move, line, path, grip, wait, meet; for one robot or several, checked ahead."""

from brazo.program.collision import Checker, Hit, Mover
from brazo.program.execution import Execution, Failure, RobotProgress
from brazo.program.planner import NoWay, Planner
from brazo.program.program import Goal, Program, StepList
from brazo.program.program_file import load_program, parse_program, program_names
from brazo.program.watch import Collision, Drop

__all__ = [
    "Checker",
    "Collision",
    "Drop",
    "Execution",
    "Failure",
    "Goal",
    "Hit",
    "Mover",
    "NoWay",
    "Planner",
    "Program",
    "RobotProgress",
    "StepList",
    "load_program",
    "parse_program",
    "program_names",
]
