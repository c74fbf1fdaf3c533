"""Count the branches of inverse kinematics of all shipped robots.

    python tools/ik_census.py [--poses 10000] [--searched 300] [robot ...]

Four counts for each robot, none of which knows anything of closed forms:

* **random** configurations within the limits: the configuration itself must be among the branches
  of its own pose, and within the limits; so must a configuration of *any* angles, in or out of the
  limits. A branch that is missed at one pose in some thousands is found out this way.
* **search**: for some of these poses damped Newton steps from random starts collect solutions until
  each has been reached several times; none of them may be missing among the branches. The chance
  that the next start would have reached a new one (Good and Turing: solutions reached once / number
  of successful starts) is printed, as is the number of branches that the search did not reach.
* **edges**: joints exactly at their limits; singular configurations (the smallest singular value of
  the Jacobian is zero along one joint: wrist, elbow and shoulder, with it the boundary of the
  workspace), and configurations next to them. The configuration must be among the branches there
  too, unless the arm can move at this pose and the branches are others of infinitely many
  configurations (`moving`).
* every branch is checked by forward kinematics (those of 1,000 poses by MuJoCo), and nothing out of
  limits may be marked as inside.

Arms with seven joints are asked for the branches at the parameter of the configuration, and
searched with it as another equation. Of SCARAs with a redundant joint only the solutions by the
rule of their family count: equal bends, or with the first joint where it is.
"""

from __future__ import annotations

import argparse
import itertools
import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np

import brazo
from brazo.formats.library import robot_names
from brazo.formats.mjcf.writer import write_mjcf
from brazo.kinematics.redundant import LockedJoint, Redundancy

Array = np.ndarray
TURN = 2 * math.pi
REACHED = 1e-10  # m and rad
SAME = 1e-5  # rad and m: one solution
BLURRED = 1e-2  # rad and m
NEAR = (0.0, 1e-9, 1e-6, 1e-3)  # rad and m, distances from singular configurations
ENOUGH = 4  # times that the search has to reach each solution
STARTS, MOST_STARTS = 48, 1200  # of one pose
STEPS = 60


@dataclass
class Count:
    """The figures of one robot."""

    robot: str
    poses: int
    branches: float = 0.0
    error: float = 0.0  # m or rad, of the worst branch
    lost: int = 0  # configurations within the limits that are not among their branches
    lost_any: int = 0  # the same of any angles
    marked: int = 0  # branches wrongly marked as within the limits
    searched: int = 0
    missing: int = 0  # solutions of the search that are no branch
    unreached: int = 0  # branches that the search did not reach
    unseen: float = 0.0  # estimated share of successful starts that would reach something new
    moving: int = 0  # configurations of a continuum, of which the branches are other members
    edges: dict[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])

    @property
    def good(self) -> bool:
        lost = self.lost + self.lost_any + self.marked + self.missing
        return self.error <= REACHED and not lost + sum(n for n, _ in self.edges.values())

    def __str__(self) -> str:
        edges = ", ".join(f"{name} {lost}/{of}" for name, (lost, of) in self.edges.items())
        return (
            f"{self.robot:15} {self.poses:6d} {self.branches:6.2f} {self.error:8.1e} "
            f"{self.lost:5d} {self.lost_any:5d} {self.marked:6d} {self.searched:6d} "
            f"{self.missing:7d} {self.unreached:9d} {self.unseen:8.1e} {self.moving:6d}  {edges}"
        )


HEAD = (
    f"{'robot':15} {'poses':>6} {'branch':>6} {'error':>8} {'lost':>5} {'any':>5} {'marked':>6} "
    f"{'search':>6} {'missing':>7} {'unreached':>9} {'unseen':>8} {'moving':>6}  "
    "edges: lost/configurations"
)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("robots", nargs="*", default=robot_names())
    parser.add_argument("--poses", type=int, default=10_000)
    parser.add_argument("--searched", type=int, default=300)
    arguments = parser.parse_args()
    print(HEAD)
    good = True
    for name in arguments.robots:
        count = Census(brazo.load(name)).run(arguments.poses, arguments.searched)
        print(count, flush=True)
        good &= count.good
    raise SystemExit(not good)


class Census:
    """One robot; `free` (n, m) maps the coordinates of the search to joint values."""

    def __init__(self, arm: brazo.Robot) -> None:
        self.arm = arm
        self.examples: list[list[float]] = []  # configurations that were lost
        self.revolute = np.array(arm.joint_kinds) == "revolute"
        self.redundancy: Redundancy | None = None
        self.free = np.eye(arm.n)
        form = getattr(getattr(arm._kinematics, "branches", None), "form", None)
        # Some arms meet the position only; their branches differ in orientation.
        self.part = slice(0, 3 if form is not None and form.meets == "position" else 6)
        found = getattr(arm._kinematics, "redundancy", None)
        if isinstance(found, Redundancy):
            self.redundancy = found
            if isinstance(found, LockedJoint):
                self.free = np.delete(self.free, found.joint, axis=1)
        elif arm.name == "scara2":  # equal bends
            self.free = np.delete(self.free, 2, axis=1)
            self.free[2, 1] = 1.0
        elif arm.name == "teleop-scara":  # only the sum of joints 1 and 3 matters
            self.free = np.delete(self.free, 0, axis=1)

    def run(self, poses: int, searched: int, edges: int | None = None) -> Count:
        """`edges`: configurations of each kind (default: a tenth of `poses`)."""
        arm, count = self.arm, Count(self.arm.name, poses)
        rng, edges = np.random.default_rng(100), edges or poses // 10
        q = self.ruled(arm.random_q(poses, seed=100))
        T, found = self.branches(q, count)
        count.branches = float(found.valid.sum(axis=1).mean())
        count.lost = int((self.away(found.all_q, found.within_limits, q) > SAME).sum())
        if arm.model.kind == "tree":
            if self.part.stop == 6:
                count.error = max(count.error, mujoco_error(arm, T[:1000], found))
            count.lost_any, _ = self.lost(self.anywhere(poses, rng), count)
            count.edges["right angles"] = self.lost(self.right_angles(edges, rng), count)
        count.edges["limits"] = self.lost(self.at_limits(edges, rng), count)
        for name, some in self.singular(edges, rng).items():
            count.edges[name] = self.lost(some, count)
        self.search(T[:searched], q[:searched], found, rng, count)
        return count

    def branches(self, q: Array, count: Count) -> tuple[Array, brazo.IKBatch]:
        """The poses of configurations and their branches, checked by forward kinematics."""
        arm = self.arm
        T = arm.fk(q)
        options: dict[str, Any] = {}
        if self.redundancy is not None:
            options["redundancy"] = self.redundancy.value(q)
        found = arm.ik_batch(T, q0=q, **options)
        if self.part.stop == 6:  # those of an arm with few joints that have the orientation
            exact = found.valid & (found.orientation_error <= REACHED)
            found = replace(found, valid=exact, within_limits=exact & found.within_limits)
        if found.valid.any():
            wide = np.broadcast_to(T[:, None], (*found.valid.shape, 4, 4))
            gap = (arm.fk(found.all_q[found.valid]) - wide[found.valid])[:, :3]
            gap = gap if self.part.stop == 6 else gap[..., 3]
            count.error = max(count.error, float(np.abs(gap).max()))
        low, high = arm.limits.T
        inside = ((found.all_q >= low - 1e-9) & (found.all_q <= high + 1e-9)).all(axis=-1)
        count.marked += int((found.within_limits != (inside & found.valid)).sum())
        return T, found

    def lost(self, q: Array, count: Count) -> tuple[int, int]:
        """How many configurations are not among their branches, and of how many."""
        if not len(q):
            return 0, 0
        q = self.ruled(q)
        T, found = self.branches(q, count)
        lost = self.away(found.all_q, found.valid, q) > SAME
        for k in np.flatnonzero(lost):
            branches = found.all_q[k][found.valid[k]]
            lost[k] = not self.blurred(T[k], q[k], branches)
            if lost[k] and len(branches) and self.moves(T[k], q[k]):
                lost[k] = False
                count.moving += 1
        self.examples += q[lost].tolist()
        return int(lost.sum()), len(q)

    def away(self, all_q: Array, some: Array, q: Array) -> Array:
        """The distance (N,) of configurations from the nearest of some branches."""
        return np.where(some, self.gap(all_q, q[:, None]), np.inf).min(axis=1)

    def blurred(self, T: Array, q: Array, branches: Array) -> bool:
        """Whether a configuration and a branch cannot be told apart: half way between them the tool
        reaches the target, too. That is so next to two singularities at once, and to double roots.
        """
        for other in branches:
            away = float(self.gap(other, q))
            if away > BLURRED:
                continue
            step = other - q
            step -= np.where(self.revolute, TURN * np.round(step / TURN), 0.0)
            x = middle = q + 0.5 * step
            for _ in range(4):
                J = self.arm.jacobian(x)[self.part] @ self.free
                x = x + self.free @ (np.linalg.pinv(J, rcond=1e-4) @ self.error(T, self.arm.fk(x)))
            still = np.abs(self.error(T, self.arm.fk(x))).max() <= REACHED
            if still and np.abs(x - middle).max() < 0.25 * away:
                return True
        return False

    def moves(self, T: Array, q: Array) -> bool:
        """Whether the arm can move at this pose: the configuration is one of a continuum."""
        J = self.arm.jacobian(q)[self.part] @ self.free
        _, sigma, V = np.linalg.svd(J)
        if sigma[-1] > 1e-8:
            return False
        x = q + 1e-3 * (self.free @ V[-1])
        for _ in range(6):
            J = self.arm.jacobian(x)[self.part] @ self.free
            x = x + self.free @ (np.linalg.pinv(J, rcond=1e-4) @ self.error(T, self.arm.fk(x)))
        still = np.abs(self.error(T, self.arm.fk(x))).max() < 1e-12
        return bool(still and np.abs(x - q).max() > 3e-4)

    def error(self, T: Array, reached: Array) -> Array:
        """What is left to targets, position and rotation (..., 6 or 3)."""
        E = T[..., :3, :3] @ np.swapaxes(reached[..., :3, :3], -1, -2)
        skew = [0.5 * (E[..., i, j] - E[..., j, i]) for i, j in ((2, 1), (0, 2), (1, 0))]
        away = T[..., :3, 3] - reached[..., :3, 3]
        return np.concatenate([away, np.stack(skew, axis=-1)], axis=-1)[..., self.part]

    def gap(self, q: Array, other: Array) -> Array:
        """Largest difference of joint values, whole turns left out."""
        away = q - other
        if self.arm.name == "teleop-scara":  # joints 1 and 3 turn about one axis
            away = np.concatenate([away[..., [0]] + away[..., [2]], away[..., [1, 3, 4]]], axis=-1)
            revolute = np.array([True, False, True, True])
        else:
            revolute = self.revolute
        return np.abs(np.where(revolute, away - TURN * np.round(away / TURN), away)).max(axis=-1)

    def ruled(self, q: Array) -> Array:
        """Configurations that follow the rule of a redundant joint."""
        if self.arm.name == "scara2":
            q = q.copy()
            q[:, 2] = q[:, 1]
        return q

    # --- configurations ---------------------------------------------------------------------------

    @cached_property
    def box(self) -> Array:
        """Full turns, and the strokes of prismatic joints (n, 2)."""
        box = np.where(self.revolute[:, None], [-math.pi, math.pi], self.arm.limits)
        if isinstance(self.redundancy, LockedJoint):
            box[self.redundancy.joint] = self.arm.limits[self.redundancy.joint]
        return box

    def anywhere(self, count: int, rng: np.random.Generator) -> Array:
        return rng.uniform(self.box[:, 0], self.box[:, 1], (count, self.arm.n))

    def at_limits(self, count: int, rng: np.random.Generator) -> Array:
        """Configurations with some joints exactly at limits."""
        limits = np.clip(self.arm.limits, -TURN, TURN)
        q = rng.uniform(limits[:, 0], limits[:, 1], (count, self.arm.n))
        chosen = rng.integers(0, 4, q.shape)
        return np.where(chosen == 0, limits[:, 0], np.where(chosen == 1, limits[:, 1], q))

    def right_angles(self, count: int, rng: np.random.Generator) -> Array:
        """Configurations with some joints at multiples of 90°, where axes are in line."""
        q = rng.uniform(self.box[:, 0], self.box[:, 1], (count, self.arm.n))
        right = 0.5 * math.pi * rng.integers(-2, 3, q.shape)
        chosen = self.revolute & (rng.integers(0, 3, q.shape) == 0)
        chosen &= (right >= self.box[:, 0]) & (right <= self.box[:, 1])
        return np.where(chosen, right, q)

    def singular(self, count: int, rng: np.random.Generator) -> dict[str, Array]:
        """Singular configurations, by the joint that leads to them, and others next to them."""
        arm, found = self.arm, dict[str, Array]()
        if arm.model.kind != "tree":
            return found
        for joint in range(arm.n):
            lines = self.ruled(self.anywhere(max(count // (2 * arm.n), 4), rng))
            grid = np.linspace(self.box[joint, 0], self.box[joint, 1], 241)
            q = np.repeat(lines[:, None], len(grid), axis=1)
            q[..., joint] = grid
            sigma = self.sigma(q)
            dip = (sigma[:, 1:-1] < sigma[:, :-2]) & (sigma[:, 1:-1] <= sigma[:, 2:])
            line, place = np.nonzero(dip)
            low, high, q = grid[place], grid[place + 2], lines[line]

            def at(x: Array, q: Array = q, joint: int = joint) -> Array:
                moved = q.copy()
                moved[:, joint] = x
                return self.ruled(moved)

            for _ in range(80):  # golden section: σ is |x − x₀| there
                a, b = low + 0.382 * (high - low), low + 0.618 * (high - low)
                left = self.sigma(at(a)) < self.sigma(at(b))
                low, high = np.where(left, low, a), np.where(left, b, high)
            q = at(0.5 * (low + high))
            q = q[self.sigma(q) < 1e-9][: count // len(NEAR)]
            if len(q):
                near = np.repeat(q[None], len(NEAR), axis=0)
                near[..., joint] += np.array(NEAR)[:, None]
                found[arm.joint_names[joint]] = near.reshape(-1, arm.n)
        return found

    def sigma(self, q: Array) -> Array:
        """The smallest singular value of the Jacobian, position relative to the arm's size."""
        J = self.arm.jacobian(q)[..., self.part, :] @ self.free
        return np.linalg.svd(J, compute_uv=False)[..., -1]

    # --- search -----------------------------------------------------------------------------------

    def search(
        self, T: Array, q: Array, known: brazo.IKBatch, rng: np.random.Generator, count: Count
    ) -> None:
        """Compare with the solutions that random starts reach."""
        count.searched = len(T)
        if self.arm.model.kind != "tree":
            self.compare(T, delta_solutions(self.arm, T), known, count)
            return
        seen: list[list[Array]] = [[] for _ in T]
        hits: list[list[int]] = [[] for _ in T]
        waiting, starts = np.arange(len(T)), 0
        while len(waiting) and starts < MOST_STARTS:
            rows = np.repeat(waiting, STARTS)
            for row, x in zip(*self.newton(rows, T, q, rng), strict=True):
                away = [float(self.gap(x, other)) for other in seen[row]]
                if away and min(away) < SAME:
                    hits[row][int(np.argmin(away))] += 1
                else:
                    seen[row].append(x)
                    hits[row].append(1)
            starts += STARTS
            waiting = np.array(
                [k for k in waiting if not hits[k] or min(hits[k]) < ENOUGH], dtype=int
            )
        single = sum(h.count(1) for h in hits)
        count.unseen = single / max(sum(map(sum, hits)), 1)
        self.compare(T, seen, known, count)

    def compare(
        self, T: Array, seen: list[list[Array]], known: brazo.IKBatch, count: Count
    ) -> None:
        """Count solutions of the search that are no branch, and branches it did not reach."""
        for k, solutions in enumerate(seen):
            branches = known.all_q[k][known.valid[k]]
            away = self.gap(np.reshape(solutions, (-1, 1, self.arm.n)), branches[None])
            for q, gap in zip(solutions, away.min(axis=1, initial=math.inf), strict=True):
                count.missing += gap > SAME and not self.blurred(T[k], q, branches)
            count.unreached += int((away.min(axis=0, initial=math.inf) > SAME).sum())

    def newton(
        self, rows: Array, T: Array, q: Array, rng: np.random.Generator
    ) -> tuple[Array, Array]:
        """Rows of those starts that reach their pose, and the configurations."""
        arm, free = self.arm, self.free
        x = self.anywhere(len(rows), rng)
        x = np.where(free.any(axis=1), x, q[rows]) if self.redundancy is None else x
        locked = ~free.any(axis=1)
        x[:, locked] = q[rows][:, locked]
        x = self.ruled(x)
        target = T[rows]
        wanted = None
        if self.redundancy is not None and not locked.any():
            wanted = self.redundancy.value(q)[rows]
        active = np.arange(len(rows))
        done = np.zeros(len(rows), dtype=bool)
        for _ in range(STEPS):
            now, goal = x[active], target[active]
            reached, J = arm.fk(now), arm.jacobian(now)[:, self.part] @ free
            error = self.error(goal, reached)
            size = np.abs((reached - goal)[..., 3 if self.part.stop == 3 else slice(4)])
            size = size.reshape(len(size), -1).max(axis=1)
            if wanted is not None:
                assert self.redundancy is not None
                value = self.redundancy.value(now)
                off = _wrapped(wanted[active] - value)
                steps = now[:, None] + 1e-7 * np.eye(arm.n)
                slope = _wrapped(self.redundancy.value(steps) - value[:, None]) / 1e-7
                J = np.concatenate([J, slope[:, None]], axis=1)
                error = np.hstack([error, off[:, None]])
                size = np.maximum(size, np.abs(off))
            close = size < 1e-9
            done[active[close]] = True
            active, J, error = active[~close], J[~close], error[~close]
            if not len(active):
                break
            damping = 1e-3 * np.linalg.norm(error, axis=1)[:, None, None] + 1e-12
            A = np.swapaxes(J, 1, 2) @ J + damping * np.eye(J.shape[2])
            step = np.linalg.solve(A, np.swapaxes(J, 1, 2) @ error[..., None])[..., 0]
            x[active] += np.clip(step, -0.5, 0.5) @ free.T
        rows, x = rows[done], x[done]
        for _ in range(4 if wanted is None else 0):  # to rounding, next to singularities too
            J = arm.jacobian(x)[:, self.part] @ free
            step = np.linalg.pinv(J, rcond=1e-9) @ self.error(T[rows], arm.fk(x))[..., None]
            x = x + np.clip(step[..., 0], -1e-3, 1e-3) @ free.T
        return rows, x


def delta_solutions(arm: brazo.Robot, T: Array) -> list[list[Array]]:
    """Arm angles of a Delta at which each rod has its length, on a grid and by bisection; those
    whose forward kinematics is the target."""
    model: Any = arm.model
    grid = np.linspace(-math.pi, math.pi, 1441)
    found: list[list[Array]] = []
    for target in T:
        P = target[:3, 3] - model.tool[:3, 3]
        roots = []
        for phi in model.azimuths:

            def rod(theta: Array, phi: float = phi, P: Array = P) -> Array:
                out = model.R - model.r + model.L1 * np.cos(theta)
                C = [out * math.cos(phi), out * math.sin(phi), model.L1 * np.sin(theta)]
                return np.linalg.norm(np.stack(C, axis=-1) - P, axis=-1) - model.L2

            turn = np.flatnonzero(np.sign(rod(grid[:-1])) != np.sign(rod(grid[1:])))
            low, high = grid[turn], grid[turn + 1]
            for _ in range(60):
                middle = 0.5 * (low + high)
                same = np.sign(rod(middle)) == np.sign(rod(low))
                low, high = np.where(same, middle, low), np.where(same, high, middle)
            roots.append(low)
        solutions = []
        for q in itertools.product(*roots):
            try:
                if np.abs(arm.fk(q) - target).max() < 1e-9:
                    solutions.append(np.array(q))
            except brazo.BrazoError:  # the rods meet in no point, or only above
                continue
        found.append(solutions)
    return found


def _wrapped(angle: Array) -> Array:
    return angle - TURN * np.round(angle / TURN)


def mujoco_error(arm: brazo.Robot, T: Array, found: brazo.IKBatch) -> float:
    """Largest difference of MuJoCo's tool poses from some targets, over all branches."""
    mujoco: Any = import_module("mujoco")
    model = mujoco.MjModel.from_xml_string(write_mjcf(arm.model))
    data = mujoco.MjData(model)
    tip, tool = arm.body_names[arm.model.tip], arm.model.tool  # type: ignore[union-attr]
    body = model.body(tip).id
    joints = [model.joint(name).qposadr[0] for name in arm.joint_names]
    worst = 0.0
    for target, q, valid in zip(T, found.all_q, found.valid, strict=False):
        for values in q[valid]:
            data.qpos[joints] = values
            mujoco.mj_kinematics(model, data)
            R = data.xmat[body].reshape(3, 3)
            place = np.column_stack([R @ tool[:3, :3], data.xpos[body] + R @ tool[:3, 3]])
            worst = max(worst, float(np.abs(place - target[:3]).max()))
    return worst


if __name__ == "__main__":
    main()
