"""# Recordings

Every step of a simulation is recorded as a row: joints, references, torques, tools, bodies, forces,
with units.  A recording on disk survives a killed process; it can be cut, resampled, plotted,
written as a report, and exported to other formats.
"""

import numpy as np

import brazo
from brazo.recording import Recorder, convert
from brazo.trajectory import quintic

# A run streamed to disk: if the process is killed, the written rows can be read.
sim = brazo.Simulation("cooperative")
arm = sim.robots["scara1"]
arm.move(quintic(arm.q, arm.q + [0.8, 0.5, 0.05, 0.3, 0.0], duration=1.2))
run = sim.run(until=1.5, record="run.parquet")
print(run)

# Signals by name, with units; selections by time, name and rate.
q = run["scara1.q.shoulder"]
print("shoulder:", np.degrees(q[[0, -1]]).round(1), "deg, recorded in", run.unit("scara1.q.elbow"))
print("max errors:", np.abs(run.matrix("scara1.error")).max(axis=0).round(6))
print("the second half:", run[0.75:])
print("at 50 Hz, joints only:", run.select("scara1.q").resample(0.02))

# A figure, a report, a 3D replay, and tables for other programs.
run.plot("scara1.q", "joints.pdf", title="Joint motion of scara1")
run.report("report.html", "A short move", verdict="the joints arrived", success=True)
run.to_html("replay.html")
convert("run.parquet", "joints.xlsx", signals="scara1.q", start=0.5, stop=1.0)
export = run.export("run.mcap")  # in a separate process; returns immediately
convert("run.parquet", "run.csv", signals=["scara1.tool.*", "*.torque.*"])
print("exported", export.wait())

# Custom signals, as rows or blocks.
with Recorder("mine.parquet", {"t": "s", "room.temperature": "K"}) as recorder:
    t = np.arange(0.0, 10.0, 0.01)
    recorder.append_block(np.column_stack([t, 293 + np.sin(t)]))
    recorder.event(4.0, "door", "somebody came in")
print(brazo.Recording.open("mine.parquet"))
