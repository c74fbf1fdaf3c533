"""Either end killed without warning."""

import contextlib
import subprocess
import sys
import time
from pathlib import Path

from brazo.teleop.follow.safety import Cause, SafetyState
from tests.teleop.rig import FollowerRig, MasterRig, until

ROOT = Path(__file__).parents[3]


@contextlib.contextmanager
def station(*arguments):
    """A station in its own process, and the first line it prints."""
    command = [sys.executable, "-m", "tests.teleop.station_process", *map(str, arguments)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process, process.stdout.readline().strip()
        finally:
            process.kill()


def test_follower_holds_after_the_master_is_killed():
    with FollowerRig() as follower:
        with station("master", follower.address) as (process, _):
            until(lambda: follower.follower.safety.moving, "moving", 60)
            time.sleep(0.3)
            until(lambda: follower.follower.safety.moving, "moving", 60)
            process.kill()
            process.wait()
            killed = time.perf_counter()
            until(lambda: follower.state is SafetyState.HOLD, "HOLD")
        hold = follower.follower.safety.log[-1]
        until(lambda: follower.steps[-1].t >= hold.t, "the step to HOLD is listed")
        assert hold.cause in (Cause.LINK, Cause.STALE, Cause.LATE)
        last = max(received.sent for step, received in follower.taken)
        assert hold.t - last <= 0.12 + follower.longest_pause(last) + 1e-3
        assert last <= killed
        until(follower.rested, "at rest")
        # The connection is free for the next master, which has to engage.
        with station("master", follower.address):
            until(lambda: follower.state is SafetyState.ENGAGED, "engaged again", 60)
    follower.check()


def test_killed_follower_is_detected_and_reconnected():
    with station("follower", 0) as (process, port), MasterRig(f"127.0.0.1:{port}") as master:
        engage(master)
        process.kill()
        process.wait()
        killed = time.perf_counter()
        until(lambda: not master.link.connected, "missed")
        assert time.perf_counter() - killed < 5.0
        with station("follower", port):
            until(lambda: master.link.connected, "found again", 60)
            reported = until(master.link.status, "a status")
            assert reported.status.state == SafetyState.IDLE
            time.sleep(0.3)  # the switch is still held
            assert master.link.status().status.state == SafetyState.IDLE
            engage(master)


def engage(master):
    """Wait until the remote follower reports that it follows."""
    for _ in range(50):
        master.run = False
        time.sleep(0.2)
        master.link.engage()
        master.run = True
        end = time.perf_counter() + 1.0
        while time.perf_counter() < end:
            reported = master.link.status()
            if reported is not None and reported.status.state == SafetyState.ENGAGED:
                return
            time.sleep(0.01)
    raise AssertionError("never engaged")
