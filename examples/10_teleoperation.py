"""# Teleoperation

Follower and master in one process: a simulated SCARA listens, and a scripted hand on a Delta's
handle drives it over a real connection. All messages are lost for 0.25 s; the follower brakes and
enters HOLD, and continues after it is engaged again.
"""

import time

import brazo
from brazo.lab.app.opening import as_cell
from brazo.simulation import Simulation
from brazo.teleop import CylinderWall, FollowerLink, MasterLink, PoseMap
from brazo.teleop.devices import parse_script
from brazo.teleop.proxy import FaultProxy
from brazo.teleop.proxy import parse_script as parse_faults
from brazo.teleop.stations import FollowerStation, MasterStation
from brazo.trajectory import limits_of

delta = brazo.load("delta")
sim = Simulation(as_cell("robot:teleop-scara"))
arm = sim.robots["teleop-scara"].arm
mapping = PoseMap(
    arm,
    limits_of(arm),
    master=delta,  # its handle's X, Y, Z become the SCARA's Y, −Z, −X
    workspace=CylinderWall(r=(0.15, 0.55), z=(0.16, 0.44)),
)
hand = parse_script(
    """
    again: true
    steps:
      - {at: 300ms, engage: true}
      - {at: 500ms, for: 1s, move: [0, 40mm, 0]}
      - {at: 1500ms, for: 2s, circle: 30mm, turns: 1, plane: xy}
      - {at: 4s, release: true}
    """
)
faults = parse_faults("steps: [{at: 2s, for: 250ms, half_open: true}]")

station = FollowerStation(sim, FollowerLink(name="far away"), mapping=mapping)
with station, FaultProxy(station.link.url, faults) as proxy:
    begin = time.perf_counter()
    with MasterLink(f"127.0.0.1:{proxy.port}") as link:
        link.wait()
        MasterStation(link, hand, delta, rate=100).run()
        print(f"round trip {1e3 * (link.round_trip or 0.0):.2f} ms")
    for transition in station.follower.safety.log:
        print(f"  {transition.t - begin:6.3f} s  {transition}")
    print("commands:", dict(station.link.counts))
    print("tool now at", station.robot.tool()[:3, 3].round(4))
sim.player.close()
