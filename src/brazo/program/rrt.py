"""RRT-Connect (Kuffner, LaValle 2000): two trees of poses grow towards each other.

One tree grows from the start, the other from the goal.  In turn, one tree is extended by a step
towards a random pose, and the other is extended in a straight line towards the new pose until a
collision; if it reaches the pose the trees are joined.  The path is then shortened by trying
straight segments between random points on it.

The distance between two poses is |W Δq|, with the weights of `brazo.program.displacement`.  Random
numbers come from a seed and the budget is a number of poses, not a time, so the same problem has
the same result on every machine.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np

Array = np.ndarray
Free = Callable[
    [Array, Array], bool
]  # whether the straight segment between two poses is collision-free

STEP = 0.25  # m, extension of a tree per iteration
MAX_POSES = 4000
SHORTCUTS = 100
_GOAL = 1e-12


def rrt_connect(
    start: Array,
    goal: Array,
    box: Array,
    weights: Array,
    free: Free,
    seed: int = 0,
    max_poses: int = MAX_POSES,
) -> list[Array] | None:
    """A collision-free path (poses joined by straight segments), or None if none is found.

    `box` (n, 2) is the range of random poses.  Start and goal must be collision-free.
    """
    if free(start, goal):
        return [start, goal]
    rng = np.random.default_rng(seed)
    low, high = box.T
    near, far = _SearchTree(start, weights), _SearchTree(goal, weights)
    from_start = True
    while near.count + far.count < max_poses:
        target = rng.uniform(low, high)
        new = near.extend(target, free)
        if new is not None:
            met = far.connect(near.poses[new], free)
            if met is not None:
                a, b = near.path(new), far.path(met)
                first, second = (a, b) if from_start else (b, a)
                return [*first, *second[::-1][1:]]
        near, far, from_start = far, near, not from_start
    return None


def shortened(path: list[Array], weights: Array, free: Free, seed: int = 0) -> list[Array]:
    """Shorten a path by collision-free straight segments between points on it."""
    rng = np.random.default_rng([seed, 1])
    path = _without_redundant(path, free)
    for _ in range(SHORTCUTS):
        if len(path) < 3:
            break
        lengths = [float(np.linalg.norm(weights * (b - a))) for a, b in pairwise(path)]
        total = sum(lengths)
        s0, s1 = sorted(rng.uniform(0.0, total, 2).tolist())
        (i, a), (k, b) = _at(path, lengths, s0), _at(path, lengths, s1)
        if i == k or not free(a, b):
            continue
        path = [*path[: i + 1], a, b, *path[k + 1 :]]
    return _without_redundant(path, free)


class _SearchTree:
    """Poses, each with its parent."""

    def __init__(self, root: Array, weights: Array) -> None:
        self._weights = weights
        self.poses = np.empty((256, len(root)))
        self.poses[0] = root
        self.parents = [-1]

    @property
    def count(self) -> int:
        return len(self.parents)

    def nearest(self, q: Array) -> int:
        away = (self.poses[: self.count] - q) * self._weights
        return int(np.einsum("ij,ij->i", away, away).argmin())

    def add(self, q: Array, parent: int) -> int:
        if self.count == len(self.poses):
            self.poses = np.concatenate([self.poses, np.empty_like(self.poses)])
        self.poses[self.count] = q
        self.parents.append(parent)
        return self.count - 1

    def extend(self, target: Array, free: Free) -> int | None:
        """Add one pose a step towards a target; its index, or None on collision."""
        i = self.nearest(target)
        q = self.poses[i]
        far = float(np.linalg.norm(self._weights * (target - q)))
        if far < _GOAL:
            return None
        new = q + min(STEP / far, 1.0) * (target - q)
        return self.add(new, i) if free(q, new) else None

    def connect(self, target: Array, free: Free) -> int | None:
        """Extend towards a target; the index at the target, or None on collision."""
        i = self.nearest(target)
        far = float(np.linalg.norm(self._weights * (target - self.poses[i])))
        steps = max(math.ceil(far / STEP), 1)
        begin, at = self.poses[i].copy(), i
        for k in range(1, steps + 1):
            new = target if k == steps else begin + (k / steps) * (target - begin)
            if not free(self.poses[at], new):
                return None
            at = self.add(new, at)
        return at

    def path(self, i: int) -> list[Array]:
        """Poses from the root to pose `i`."""
        found = []
        while i >= 0:
            found.append(self.poses[i].copy())
            i = self.parents[i]
        return found[::-1]


def _without_redundant(path: list[Array], free: Free) -> list[Array]:
    """Remove poses whose neighbours are joined by a free segment."""
    kept = [path[0]]
    i = 0
    while i < len(path) - 1:
        k = len(path) - 1
        while k > i + 1 and not free(path[i], path[k]):
            k -= 1
        kept.append(path[k])
        i = k
    return kept


def _at(path: list[Array], lengths: list[float], s: float) -> tuple[int, Array]:
    """Segment index and pose at arc length s."""
    for i, length in enumerate(lengths):
        if s <= length or i == len(lengths) - 1:
            share = s / length if length > 0.0 else 0.0
            return i, path[i] + min(share, 1.0) * (path[i + 1] - path[i])
        s -= length
    raise AssertionError
