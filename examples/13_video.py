"""# Videos and the scope

The tool of an RV-2AJ follows a Lissajous curve under PD control with gravity compensation.  The
run becomes a video without a browser or a display, and the scope compares the tool's path with its
reference.
"""

import brazo
from brazo.recording import scope_statistics
from brazo.trajectory import follow_path, lissajous

arm = brazo.load("rv2aj")
home = arm.poses["home"]
T = arm.fk(home)

# A curve of 4 s in a vertical plane through the tool; its first point is where the tool is.
curve = lissajous(
    T[:3, 3], [0.05, 0.06], [1, 2], T[:3, :3], 4.0, phases=[0.0, 0.0], normal=[1, 0, 0]
)
motion = follow_path(arm, curve, q0=home, orientation="nearest")

sim = brazo.Simulation(arm, {"rv2aj": brazo.control.PDGravity()})
sim.robots["rv2aj"].move(motion)
run = sim.run(until=motion.duration + 0.3, record="curve.parquet")
print(run)

# One call: MP4, WebM or GIF by the suffix.  The trail is the path of the tool so far.
video = run.to_video("curve.mp4", size=(480, 360), fps=15, speed=2.0, trail=True, camera=(30, 20))
print("video:", video, f"{video.stat().st_size / 1e3:.0f} kB")

# The same in a notebook, where the object shows itself; here it is saved.
short = run.animate(format="gif", size=(240, 180), fps=5, start=0.0, stop=1.0, shadows=False)
print("animation:", short.save("curve.gif"), short.frames, "frames")

# The scope: the path in a plane, and errors with the names of ISO 9283 (no conformity is claimed).
run.plot_scope("yz", "scope.png", time=0.6 * motion.duration)
for name, value in scope_statistics(run).texts():
    print(f"{name:24} {value}")
