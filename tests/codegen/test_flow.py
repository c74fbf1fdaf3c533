"""Control flow in IR against the same in Python."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from brazo.codegen.call_route import native
from brazo.codegen.emitter import Module, hex_double
from brazo.codegen.flow import WORD, Fields, Flow
from brazo.codegen.jit import build
from brazo.codegen.native import address

pytestmark = pytest.mark.skipif(not native(), reason="no machine code on this route")
RECORD = Fields("count values limit above first")


def function(flow: Flow, name: str, kind: type) -> object:
    module = Module()
    module.definitions[name] = flow.text()
    library = build(module.text())
    call = ctypes.CFUNCTYPE(kind, ctypes.c_void_p)(library.address(name))
    call.library = library  # type: ignore[attr-defined]
    return call


def test_a_loop_with_conditions_counters_and_an_early_result():
    """Sums up, counts what is above a limit, and stops at the first value that is not a number."""
    f = Flow("define double @total(ptr %r)")
    total, above = f.variable("double", hex_double(0.0)), f.variable("i64", 0)
    values, limit = f.get("ptr", "%r", RECORD.values), f.get("double", "%r", RECORD.limit)
    f.set("i64", -1, "%r", RECORD.first)
    with f.each(f.get("i64", "%r", RECORD.count)) as i:
        x = f.load("double", f.item(values, i))
        with f.when(f.binary("fcmp uno double", x, x)):
            f.set("i64", i, "%r", RECORD.first)
            f.result(f"double {total.get()}")
        with f.unless(f.binary("fcmp ole double", x, limit)):
            above.add(1)
        total.set(f.binary("fadd double", total.get(), x))
    f.set("i64", above.get(), "%r", RECORD.above)
    f.result(f"double {total.get()}")
    call = function(f, "total", ctypes.c_double)
    rng = np.random.default_rng(0)
    for n in (0, 1, 7, 50):
        values = rng.normal(size=n)
        record = np.zeros(len(RECORD), np.int64)
        record[RECORD.count], record[RECORD.values] = n, address(values)
        record.view(np.float64)[RECORD.limit] = 0.3
        found = 0.0
        for x in values.tolist():
            found += x
        assert call(address(record)) == found
        assert (record[RECORD.above], record[RECORD.first]) == ((values > 0.3).sum(), -1)
    values[3] = np.nan
    assert call(address(record)) == ((values[0] + values[1]) + values[2])
    assert record[RECORD.first] == 3


def test_a_loop_without_end_is_left_or_continued_from_inside():
    """The sum of the odd numbers below a limit."""
    f = Flow("define i64 @odd(ptr %r)")
    limit, total, i = f.get("i64", "%r", 0), f.variable("i64", 0), f.variable("i64", -1)
    with f.forever() as loop:
        now = i.add(1)
        with f.when(f.binary("icmp sge i64", now, limit)):
            f.leave(loop)
        with f.when(f.binary("icmp eq i64", f.binary("and i64", now, 1), 0)):
            f.again(loop)
        total.add(now)
    f.result(f"i64 {total.get()}")
    call = function(f, "odd", ctypes.c_int64)
    for n in (0, 1, 2, 9, 10):
        assert call(address(np.array([n]))) == sum(range(1, n, 2))


def test_functions_are_called_with_their_number_of_pointers():
    module = Module()
    for arity in (2, 3):
        f = Flow(f"define double @add{arity}({', '.join(f'ptr %a{i}' for i in range(arity))})")
        total = hex_double(0.0)
        for i in range(arity):
            total = f.binary("fadd double", total, f.load("double", f"%a{i}"))
        f.result(f"double {total}")
        module.definitions[f"add{arity}"] = f.text()
    f = Flow("define double @call(ptr %r)")  # function, arity, arguments
    arguments, arity = f.at("%r", 2 * WORD), f.get("i64", "%r", 1)
    found = f.by_arity("double", f.get("ptr", "%r", 0), arguments, arity, range(1, 5))
    f.result(f"double {found.get()}")
    module.definitions["call"] = f.text()
    library = build(module.text())
    call = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_void_p)(library.address("call"))
    numbers = np.array([1.5, 2.25, 4.0])
    places = [address(numbers[i : i + 1]) for i in range(3)]
    for count in (2, 3):
        record = np.array([library.address(f"add{count}"), count, *places], np.int64)
        assert call(address(record)) == numbers[:count].sum()


def test_fields_have_indices_and_a_length():
    assert (len(RECORD), RECORD.count, RECORD.first) == (5, 0, 4)
    with pytest.raises(AttributeError, match="nothing"):
        _ = RECORD.nothing
