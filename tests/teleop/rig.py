"""A master and a follower with real sockets: both loops run and write down what they did."""

from __future__ import annotations

import itertools
import math
import threading
import time

import numpy as np

from brazo.teleop.follow.follower import LONGEST_STEP, Follower
from brazo.teleop.follow.safety import SafetyState
from brazo.teleop.link.follower_link import FollowerLink
from brazo.teleop.link.master_link import VALID, MasterLink
from brazo.teleop.mapping.joint_map import JointMap
from brazo.trajectory import Limits

LIMITS = Limits([2.0, 2.0], [8.0, 8.0], [80.0, 80.0], [[-3, 3]] * 2)
PERIOD = 0.002
PATIENCE = 30.0  # s: a busy machine is slow, never wrong


def until(condition, what, patience=PATIENCE):
    """Wait for something that has to happen."""
    end = time.perf_counter() + patience
    while not (found := condition()):
        if time.perf_counter() > end:
            raise AssertionError(f"after {patience:g} s still not: {what}")
        time.sleep(0.002)
    return found


class Loop:
    """A thread that calls `cycle` every period and skips what it is late for."""

    def __init__(self, period=PERIOD):
        self._period = period
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.error = None

    def cycle(self):
        raise NotImplementedError

    def _run(self):
        due = time.perf_counter()
        try:
            while not self._stop.is_set():
                due = max(due + self._period, time.perf_counter())
                time.sleep(max(due - time.perf_counter(), 0.0))
                self.cycle()
        except BaseException as error:
            self.error = error

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()
        if self.error is not None:
            raise self.error


class FollowerRig(Loop):
    """The follower's control loop; `steps` is what it did."""

    def __init__(self, link=None, **options):
        super().__init__()
        self.link = link or FollowerLink(joints=2, **options)
        self.follower = Follower(LIMITS, JointMap(LIMITS), [0.0, 0.0], now=time.perf_counter())
        self.steps = []
        self.taken = []  # (step time, command seen) for each that was acted on

    def __enter__(self):
        self.link.start()
        return super().__enter__()

    def __exit__(self, *error):
        try:
            super().__exit__(*error)
        finally:
            self.link.close()

    def cycle(self):
        view = self.link.view()
        step = self.follower.step(time.perf_counter(), view)
        for setting in self.link.settings():
            self.link.answer(setting, *self.follower.set(setting))
        self.steps.append(step)
        if step.seq:
            self.taken.append((step, view.latest))
        self.link.publish(self.follower.report(step))

    @property
    def state(self):
        return self.follower.safety.state

    @property
    def address(self):
        return f"127.0.0.1:{self.link.port}"

    def check(self):
        """Invariants that hold for any behaviour of network and machine."""
        stale = self.follower.safety.rules.stale
        steps = self.steps
        for before, after in itertools.pairwise(steps):
            dt = min(after.t - before.t, LONGEST_STEP)
            moved = np.abs(after.sample.q - before.sample.q)
            assert (moved <= LIMITS.speed * dt + 1e-9).all(), "a jump above the clamp"
            assert (np.abs(after.sample.qdd) <= LIMITS.acceleration * (1 + 1e-9)).all()
        for step in steps:
            if step.share > 0.0:
                assert step.age <= stale, "followed data that was stale"
        last = (0, 0)
        for step, received in self.taken:
            command = received.command
            assert step.t <= received.expires, "acted on a command that had run out"
            if command.session == last[0]:
                assert command.seq > last[1], "acted on an older command again"
            last = (command.session, command.seq)

    def longest_pause(self, since):
        """Between two steps of the loop, s: what the machine took from it."""
        times = [step.t for step in self.steps if step.t >= since - 0.1]
        return max(np.diff(times), default=0.0)

    def rested(self):
        return not self.follower.tracker.moving


class MasterRig(Loop):
    """The master's control loop: a hand that swings both joints while it holds the switch."""

    def __init__(self, address, **options):
        super().__init__()
        self.link = MasterLink(address, **options)
        self.run = self.clutch = False
        self.quiet = False
        self.valid = VALID  # s
        self._swing = 0.0
        self.q = (0.0, 0.0)

    def __enter__(self):
        self.link.start()
        self.link.wait(PATIENCE)
        return super().__enter__()

    def __exit__(self, *error):
        try:
            super().__exit__(*error)
        finally:
            self.link.close()

    def cycle(self):
        self._swing += PERIOD
        x = 0.4 * math.sin(2.0 * self._swing)
        self.q = (x, -x)
        if not self.quiet:
            self.link.send(self.q, run=self.run, clutch=self.clutch, valid=self.valid)

    def let_go(self, follower):
        """Release the switch and wait until the follower has received it and is at rest."""
        self.run = False
        until(lambda: self.link.connected, "connected")
        until(lambda: not follower.follower.safety.moving and follower.rested(), "at rest")
        until(lambda: follower.follower.safety._released, "the release seen")

    def set_moving(self, follower, seconds=0.3):
        """Engage until the follower has followed for so long; a busy machine may need two
        attempts."""
        for _ in range(20):
            self.let_go(follower)
            self.link.engage()
            self.run = True
            begin = time.perf_counter()
            while time.perf_counter() - begin < 5.0:
                time.sleep(0.005)
                if follower.state is SafetyState.HOLD and follower.follower.safety.refusal == "":
                    break
                if follower.follower.safety.moving:
                    since = follower.follower.safety.log[-1].t
                    fast = np.abs(follower.steps[-1].sample.qd).max() > 0.1
                    if time.perf_counter() - since > seconds and fast:
                        return
        raise AssertionError(f"never moving: {follower.steps[-1].cause}")
