"""Steps in machine code, the same to the last bit as those in Python.

A step in Python costs as much as the physics engine itself, although most steps are plain
arithmetic on fixed memory.  `NativeSteps` makes such steps from the controllers to the recorded
row, several in one call where nothing is due between them.  It leaves to Python

* the whole step, where a part of it is not known to machine code: exact mode, friction computed by
  formula, loops of a Delta, welding grippers, controllers in Python, active faults;
* the second half of a step in which something happens: a contact begins or ends, a gripper takes
  hold or lets go, the engine warns.

    steps           what a simulation calls
    batch_code      controllers, rows, references
    world_code      a step of the world, and whether it was quiet
    world_table, robot_record    the memory they work on
"""

from brazo.simulation.native.steps import NativeSteps, native_steps_check

__all__ = ["NativeSteps", "native_steps_check"]
