"""A Delta that follows a Delta, joint by joint, in virtual time: a circle of the hand at 1 Hz."""

import math

import numpy as np
import pytest

import brazo
from brazo.teleop.follow.follower import Follower, LinkView
from brazo.teleop.follow.safety import SafetyState
from brazo.teleop.link.inbox import Received
from brazo.teleop.link.wire_format import RUN, Command
from brazo.teleop.mapping.joint_map import JointMap
from brazo.trajectory import limits_of

RADIUS = 0.03  # m
EVERY = 2  # steps of 1 ms from one command to the next: 500 Hz
GATHERING = 1.0  # s, in which the circle opens


class Hand:
    """A master Delta whose platform moves on a circle."""

    def __init__(self, arm, q):
        self.arm, self.q, self.home = arm, q, arm.fk(q)

    def point(self, t):
        u = min(t / GATHERING, 1.0)
        r = RADIUS * u**3 * (10 - 15 * u + 6 * u * u)
        turn = 2 * math.pi * t
        return self.home[:3, 3] + r * np.array([math.cos(turn), math.sin(turn), 0.0])

    def move(self, t):
        T = self.home.copy()
        T[:3, 3] = self.point(t)
        self.q = self.arm.ik(T, self.q).q
        return self.q


class Noted(JointMap):
    """A mapping whose last target can be looked at."""

    target_q = None

    def step(self, master, dt):
        target = super().step(master, dt)
        self.target_q = target.q
        return target


class Source:
    """The next command for the simulated follower."""

    sample = None

    def next(self):
        return self.sample


@pytest.fixture(scope="module")
def circle():
    """Rows of time, hand, target, reference and tool, joints and points in the base's axes."""
    sim = brazo.Simulation("delta")
    robot = sim.robots["delta"]
    arm, limits, dt = robot.arm, limits_of(robot.arm), sim.dt
    hand, source = Hand(arm, robot.reference.q), Source()
    mapping = Noted(limits)
    follower = Follower(limits, mapping, hand.q)
    to_base = np.linalg.inv(robot.base)
    rows = []
    for k in range(round(4.0 / dt)):
        t = k * dt
        if k % EVERY == 0:
            # The switch is pressed after a first command without it.
            flags, engagement = (RUN, 1) if k else (0, 0)
            q = hand.move(t)
            frame = Command(1, k + 1, round(1e6 * t), 0, 100_000, flags, engagement, tuple(q))
            view = LinkView(1, Received(frame, t, t, t + 0.1), 0, 0)
        step = follower.step(t, view, "", dt)
        source.sample = step.sample
        if k == 0:
            robot.follow(source)
        sim.step()
        tool = (to_base @ robot.tool())[:3, 3]
        rows.append((t, hand.q.copy(), mapping.target_q, arm.fk(step.sample.q)[:3, 3], tool))
    assert step.state is SafetyState.ENGAGED
    return hand, rows


def test_target_equals_the_motion_of_the_hand(circle):
    _, rows = circle
    engaged = [(q, target) for _, q, target, _, _ in rows if target is not None]
    assert len(engaged) > 3900
    first, begin = engaged[0]
    for q, target in engaged:
        assert (target - begin) == pytest.approx(q - first, abs=1e-15)


@pytest.mark.parametrize("column", [3, 4], ids=["commanded", "physical"])
def test_the_tool_stays_within_a_tenth_of_a_millimetre_of_the_circle(circle, column):
    hand, rows = circle
    away = np.array([row[column] - hand.home[:3, 3] for row in rows if row[0] > GATHERING + 0.5])
    off = np.hypot(np.hypot(away[:, 0], away[:, 1]) - RADIUS, away[:, 2])
    assert off.max() < 1e-4
    angle = np.unwrap(np.arctan2(away[:, 1], away[:, 0]))
    assert angle[-1] - angle[0] == pytest.approx(2 * math.pi * 2.499, abs=0.02)
