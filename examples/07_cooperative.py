"""# Two robots, one bar

The cooperative cell runs: one SCARA picks a bar up, the other takes it over in the air, tilts it
and sends it down the chute.  Programs are files or Python; a motion is checked before it starts.
"""

from math import pi, radians

import brazo
from brazo.program import Program
from brazo.program.summary import summarise

# The shipped program: three bars, eight steps each, held by friction.
sim = brazo.Simulation("cooperative")
execution = brazo.load_program("cooperative").start(sim)
run = sim.run(execution)
for event in run.events:
    if event["kind"] in ("note", "grasped", "released", "through", "failure"):
        print(f"{event['t']:6.2f} s  {event['text']}")
summary = summarise(execution, run)
print(f"{summary.verdict}; max internal force {summary.internal_force:.2f} N")

# A custom program.  Its second motion would collide with the chute; this is reported in advance.
own = Program("careless", cell="cooperative")
arm = own.robot("scara1")
arm.move_joints([radians(35), radians(-20), 0.02, 0, 0])
arm.move_joints([radians(35), radians(-20), 0.20, 0, 0])
sim = brazo.Simulation("cooperative")
execution = own.start(sim)
sim.run(execution)
print(execution.failure)

# The pose of a bar is read when the step starts: a circle above the second bar.
own = Program("circle", cell="cooperative")
arm = own.robot("scara2")
arm.move_to((0.04, 0, 0.1), (pi, 0, 0), "bar 2", gripper_symmetric=True, plan="free")
arm.path("circle", in_="bar 2", centre=(0, 0, 0.1), radius=0.04, time=2.0)
sim = brazo.Simulation("cooperative")
execution = own.start(sim)
sim.run(execution)
print(own.to_yaml())
print("succeeded:", execution.succeeded, "after", round(sim.time, 2), "s")
