"""RRT-Connect (Kuffner, LaValle 2000): two trees of poses grow towards each other, then a shortcut.

One tree grows from the start, the other from the goal.  In turn one is extended by a step towards
a random pose, and the other is then led straight towards the new one as far as nothing is touched;
when it arrives the trees are joined.  The way found is shortened by trying straight lines between
random places on it.

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
Free = Callable[[Array, Array], bool]  # is the straight way between two poses free?

STEP = 0.25  # m, by which a tree is extended
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
    """A free way (poses in joint space, straight lines between them), or None when none is found.

    `box` (n, 2) is where poses are drawn from.  Start and goal must be free themselves.
    """
    if free(start, goal):
        return [start, goal]
    rng = np.random.default_rng(seed)
    low, high = box.T
    near, far = _Tree(start, weights), _Tree(goal, weights)
    from_start = True
    while near.count + far.count < max_poses:
        target = rng.uniform(low, high)
        new = near.extend(target, free)
        if new is not None:
            met = far.connect(near.poses[new], free)
            if met is not None:
                a, b = near.way(new), far.way(met)
                first, second = (a, b) if from_start else (b, a)
                return [*first, *second[::-1][1:]]
        near, far, from_start = far, near, not from_start
    return None


def shortened(way: list[Array], weights: Array, free: Free, seed: int = 0) -> list[Array]:
    """The same way with corners cut where nothing is in between."""
    rng = np.random.default_rng([seed, 1])
    way = _without_stops(way, free)
    for _ in range(SHORTCUTS):
        if len(way) < 3:
            break
        lengths = [float(np.linalg.norm(weights * (b - a))) for a, b in pairwise(way)]
        total = sum(lengths)
        s0, s1 = sorted(rng.uniform(0.0, total, 2).tolist())
        (i, a), (k, b) = _at(way, lengths, s0), _at(way, lengths, s1)
        if i == k or not free(a, b):
            continue
        way = [*way[: i + 1], a, b, *way[k + 1 :]]
    return _without_stops(way, free)


class _Tree:
    """Poses, each with the one it was reached from."""

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
        """One step towards a target."""
        i = self.nearest(target)
        q = self.poses[i]
        far = float(np.linalg.norm(self._weights * (target - q)))
        if far < _GOAL:
            return None
        new = q + min(STEP / far, 1.0) * (target - q)
        return self.add(new, i) if free(q, new) else None

    def connect(self, target: Array, free: Free) -> int | None:
        """Steps towards a target until it is reached, or something is in the way."""
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

    def way(self, i: int) -> list[Array]:
        """From the root to a pose."""
        found = []
        while i >= 0:
            found.append(self.poses[i].copy())
            i = self.parents[i]
        return found[::-1]


def _without_stops(way: list[Array], free: Free) -> list[Array]:
    """Leave out every pose that its neighbours do not need."""
    kept = [way[0]]
    i = 0
    while i < len(way) - 1:
        k = len(way) - 1
        while k > i + 1 and not free(way[i], way[k]):
            k -= 1
        kept.append(way[k])
        i = k
    return kept


def _at(way: list[Array], lengths: list[float], s: float) -> tuple[int, Array]:
    """The piece and the pose at a length run."""
    for i, length in enumerate(lengths):
        if s <= length or i == len(lengths) - 1:
            share = s / length if length > 0.0 else 0.0
            return i, way[i] + min(share, 1.0) * (way[i + 1] - way[i])
        s -= length
    raise AssertionError
