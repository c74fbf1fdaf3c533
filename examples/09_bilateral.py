"""# Bilateral control

A Delta is the master, a second one the follower, with a stiff block below it.  A hand pulls the
master's handle 4 cm past the contact of the follower with the block.  The contact force is
reflected to the handle with the position–force scheme and with wave variables, for one-way delays
of 0 to 200 ± 100 ms.  Position–force becomes unstable; wave variables are passive and come to rest.
"""

import numpy as np

from brazo.teleop.bilateral import Hand, Pair, PositionForce, TaskMap, WaveVariables, plot, strokes
from brazo.teleop.mapping import IncrementMap
from brazo.world import World

press = strokes([(0.5, 0, 0, 0), (1.5, 0, 0, -0.08)])  # t, x, y, z
same = IncrementMap(np.eye(3))  # two Deltas with the same directions

LINES = [
    {"delay": 0.0},
    {"delay": 0.05},
    {"delay": 0.2},
    {"delay": 0.2, "jitter": 0.1},  # packets are reordered
    {"delay": 0.2, "jitter": 0.1, "kind": "ordered"},  # as TCP delivers them
    {"delay": 0.2, "jitter": 0.1, "kind": "drifting"},  # a delay that varies slowly
]

print(f"{'':38s}hand  contact   oscillation      min energy")
shown = []
for scheme in (PositionForce, WaveVariables):
    for line in LINES if scheme is WaveVariables else LINES[:4]:
        pair = Pair(World("teleop-wall"), scheme(), Hand(press), TaskMap(same), seed=1, **line)
        trace = pair.run(6.0 if "kind" in line else 4.5)
        report = trace.report()
        delay = f"{1e3 * line['delay']:.0f} ± {1e3 * line.get('jitter', 0):.0f} ms"
        print(
            f"{trace.scheme:15s} {delay:12s} {line.get('kind', ''):8s}"
            f"{report.force_master:6.2f} N {report.force_follower:6.2f} N"
            f"{1e3 * report.moving:10.2f} mm {1e3 * report.min_energy:12.2f} mJ"
        )
        if line is LINES[3]:
            shown.append(trace)

print()
print(shown[1].report().text())
print("figure:", plot(shown, "bilateral.png").name)

# The same with the paper's direction matrix and a SCARA, with half the motion and twice the force.
wave = WaveVariables(impedance=50)
pair = Pair(
    World("teleop-wall-scara"), wave, Hand(strokes([(0.5, 0, 0, 0), (1.5, 0, 0, -0.11)])),
    TaskMap(IncrementMap(scale=2.0)), delay=0.1,
)  # fmt: skip
report = pair.run(4.0).report()
print(f"SCARA, k = 2: the hand feels {report.force_master:.2f} N,", end=" ")
print(f"the contact force of the SCARA is {np.linalg.norm(pair.follower.port.contact()):.2f} N")
