"""# Recovery from a locked joint

The second SCARA of the cooperative cell has a redundant joint.  Its tool follows a circle when the
brake of its elbow engages.  The fault is detected from the signals (the reference moves, the error
grows, the joint stands still), and inverse kinematics is solved for the remaining joints, so that
the tool returns to its circle.  The same run without recovery is shown for comparison.
"""

import numpy as np

import brazo
from brazo.simulation import FaultTolerance, JointLocked
from brazo.trajectory import Timing, circle, follow_path

FAULT = 1.2  # s


def run(tolerant: bool):
    sim = brazo.Simulation("cooperative")
    robot = sim.robots["scara2"]
    start = robot.arm.fk(robot.reference.q)
    way = circle(start[:3, 3] - [0.08, 0, 0], 0.08, start[:3, :3], Timing("quintic", duration=3.0))
    motion = follow_path(robot.arm, way, q0=robot.reference.q)
    robot.move(motion)
    if tolerant:
        sim.tasks.add(FaultTolerance(robot))
    sim.inject(JointLocked("scara2", "elbow"), at=FAULT)
    recording = sim.run(until=motion.duration)
    wanted = (robot.base @ way.sample(recording["t"]).T)[:, :3, 3]
    tool = recording.matrix([f"scara2.tool.{axis}" for axis in "xyz"])
    return sim, recording, np.linalg.norm(tool - wanted, axis=1)


sim, recording, error = run(tolerant=True)
for event in sim.events:
    print(f"{event.t:6.3f} s  {event.kind}: {event.text}")

t = recording["t"]
found = next(event.t for event in sim.events if event.kind == "fault detected")
print(f"detected after {1e3 * (found - FAULT):.0f} ms; max tool error {1e3 * error.max():.2f} mm")
off = t[error > 1e-4]
print(f"within 0.1 mm of the circle again {off[-1] - FAULT:.2f} s after the fault")
print(f"max error from then on {1e6 * error[t > off[-1]].max():.0f} µm; before the fault "
      f"{1e6 * error[t < FAULT].max():.0f} µm")  # fmt: skip

_, _, alone = run(tolerant=False)
print(f"max error without recovery {1e3 * alone.max():.0f} mm")
