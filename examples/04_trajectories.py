"""# Trajectories

Planned motion: via points for the joints, a tool path with exact joint speeds, limit checks, and
the smallest time scaling that satisfies all limits.  Then online motion: a target that changes
during the motion, and a tool that moves while a button is held.
"""

import numpy as np

import brazo
from brazo.trajectory import (
    CartesianJog,
    GoTo,
    Timing,
    check,
    circle,
    cubic_via_points,
    fastest_within,
    follow_path,
    jerk_limited,
    limits_of,
    path_error,
)

arm = brazo.load("scara1")
home = arm.poses["home"]

# Joints through points at given times; speeds at the points by the textbook rule.
via = cubic_via_points(
    [0.0, 1.0, 2.5, 4.0], home + np.outer([0.0, 0.5, -0.3, 0.2], [1, 1, 0, 0, 1])
)
print("at 1.7 s:", np.degrees(via.sample(1.7).q[[0, 1]]).round(2), "degrees")

# The file has no acceleration limits; assumed values are listed.
limits = limits_of(arm)
print("assumed:", limits.assumed[0])
move = jerk_limited(home, home + [0.8, -0.6, 0.05, 0.3, 0.0], limits)
print(f"minimum time within the limits of drives and jerk: {move.duration:.3f} s")

# The tool along a circle, with the required joint speeds and accelerations.
T = arm.fk(home)
path = circle(T[:3, 3] - [0.08, 0, 0], 0.08, T[:3, :3], Timing("trapezoid", 0.6))
motion = follow_path(arm, path, q0=home)
error = path_error(arm, motion, path)
print(f"circle in {motion.duration:.2f} s, max path error {error.position:.1e} m")

for violation in check(motion, arm):
    print("too fast:", violation)
slower = fastest_within(motion, arm)
print(f"within all limits in {slower.duration:.2f} s; violations: {check(slower, arm)}")

# Online: a new target while the joints are still moving to the first one.
go = GoTo(limits, home)
go.target(home + [0.5, 0.0, 0.0, 0.0, 0.0])
state, steps = go.update(0.01), 1
while go.moving:
    if steps == 20:
        go.target(home + [-0.3, 0.2, 0.0, 0.0, 0.0])
    state, steps = go.update(0.01), steps + 1
print("arrived at", np.degrees(state.q[[0, 1]]).round(2), f"after {0.01 * steps:.2f} s")

# A jog moves the tool in a straight line up to a limit of the arm.
jog = CartesianJog(arm, limits, home)
jog.run([0.2, 0, 0, 0, 0, 0])
for _ in range(400):
    jog.update(0.01)
moved = arm.fk(jog.state.q)[:3, 3] - T[:3, 3]
print("jogged by", (1000 * moved).round(1), "mm:", jog.reason)
