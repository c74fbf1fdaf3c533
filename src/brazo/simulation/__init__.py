"""Simulation of controlled robots in a physical world; runs are reproducible bit for bit."""

from brazo.simulation.costs import Costs
from brazo.simulation.dump import Replay
from brazo.simulation.faults import (
    CommandDelay,
    EncoderBias,
    EncoderFrozen,
    EncoderNoise,
    Fault,
    JointFree,
    JointLocked,
    TorqueLoss,
)
from brazo.simulation.joint_lock_monitor import LockMonitor, LockRule
from brazo.simulation.player import Player
from brazo.simulation.recovery import FaultTolerance, Recovery, plan_recovery
from brazo.simulation.robot import SimRobot
from brazo.simulation.run_events import Event
from brazo.simulation.simulation import Simulation
from brazo.simulation.state import SimState
from brazo.simulation.tasks import Task

__all__ = [
    "CommandDelay",
    "Costs",
    "EncoderBias",
    "EncoderFrozen",
    "EncoderNoise",
    "Event",
    "Fault",
    "FaultTolerance",
    "JointFree",
    "JointLocked",
    "LockMonitor",
    "LockRule",
    "Player",
    "Recovery",
    "Replay",
    "SimRobot",
    "SimState",
    "Simulation",
    "Task",
    "TorqueLoss",
    "plan_recovery",
]
