"""Measure the step time of the cooperative task with controllers, contacts, events and recording.

    python tools/loop_speed.py              steps of 1 ms
    python tools/loop_speed.py 0.0002       steps of 0.2 ms

Planning runs during the simulation and counts as "other"; the last line excludes it.
"""

import sys
from dataclasses import replace
from time import perf_counter

import brazo

dt = float(sys.argv[1]) if len(sys.argv) > 1 else 1e-3
cell = replace(brazo.load_cell("cooperative"), step=dt)
for _ in range(3):
    sim = brazo.Simulation(cell)
    begin = perf_counter()
    recording = sim.run(brazo.load_program("cooperative"))
    wall = perf_counter() - begin
    costs = sim.costs
    print(f"{len(recording)} steps, {len(recording.columns)} columns, {len(sim.events)} events")
    print(f"  {sim.time / wall:.1f} times real time, planning and set-up included")
    print(f"  {costs}; control {costs.control_share:.1%}")
