"""RRT-Connect (Kuffner, LaValle 2000): two trees of poses grow towards each other.

One tree grows from the start, the other from the goal.  In each iteration, one tree is extended by
a step towards a random pose.  The other tree is then extended in a straight line towards the new
pose, up to the first collision.  If this line reaches the new pose, the trees are joined; otherwise
the trees swap roles.  Finally, the path is shortened: the part between two random points is
replaced by a straight segment if the segment is free of collisions.

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
    """Return a collision-free path (poses joined by straight segments), or None if none is found.

    `box` (n, 2) is the range of random poses.  `weights` (n,) scale the joints in the distance of
    two poses.  `free(a, b)` returns whether the segment from a to b is collision-free.  Start and
    goal must be collision-free.
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
    """Return the path with parts replaced by shorter collision-free straight segments."""
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
    """Search tree of poses; each pose has the index of its parent."""

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
        """Add a pose that is one step closer to a target than the nearest pose of the tree.

        Return the index of the new pose; None if the step collides or the target is in the tree.
        """
        i = self.nearest(target)
        q = self.poses[i]
        far = float(np.linalg.norm(self._weights * (target - q)))
        if far < _GOAL:
            return None
        new = q + min(STEP / far, 1.0) * (target - q)
        return self.add(new, i) if free(q, new) else None

    def connect(self, target: Array, free: Free) -> int | None:
        """Add poses on the straight segment from the nearest pose of the tree to a target.

        Return the index of the target, which is the last pose; None if the segment collides.
        """
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
        """Return the poses from the root to pose `i`."""
        found = []
        while i >= 0:
            found.append(self.poses[i].copy())
            i = self.parents[i]
        return found[::-1]


def _without_redundant(path: list[Array], free: Free) -> list[Array]:
    """Return the path without poses that can be skipped by a collision-free segment."""
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
    """Return the segment index and the pose at arc length s of a path.

    `lengths` are the lengths of the segments, weighted like the distance of two poses.
    """
    for i, length in enumerate(lengths):
        if s <= length or i == len(lengths) - 1:
            share = s / length if length > 0.0 else 0.0
            return i, path[i] + min(share, 1.0) * (path[i + 1] - path[i])
        s -= length
    raise AssertionError
