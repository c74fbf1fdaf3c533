"""Simulation steps in machine code, bit-identical to those in Python.

A step in Python takes as long as the physics engine itself, although most steps are plain
arithmetic on fixed memory.  `NativeSteps` makes such steps from the controllers to the recorded
row, several in one call if nothing is due between them.  It leaves to Python

* whole steps with a part that has no native implementation: exact mode, friction computed by
  formula, loops of a Delta, welding grippers, controllers in Python, active faults;
* the second half of a step with an event: a contact begins or ends, a gripper grasps or releases
  a body, the engine warns.

    steps           interface for the simulation
    batch_code      controllers, rows, references
    world_code      a step of the world, and whether it was quiet
    world_table, robot_record    the memory they use
"""

from brazo.simulation.native.steps import NativeSteps, native_steps_check

__all__ = ["NativeSteps", "native_steps_check"]
