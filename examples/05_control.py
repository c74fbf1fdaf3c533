"""# Control

A controller computes torques from the state and the reference.  Each is one class with gains that
may be changed while it runs; `track` closes the loop with the exact dynamics.  The tables at the
end are those of the documentation: every controller on two motions and two robots, and the time of
a call.
"""

import timeit
from typing import Any

import numpy as np

import brazo
from brazo.control import (
    ComputedTorque,
    Controller,
    Gain,
    Reference,
    controller_loop,
    controllers,
    track,
)
from brazo.control.benchmark import T_END, quintic, sines

arm = brazo.load("puma560")
result = track(arm, ComputedTorque(wn=25), sines(arm), t_end=2.0)
print("computed torque, max errors (mrad):", (1e3 * result.max_error).round(3))

# A payload that is not in the controller's model, then one that is.
heavy = arm.with_payload(0.5, com=(0, 0, 0.05))
law = ComputedTorque()
law.bind(arm, 1e-3)
law.gains["kp", "elbow"] = 900.0
print("0.5 kg, unknown:", track(heavy, law, sines(arm), 2.0, model=arm).max_error.round(4))
law.payload(0.5, com=(0, 0, 0.05))
print("0.5 kg, known:  ", track(heavy, law, sines(arm), 2.0, model=arm).max_error.round(4))


class Spring(Controller):
    """A custom controller: declare its gains and compute the torque."""

    GAINS = (Gain("k", "spring", ("N m/rad", "N/m")), Gain("d", "damper", ("N m s/rad", "N s/m")))

    def __init__(self, k, d) -> None:
        super().__init__(k=k, d=d)

    def command(self, t, q, qd, reference):
        return self.gains["k"] * (reference.q - q) - self.gains["d"] * qd


scara = brazo.load("scara2")
own = track(scara, Spring(k=[60, 30, 15, 4e3, 0.1], d=[6, 3, 1, 130, 0.01]), quintic(scara), T_END)
print("custom controller, error at the end:", own.error[-1].round(4))

names = [name for name in controllers() if name != "Spring"]
MOTIONS = {"sines": sines, "quintic": quintic}
print("\nmax and RMS errors of the worst joint, 1 ms period")
print(f"{'':29s}{'puma560 (mrad)':>18s}{'scara2 (mrad)':>18s}{'scara2 (mm)':>18s}")
for name in names:
    for motion, make in MOTIONS.items():
        row = []
        for robot in (arm, scara):
            errors = track(robot, controllers()[name](), make(robot), T_END)
            kinds = np.array(robot.joint_kinds)
            for kind in dict.fromkeys(robot.joint_kinds):
                for error in (errors.max_error, errors.rms_error):
                    row.append(f"{1e3 * error[kinds == kind].max():9.4f}")
        print(f"{name:20s}{motion:9s}" + "".join(row))


def microseconds(name, robot):
    """The least time of a call of torque(), and of a step of law and robot as one native loop."""
    law: Any = controllers()[name]()
    law.bind(robot, 1e-3)
    q, qd = robot.random_q(seed=1), np.zeros(robot.n)
    goal = Reference(q + 0.01, qd, qd)
    call = timeit.repeat(lambda: law.torque(0.0, q, qd, goal), number=500, repeat=9)
    loop = controller_loop(law.compiled, robot)
    inputs = {"reference_q": [goal.q], "reference_qd": [qd], "reference_qdd": [qd], **law.fixed}
    inputs["x"] = np.concatenate([q, qd, *law.state.values()])
    steps = timeit.repeat(lambda: loop(500, **inputs), number=1, repeat=9)
    return [1e6 * min(times) / 500 for times in (call, steps)]


print(
    "\nmicroseconds per call of torque(), and per step of controller and robot in one native loop"
)
print(f"{'':20s}{'puma560':>16s}{'scara2':>16s}")
for name in names:
    row = [*microseconds(name, arm), *microseconds(name, scara)]
    print(f"{name:20s}" + "".join(f"{value:8.2f}" for value in row))
