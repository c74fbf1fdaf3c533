"""Simulation steps in machine code, bit-identical to those in Python.

The Python code of a step takes as long as the physics engine itself, although most steps are plain
arithmetic on fixed memory.  `NativeSteps` makes such steps ("native steps") in machine code, from
the controllers to the recorded row.  It makes several steps in one call if no Python code has to
run between them.  Two cases remain in Python:

* whole steps with a part that has no native implementation: exact mode, Coulomb friction
  computed in `brazo.world.friction`, loops of a Delta, welding grippers, controllers in Python,
  ideal positioning, faults of encoders and commands;
* the second half of a step with an event: a contact begins or ends, a gripper grasps or releases
  a body, or the engine issues a warning.

    steps           interface for the simulation
    batch_code      machine code of controllers, recorded rows and references
    world_code      machine code of a step of the world, and the detection of events
    world_table, robot_record    the memory that the machine code uses
"""

from brazo.simulation.native.steps import NativeSteps, native_steps_check

__all__ = ["NativeSteps", "native_steps_check"]
