"""The cooperative task as a task of a simulation: pick, carry, hand over, tilt, insert, release."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from brazo.model.transforms import rot_z, translate
from brazo.simulation import SimRobot, Simulation
from brazo.trajectory import cubic_via_points, quintic
from tests.world.scenes import GRIP, HAND_OVER, pointing_down

PICK, HIGH = 0.021, 0.19


class Script:
    """Runs a generator: it yields the seconds to wait before the next call."""

    def __init__(self, steps: Callable[[Simulation], Iterator[float]]) -> None:
        self._make = steps
        self._steps: Iterator[float] | None = None
        self._next = 0.0
        self.done = False

    def tick(self, sim: Simulation) -> bool:
        if self._steps is None:
            self._steps, self._next = self._make(sim), sim.time
        if sim.time >= self._next - 1e-9:
            wait = next(self._steps, None)
            if wait is None:
                self.done = True
                return False
            self._next = sim.time + wait
        return True


def solve(robot: SimRobot, pose: np.ndarray, q0) -> np.ndarray:
    """The nearest solution that puts the tool at a pose or at the half turn of it."""
    base = np.linalg.inv(robot.base)
    found = [
        branch.q
        for T in (pose, pose @ rot_z(np.pi))
        for branch in robot.arm.ik(base @ T, q0=q0).all
        if branch.within_limits
    ]
    return min(found, key=lambda q: np.abs(q - q0).max())


def go(robot: SimRobot, q, seconds: float) -> None:
    robot.move(quintic(robot.reference.q, q, seconds))


def line(robot: SimRobot, pose_at: Callable[[float], np.ndarray], seconds: float) -> None:
    """Along poses of the tool in the world, s from 0 to 1."""
    base, q, found = np.linalg.inv(robot.base), robot.reference.q, []
    for s in np.linspace(0, 1, 21):
        q = robot.arm.ik(base @ pose_at(s), q0=q).q
        found.append(q)
    found[0] = robot.reference.q
    robot.move(cubic_via_points(np.linspace(0, seconds, 21), found))


def insertion(sim: Simulation, front: float) -> np.ndarray:
    chute = sim.cell.chutes[0]
    x, y, z = chute.pose[:3, 3] + (front - 0.25 - GRIP) * chute.pose[:3, 0]
    return pointing_down(x, y, z, chute.yaw, chute.angle)


def task(sim: Simulation) -> Iterator[float]:
    """The complete task with one bar, about 20 s."""
    one, two = sim.robots["scara1"], sim.robots["scara2"]
    bar, (x, y, _) = sim.cell.bodies[0].pose[:3, 3], HAND_OVER
    above = solve(two, pointing_down(bar[0] - GRIP, bar[1], 0.10), two.reference.q)
    pick = solve(two, pointing_down(bar[0] - GRIP, bar[1], PICK), above)
    lift = solve(two, pointing_down(bar[0] - GRIP, bar[1], HIGH), above)
    give = solve(two, pointing_down(x - GRIP, y, HIGH), lift)
    near = solve(one, pointing_down(x + GRIP, y, HIGH + 0.1), np.array([-1.6, -1.6, 0, 0, 0]))
    take = solve(one, pointing_down(x + GRIP, y, HIGH), near)
    ready = solve(one, pointing_down(x + GRIP, y, HIGH + 0.06), take)
    go(two, above, 1.0)
    go(one, near, 1.0)
    yield 1.1
    go(two, pick, 0.8)
    yield 0.9
    two.grip(120)
    yield 0.4
    two.carry("bar 1")
    go(two, lift, 0.8)
    yield 0.9
    go(two, give, 1.0)
    yield 1.2
    go(one, take, 0.8)
    yield 0.9
    one.grip(120)
    yield 0.5
    two.carry("bar 1", 0.5)
    one.carry("bar 1", 0.5)
    # Together along a line: both hold the bar, neither turns it.
    starts = [(robot, robot.base @ robot.arm.fk(robot.reference.q)) for robot in (one, two)]
    for robot, T in starts:
        line(robot, lambda s, T=T: translate(y=0.03 * np.sin(np.pi * s) ** 2) @ T, 2.0)
    yield 2.5
    two.open()
    two.carry(None)
    one.carry("bar 1")
    yield 0.4
    back = two.tool()
    line(two, lambda s: translate(x=-0.2 * s) @ back, 0.8)
    yield 0.9
    go(one, ready, 0.6)
    go(two, above, 0.8)
    yield 0.9
    rel = np.linalg.inv(one.tool()) @ sim.world.pose("bar 1")
    down = sim.cell.chutes[0].pose[:3, 0]
    base = np.linalg.inv(one.base)
    start = insertion(sim, -0.03)
    turned = start @ np.diag([-1.0, -1.0, 1.0, 1.0])
    ways = [b.q for T in (start, turned) for b in one.arm.ik(base @ T, q0=ready).all]

    def leads(q) -> bool:
        T = one.base @ one.arm.fk(q)
        return bool(((T @ rel)[:3, 3] - T[:3, 3]) @ down > 0 and q[1] * ready[1] > 0)

    at_mouth = next(q for q in ways if leads(q))
    half = (ready + at_mouth) / 2
    half[[2, 4]] = at_mouth[[2, 4]]
    go(one, half, 1.2)
    yield 1.3
    go(one, at_mouth, 1.2)
    yield 1.5
    grip = one.base @ one.arm.fk(at_mouth)
    line(one, lambda s: translate(*(0.29 * s * down)) @ grip, 1.8)
    yield 2.0
    one.open()
    one.carry(None)
    yield 1.2
