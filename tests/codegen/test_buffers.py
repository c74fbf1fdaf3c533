"""Memory of large results: reused when free, never before, and limited."""

from __future__ import annotations

import threading

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from brazo.codegen import buffers
from brazo.codegen.buffers import KEPT, LARGE, empty

N = LARGE // 8


def address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


def test_memory_is_reused_when_an_array_and_its_views_are_gone():
    first = empty((N, 3))
    first[:] = 1.0
    place, view = address(first), first.reshape(-1)[5:]
    del first
    other = empty((N, 3))
    assert address(other) != place
    other[:] = 2.0
    assert (view == 1.0).all()
    del view
    again = empty((N, 3))
    assert address(again) == place and (other == 2.0).all()
    assert again.flags.c_contiguous and again.flags.writeable and again.dtype == np.float64


@given(st.lists(st.tuples(st.integers(1, 40), st.booleans()), max_size=30))
def test_live_arrays_never_share_memory(steps):
    live: list[np.ndarray] = []
    for k, (size, drop) in enumerate(steps):
        array = empty((size, N // 4))
        array[:] = k
        live.append(array)
        if drop:
            live.pop(size % len(live))
    values = [array.flat[0] for array in live]
    assert len(set(values)) == len(values)
    assert all((array == value).all() for array, value in zip(live, values, strict=True))
    live.clear()
    assert sum(block.nbytes for block in buffers._free.values()) <= KEPT


def test_small_and_empty_arrays_are_plain_ones():
    assert empty((2, 3)).base is None
    assert empty((0, N)).shape == (0, N)


def test_threads_take_different_memory():
    wrong = []

    def work(number: int) -> None:
        for _ in range(200):
            array = empty((N,))
            array[:] = number
            other = empty((N,))
            other[:] = -number
            if not ((array == number).all() and (other == -number).all()):
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
