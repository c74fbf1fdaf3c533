"""# Hello, arm

Load a robot by name, compute its tool pose, and use the Jacobian for speed and singularities.
Joint values are in radians and metres; leading dimensions are batches.
"""

import numpy as np

import brazo

arm = brazo.load("puma560")
print(arm.name, "has", arm.n, "joints:", ", ".join(arm.joint_names))

q = arm.poses["nominal"]
T = arm.fk(q)  # tool in the base frame, 4x4
print("tool at", T[:3, 3].round(4), "m")

J = arm.jacobian(q)  # linear rows, then angular
qd = np.array([0.1, 0.0, 0.2, 0.0, 0.0, 0.0])  # rad/s
print("tool moves with", (J @ qd)[:3].round(4), "m/s")
print("configuration:", arm.configuration(q))
print("manipulability:", arm.dexterity(q).manipulability.round(4))

many = arm.random_q(100_000, seed=1)  # inside the joint limits
poses = arm.fk(many)  # compiled: 100,000 poses in one call
print("highest tool position of", len(poses), "random poses:", poses[:, 2, 3].max().round(3), "m")
