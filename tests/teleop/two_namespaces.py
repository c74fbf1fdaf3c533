"""Master and follower in separate network namespaces, as on two machines.

    unshare --user --map-root-user --net python -m tests.teleop.two_namespaces SCENARIO

The follower lives in a second network namespace.  What joins the two is either a wire made of two
TUN devices, whose packets this process carries over with delay, jitter and loss (so TCP has to send
them again), or a veth pair with the kernel's own netem.  What happened is printed as JSON.
"""

import fcntl
import heapq
import itertools
import json
import os
import random
import select
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

from brazo.teleop.follow.safety import SafetyState
from brazo.teleop.link.follower_link import FollowerLink
from tests.teleop.rig import FollowerRig, MasterRig, until

TOKEN = "a token for two machines"
ADDRESS = "10.9.0.2"
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000


class Wire:
    """Two TUN devices and the packets between them."""

    def __init__(self, *names):
        self.ends = [self._open(name) for name in names]
        self.delay = self.jitter = self.loss = 0.0
        self.dark = False
        self.packets = self.lost = 0
        self._random = random.Random(0)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._carry, daemon=True)

    @staticmethod
    def _open(name):
        end = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(end, TUNSETIFF, struct.pack("16sH", name.encode(), IFF_TUN | IFF_NO_PI))
        return end

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()

    def _carry(self):
        queue, number = [], itertools.count()
        while not self._stop.is_set():
            now = time.perf_counter()
            while queue and queue[0][0] <= now:
                _, _, end, packet = heapq.heappop(queue)
                os.write(end, packet)
            wait = min(queue[0][0] - now, 0.05) if queue else 0.05
            for end in select.select(self.ends, [], [], max(wait, 0.0))[0]:
                packet = os.read(end, 65536)
                self.packets += 1
                if self.dark or self._random.random() < self.loss:
                    self.lost += 1
                    continue
                other = self.ends[1 - self.ends.index(end)]
                at = time.perf_counter() + self.delay + self._random.random() * self.jitter
                heapq.heappush(queue, (at, next(number), other, packet))


def ip(*arguments, inside=None):
    command = ["nsenter", "-t", str(inside), "-n"] if inside else []
    subprocess.run([*command, *arguments], check=True, capture_output=True)


def follower():
    """The follower's process: reports its state on request."""
    with FollowerRig(FollowerLink(ADDRESS, 9000, token=TOKEN, joints=2)) as rig:
        for line in sys.stdin:
            if line.strip() == "end":
                break
            holds = []
            for transition in tuple(rig.follower.safety.log):
                if transition.after is SafetyState.HOLD:
                    last = max(r.sent for s, r in tuple(rig.taken) if s.t <= transition.t)
                    pause = max(
                        (
                            b.t - a.t
                            for a, b in itertools.pairwise(tuple(rig.steps))
                            if last - 0.1 < b.t <= transition.t + 0.1
                        ),
                        default=0.0,
                    )
                    holds.append(
                        {
                            "t": transition.t,
                            "cause": transition.cause.name,
                            "after": transition.t - last,
                            "pause": pause,
                        }
                    )
            reported = {"state": rig.state.name, "holds": holds, "counts": dict(rig.link.counts)}
            sys.stdout.write(json.dumps(reported) + "\n")
            sys.stdout.flush()
    rig.check()


class Far:
    """The follower's process, seen from the master's side."""

    def __init__(self, pid):
        command = ["nsenter", "-t", str(pid), "-n", sys.executable, "-m", __spec__.name, "follower"]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self):
        self.process.stdin.write("tell\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def end(self):
        """Its own checks hold when this is 0."""
        self.process.stdin.write("end\n")
        self.process.stdin.flush()
        return self.process.wait(30)


def set_moving(master, far):
    """Engage until the follower reports that it follows, and continue for a while."""
    for _ in range(60):
        master.run = False
        time.sleep(0.3)
        master.link.engage()
        master.run = True
        end = time.perf_counter() + 1.5
        since = None
        while time.perf_counter() < end:
            reported = master.link.status()
            moving = reported is not None and reported.status.state in (1, 2)
            since = (since or time.perf_counter()) if moving else None
            if since and time.perf_counter() - since > 0.3:
                return
            time.sleep(0.01)
    raise AssertionError(f"never moving: {far.ask()}")


def main(scenario):
    holder = subprocess.Popen(["unshare", "--net", "sleep", "600"])
    try:
        own = Path("/proc/self/ns/net").readlink()
        there = Path(f"/proc/{holder.pid}/ns/net")
        until(lambda: there.readlink() != own, "a second namespace")
        time.sleep(0.1)
        found = {"scenario": scenario}
        wire = None
        if scenario == "netem":
            ip("ip", "link", "add", "m0", "type", "veth", "peer", "name", "f0")
        else:
            wire = Wire("m0", "f0")
        ip("ip", "link", "set", "f0", "netns", str(holder.pid))
        for name, address, inside in (("m0", "10.9.0.1", None), ("f0", ADDRESS, holder.pid)):
            ip("ip", "addr", "add", f"{address}/24", "dev", name, inside=inside)
            ip("ip", "link", "set", name, "up", inside=inside)
        if wire is None:
            netem = ["netem", "delay", "10ms", "3ms", "loss", "2%"]
            ip("tc", "qdisc", "add", "dev", "m0", "root", *netem)
            drive(found, holder.pid, None)
        else:
            with wire:
                drive(found, holder.pid, wire)
        sys.stdout.write(json.dumps(found) + "\n")
    finally:
        holder.kill()
        holder.wait()


def drive(found, pid, wire):
    scenario = found["scenario"]
    far = Far(pid)
    far.ask()  # it listens
    if scenario == "lossy":
        wire.delay, wire.jitter, wire.loss = 0.008, 0.004, 0.02
    with MasterRig(f"{ADDRESS}:9000", token=TOKEN) as master:
        set_moving(master, far)
        begin = time.perf_counter()
        if scenario == "blackout":
            wire.dark = True
            until(lambda: far.ask()["state"] == "HOLD", "HOLD")
            time.sleep(0.6)
            wire.dark = False
        elif scenario == "unplugged":
            ip("ip", "link", "set", "m0", "down")
            until(lambda: far.ask()["state"] == "HOLD", "HOLD")
            ip("ip", "link", "set", "m0", "up")
        else:
            time.sleep(3.0)
        found["begin"] = begin
        found["after"] = far.ask()
        if scenario in ("blackout", "unplugged"):
            until(lambda: master.link.connected, "connected", 60)
            time.sleep(0.5)  # the switch is still held
            found["stood"] = far.ask()["state"]
        set_moving(master, far)
        found["round_trip"] = master.link.round_trip
        found["attempts"] = master.link.counts["connections"]
        found["end"] = far.ask()
    found["checked"] = far.end()
    if wire is not None:
        found["packets"], found["lost"] = wire.packets, wire.lost


if __name__ == "__main__":
    follower() if sys.argv[1] == "follower" else main(sys.argv[1])
