"""Simulation steps in machine code, bit-identical to those in Python.

The Python code of a step takes as long as the physics engine itself, although most steps are plain
arithmetic on fixed memory.  `NativeSteps` makes such steps ("native steps") in machine code, from
the controllers to the recorded row.  It makes several steps in one call if no Python code has to
run between them.  Two cases remain in Python:

* Steps with a part that has no native implementation: exact mode, Coulomb friction computed in
  `brazo.world.friction`, loops of a Delta, welding grippers, controllers in Python, ideal
  positioning, faults of encoders and commands.
* After an event in the engine's part of a step, the rest of this step.  An event is a contact that
  begins or ends, a body that is grasped or released, or a warning of the engine.

    steps           interface for the simulation
    batch_code      machine code of controllers, recorded rows and references
    world_code      machine code of a step of the world, and the detection of events
    world_table, robot_record    the memory that the machine code uses
"""

from brazo.simulation.native.steps import NativeSteps, native_steps_check

__all__ = ["NativeSteps", "native_steps_check"]
