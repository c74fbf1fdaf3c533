"""A station of the rig in a separate process: `python -m tests.teleop.station_process KIND …`.

follower PORT       listens, and prints its port
master ADDRESS      connects, engages and swings its joints for as long as it lives
"""

import sys
import time

from brazo.teleop.link.follower_link import FollowerLink
from tests.teleop.rig import FollowerRig, MasterRig


def say(text):
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def follower(port):
    with FollowerRig(FollowerLink(port=int(port), joints=2)) as rig:
        say(rig.link.port)
        time.sleep(600)


def master(address):
    with MasterRig(address) as rig:
        say("connected")
        time.sleep(0.2)
        while True:
            reported = rig.link.status()
            if reported is not None and reported.status.state in (0, 3):
                rig.run = False
                time.sleep(0.1)
                rig.link.engage()
                rig.run = True
            time.sleep(0.1)


if __name__ == "__main__":
    {"follower": follower, "master": master}[sys.argv[1]](sys.argv[2])
