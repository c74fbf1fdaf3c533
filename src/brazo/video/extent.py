"""`Extent`: region that all images of a video have to show, with the floor and its grid."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from brazo.body.solids import mesh
from brazo.model.description import Part

GROUND = 0.6  # a fixture wider than this fraction of the cell is ground, excluded from framing
EMPTY = np.array([[-0.8, -0.8, 0.0], [0.8, 0.8, 1.0]])  # m, of a cell without elements

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Extent:
    """Points (k, 3) in m that images must show, and the height of the floor (m)."""

    points: Array
    floor: float

    @cached_property
    def middle(self) -> Array:
        """Centre (3,) of the bounding box, m."""
        return (self.points.min(axis=0) + self.points.max(axis=0)) / 2

    @cached_property
    def size(self) -> float:
        """Diagonal of the bounding box, m; 1 if the box is a point."""
        return float(np.linalg.norm(np.ptp(self.points, axis=0))) or 1.0

    @property
    def grid(self) -> float:
        """Cell length of the floor grid, m."""
        return grid_cell(self.size)

    @classmethod
    def of(
        cls,
        bodies: Sequence[Sequence[Part]],
        fixtures: Sequence[bool],
        poses: Iterable[Array],
        floor: float | None,
    ) -> Extent:
        """Return the extent of k bodies over several sets of poses (k, 4, 4).

        Bodies that are ground (see `ground_of`) are excluded.  `fixtures` is True for each body
        that is a fixture of the cell.  `floor` (m) is the height of the floor; None places the
        floor below the shown bodies.
        """
        boxes = [box_of(parts) for parts in bodies]
        sets = [
            [box @ T[:3, :3].T + T[:3, 3] for box, T in zip(boxes, places, strict=True)]
            for places in poses
        ]
        ground = ground_of(fixtures, sets[0])
        shown = [
            box
            for places in sets
            for box, flat in zip(places, ground, strict=True)
            if len(box) and not flat
        ]
        points = np.concatenate(shown) if shown else EMPTY
        below = float(points[:, 2].min()) - 0.08 * float(np.linalg.norm(np.ptp(points, axis=0)))
        return cls(points, below if floor is None else floor)


def box_of(parts: Sequence[Part]) -> Array:
    """Return the corners (8 p, 3) in m of the bounding boxes of p parts, in the body frame."""
    corners = [np.empty((0, 3))]
    for part in parts:
        vertices = mesh(part.shape).vertices
        ends = np.stack([vertices.min(axis=0), vertices.max(axis=0)])
        box = np.stack(np.meshgrid(*ends.T, indexing="ij"), axis=-1).reshape(-1, 3)
        corners.append(box @ part.pose[:3, :3].T + part.pose[:3, 3])
    return np.concatenate(corners)


def ground_of(fixtures: Sequence[bool], boxes: Sequence[Array]) -> list[bool]:
    """Return a list with True for each body that is ground, such as a large floor plate.

    Ground is a fixture wider than `GROUND` times the width of all bodies together.  The width is
    the larger of the extents along x and y.  `boxes` contains the corners (k, 3) of the bounding
    boxes of each body in the world frame.
    """
    filled = [box for box in boxes if len(box)]
    if not filled:
        return [False] * len(boxes)
    whole = np.ptp(np.concatenate(filled), axis=0)[:2].max()
    return [
        bool(fixed and len(box) and np.ptp(box, axis=0)[:2].max() > GROUND * whole)
        for fixed, box in zip(fixtures, boxes, strict=True)
    ]


def grid_cell(size: float) -> float:
    """Return the cell length (m) of a grid: about `size` / 15, from the 1-2-5 series."""
    exponent = math.floor(math.log10(size / 15))
    step = size / 15 / 10**exponent
    return (1 if step < 1.5 else 2 if step < 3.5 else 5 if step < 7.5 else 10) * 10.0**exponent
