"""`Nearest.value` in machine code: the same pairs asked in the same order, so the same distance.

    @brazo_nearest(pair, model, data) -> double

Which pairs need no question is decided by bounding balls with a millimetre to spare, so it does not
matter that the squares are summed up here in another order.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from brazo.codegen.emitter import Module, hex_double
from brazo.codegen.flow import WORD, Fields, Flow
from brazo.internals.mujoco import address
from brazo.world.distances import SPARE, Nearest

#: Two sets of solids: how many, which, the sums of their radii, the pair that was nearest last.
NEAREST = Fields(
    "first_count firsts second_count seconds reach last_first last_second limit points places ask"
)


class NearestRecord:
    """What the machine code reads of a `Nearest`, and where it leaves the pair that is nearest."""

    def __init__(self, nearest: Nearest, words: np.ndarray, data: Any, ask: int) -> None:
        self._nearest, self._words = nearest, words.data
        first, second, reach = nearest.sets
        self._kept = [np.array(first, np.int64), np.array(second, np.int64), np.array(reach)]
        self._points = np.zeros(6)
        firsts, seconds, reaches = map(address, self._kept)
        words[:] = 0
        words[NEAREST.first_count], words[NEAREST.firsts] = len(first), firsts
        words[NEAREST.second_count], words[NEAREST.seconds] = len(second), seconds
        words[NEAREST.reach], words[NEAREST.points] = reaches, address(self._points)
        words[NEAREST.places], words[NEAREST.ask] = address(data.geom_xpos), ask
        words.view(np.float64)[NEAREST.limit] = nearest.limit

    def begin(self) -> None:
        self._words[NEAREST.last_first], self._words[NEAREST.last_second] = self._nearest.last

    def end(self) -> None:
        words = self._words
        self._nearest.last = words[NEAREST.last_first], words[NEAREST.last_second]


def add_nearest(module: Module) -> None:
    """Put the function into a module."""
    f = Flow("define internal double @brazo_nearest(ptr %pair, ptr %model, ptr %data)")
    points, ask = f.get("ptr", "%pair", NEAREST.points), f.get("ptr", "%pair", NEAREST.ask)

    def distance(a: str, b: str, most: str) -> str:
        a, b = (f.emit(f"trunc i64 {solid} to i32") for solid in (a, b))
        given = f"ptr %model, ptr %data, i32 {a}, i32 {b}, double {most}, ptr {points}"
        return f.call("double", ask, given)

    last = f.get("i64", "%pair", NEAREST.last_first), f.get("i64", "%pair", NEAREST.last_second)
    begin = distance(*last, f.get("double", "%pair", NEAREST.limit))
    best = f.variable("double", begin)
    within = f.binary("fadd double", begin, hex_double(SPARE))
    places, reach = f.get("ptr", "%pair", NEAREST.places), f.get("ptr", "%pair", NEAREST.reach)
    firsts, seconds = f.get("ptr", "%pair", NEAREST.firsts), f.get("ptr", "%pair", NEAREST.seconds)
    count = f.get("i64", "%pair", NEAREST.second_count)
    with f.each(f.get("i64", "%pair", NEAREST.first_count)) as i:
        a = f.load("i64", f.item(firsts, i))
        A = f.item(places, a, 3 * WORD)
        with f.each(count) as k:
            b = f.load("i64", f.item(seconds, k))
            B = f.item(places, b, 3 * WORD)
            apart2 = hex_double(0.0)
            for axis in range(3):
                e = f.binary("fsub double", f.get("double", A, axis), f.get("double", B, axis))
                apart2 = f.binary("fadd double", apart2, f.binary("fmul double", e, e))
            pair = f.binary("add i64", f.binary("mul i64", i, count), k)
            most = f.binary("fadd double", f.load("double", f.item(reach, pair)), within)
            with f.when(f.binary("fcmp olt double", apart2, f.binary("fmul double", most, most))):
                found = distance(a, b, best.get())
                with f.when(f.binary("fcmp olt double", found, best.get())):
                    best.set(found)
                    f.set("i64", a, "%pair", NEAREST.last_first)
                    f.set("i64", b, "%pair", NEAREST.last_second)
    f.result(f"double {best.get()}")
    module.definitions["brazo_nearest"] = f.text()
