"""Allocation of large result arrays from reused memory.

When a large array is freed, its memory returns to the operating system. For the next array,
the system clears the memory page by page, which can take longer than the kernel that fills it.
`empty` avoids this cost: it reuses the memory of recently freed results. At most `KEPT` bytes of
free memory are kept.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

__all__ = ["empty"]

LARGE = 1 << 18  # bytes; smaller arrays are not given back to the system when they are freed
KEPT = 1 << 26  # max bytes of free memory that is kept
_PAGE = 1 << 12

_free: dict[int, np.ndarray] = {}  # by identity, the last freed one at the end


def empty(shape: tuple[int, ...]) -> np.ndarray:
    """Return an uninitialised float64 array, like `np.empty(shape)`."""
    size = 8 * math.prod(shape)
    return np.empty(shape) if size < LARGE else np.asarray(_Lease(shape, size))


class _Lease:
    """Owner of an array's memory; recycles the memory when the array and its views are deleted."""

    __slots__ = ("__array_interface__", "_memory")

    def __init__(self, shape: tuple[int, ...], size: int) -> None:
        self._memory = _take(size)
        address = self._memory.__array_interface__["data"]
        self.__array_interface__: dict[str, Any] = {
            "shape": shape,
            "typestr": "<f8" if np.little_endian else ">f8",
            "data": address,
            "version": 3,
        }

    def __del__(self) -> None:
        # Single operations on a dict need no lock; between them, another thread may take a block.
        memory = self._memory
        _free[id(memory)] = memory
        kept = sum(block.nbytes for block in tuple(_free.values()))
        for key in tuple(_free):
            if kept <= KEPT:
                break
            dropped = _free.pop(key, None)
            kept -= 0 if dropped is None else dropped.nbytes


def _take(size: int) -> np.ndarray:
    """Return a block of at least `size` bytes.

    A free block is reused if it has at most 2 × `size` bytes; otherwise a new one is allocated.
    """
    for key, block in reversed(tuple(_free.items())):
        if size <= block.nbytes <= 2 * size and _free.pop(key, None) is not None:
            return block
    return np.empty(-(-size // _PAGE) * _PAGE, dtype=np.uint8)
