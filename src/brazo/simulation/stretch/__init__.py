"""A *stretch*: many steps in one call of machine code, the same to the last bit as one by one.

Python is needed in a step only when something happens: a task acts, a law or a motion is changed, a
fault comes, a pair of parts touches or parts, a clamp takes hold, a block of rows is full.  Between
two such steps everything is fixed tables and arithmetic.  A stretch makes the steps up to the next
one at which something is known to happen, and comes back at once from a step in which something
did; that step is then brought to its end by the functions that end a single step.

A simulation takes a stretch only where every part of a step is known to machine code: contact mode,
joint friction inside the engine, clamps without welds, compiled laws, motions sampled beforehand or
rest, no fault at work, tasks that say how long they can be left alone (`Task.idle`).  Everything
else is left to single steps.

    maker           what is foreseen, the call, and what becomes of it
    loop_code       the loop: laws, rows, world, references
    world_code      a step of the world, and whether it was quiet
    distance_code   distances of a recording
    world_table, row_table, seat    the memory they work on: of the world, the rows, each robot
"""

from brazo.simulation.stretch.maker import LONGEST, Stretch, steps_before, stretch_check

__all__ = ["LONGEST", "Stretch", "steps_before", "stretch_check"]
