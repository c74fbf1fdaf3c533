"""Operations on 3-vectors, rotations and symmetric tensors, as lists of scalars of any type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from brazo.kinematics.forward import cross, rotate, rotate_back, subtract

__all__ = ["add", "cross", "dot", "rotate", "rotate_back", "subtract", "tensor_times"]

Scalar = Any


def add(*vectors: Sequence[Scalar]) -> list[Scalar]:
    """Sum of vectors, from left to right."""
    total = list(vectors[0])
    for vector in vectors[1:]:
        total = [x + y for x, y in zip(total, vector, strict=True)]
    return total


def dot(a: Sequence[Scalar], b: Sequence[Scalar]) -> Scalar:
    """Scalar product of two vectors."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def tensor_times(tensor: Sequence[Scalar], v: Sequence[Scalar]) -> list[Scalar]:
    """A symmetric tensor (xx, xy, xz, yy, yz, zz) times a vector."""
    xx, xy, xz, yy, yz, zz = tensor
    return [
        xx * v[0] + xy * v[1] + xz * v[2],
        xy * v[0] + yy * v[1] + yz * v[2],
        xz * v[0] + yz * v[1] + zz * v[2],
    ]


def flat(rows: Sequence[Sequence[Scalar]]) -> list[Scalar]:
    """Elements of a matrix, row by row."""
    return [x for row in rows for x in row]
