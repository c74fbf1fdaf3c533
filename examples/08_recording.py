"""# What a run leaves behind

Every step of a simulation becomes a row: joints, references, torques, tools, bodies, forces, with
units.  Streamed to disk, a run survives whatever ends it; afterwards it is cut, sampled anew,
drawn, told as a page, or handed to other programs.
"""

import numpy as np

import brazo
from brazo.recording import Recorder, convert
from brazo.trajectory import quintic

# A run streamed to disk while it goes on: kill it at any moment, and what was written stays.
sim = brazo.Simulation("cooperative")
arm = sim.robots["scara1"]
arm.move(quintic(arm.q, arm.q + [0.8, 0.5, 0.05, 0.3, 0.0], duration=1.2))
run = sim.run(until=1.5, record="run.parquet")
print(run)

# Signals by name, with units; parts of a run by time, by name, by rate.
q = run["scara1.q.shoulder"]
print("shoulder:", np.degrees(q[[0, -1]]).round(1), "deg, recorded in", run.unit("scara1.q.elbow"))
print("greatest errors:", np.abs(run.matrix("scara1.error")).max(axis=0).round(6))
print("the second half:", run[0.75:])
print("at 50 Hz, joints only:", run.select("scara1.q").resample(0.02))

# A figure to print, a page to mail, the run in 3D to turn and scrub, tables for others.
run.plot("scara1.q", "joints.pdf", title="Joint motion of scara1")
run.report("report.html", "A short move", verdict="the joints arrived", success=True)
run.to_html("replay.html")
convert("run.parquet", "joints.xlsx", signals="scara1.q", start=0.5, stop=1.0)
export = run.export("run.mcap")  # in a process of its own; this one goes on
convert("run.parquet", "run.csv", signals=["scara1.tool.*", "*.torque.*"])
print("exported", export.wait())

# Signals of your own, from anywhere: rows or whole blocks.
with Recorder("mine.parquet", {"t": "s", "room.temperature": "K"}) as recorder:
    t = np.arange(0.0, 10.0, 0.01)
    recorder.append_block(np.column_stack([t, 293 + np.sin(t)]))
    recorder.event(4.0, "door", "somebody came in")
print(brazo.Recording.open("mine.parquet"))
