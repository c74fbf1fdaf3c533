"""# Inverse kinematics

The result has one chosen solution and all others: each branch has a name (shoulder, elbow, wrist)
and a flag for the joint limits, and can be selected.  For a target out of reach the result contains
the reason and the closest configuration.
"""

import numpy as np

import brazo

arm = brazo.load("puma560")
target = arm.fk(np.radians([10, 60, -80, 20, 30, -40]))

result = arm.ik(target)
for branch in result.all:
    limits = "" if branch.within_limits else "  beyond the limits"
    print(f"{branch.name:20s}", np.degrees(branch.q).round(1), limits)
print("chosen:", result.branch)

elbow_down = arm.ik(target, branch="BELOW")
print("elbow below:", np.degrees(elbow_down.q).round(1))

far = target.copy()
far[0, 3] += 1.0
refused = arm.ik(far)
print("out of reach:", refused.reason)
print("nearest tool position:", arm.fk(refused.q)[:3, 3].round(3))

seven = brazo.load("panda")  # no closed form: compiled numeric solver, restarts from a fixed seed
print("panda:", seven.ik(seven.fk(seven.poses["ready"]), q0=np.full(7, 0.1)).method)
