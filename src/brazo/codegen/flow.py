"""LLVM IR with control flow: loops, conditions, memory access and function calls.

:mod:`emitter` writes arithmetic; this module writes the code around it. A record in memory is a
sequence of 8-byte words (addresses, counts, doubles), named by :class:`Fields`. Variables are on
the stack.

    FIELDS = Fields("count values total")
    f = Flow("define double @sum(ptr %record)")
    total = f.variable("double", "0.0")
    values = f.get("ptr", "%record", FIELDS.values)
    with f.each(f.get("i64", "%record", FIELDS.count)) as i:
        total.set(f.binary("fadd double", total.get(), f.load("double", f.item(values, i))))
    f.result(f"double {total.get()}")
    module.definitions["sum"] = f.text()

The arithmetic is strict IEEE 754 (no fast-math flags).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from brazo.codegen.emitter import Module

__all__ = ["Fields", "Flow", "Variable", "add_copy"]

WORD = 8  # bytes


class Fields:
    """Names of the words of a record: `fields.name` is the index of word `name`."""

    def __init__(self, names: str) -> None:
        self.names = tuple(names.split())
        for i, name in enumerate(self.names):
            setattr(self, name, i)

    def __len__(self) -> int:
        return len(self.names)

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> int: ...


class Variable:
    """A stack variable of the generated function; `get` and `set` emit loads and stores."""

    def __init__(self, flow: Flow, kind: str, name: str) -> None:
        self._flow, self.kind, self.name = flow, kind, name

    def get(self) -> str:
        return self._flow.emit(f"load {self.kind}, ptr {self.name}")

    def set(self, value: str | int) -> None:
        self._flow.put(f"store {self.kind} {value}, ptr {self.name}")

    def add(self, value: str | int) -> str:
        """Emit an increment by ``value``; return the name of the new value."""
        operation = "fadd" if self.kind == "double" else "add"
        self.set(total := self._flow.emit(f"{operation} {self.kind} {self.get()}, {value}"))
        return total


class Flow:
    """Writer of the LLVM IR of one function; `head` is its `define` line without the brace."""

    def __init__(self, head: str) -> None:
        self._head = head
        self._entry: list[str] = []
        self._lines: list[str] = []
        self._count = 0
        self._ended = False  # the current block is terminated

    def text(self) -> str:
        """Return the complete definition of the function."""
        lines = [f"{self._head} #0 {{", "entry:", *self._entry, "  br label %begin", "begin:"]
        return "\n".join([*lines, *self._lines, "}"])

    # ---- values ----------------------------------------------------------------------------

    def emit(self, instruction: str) -> str:
        """Append an instruction; return the name of its result."""
        name = self._name()
        self._lines.append(f"  {name} = {instruction}")
        return name

    def put(self, line: str) -> None:
        """Append a line that has no result."""
        self._lines.append(f"  {line}")

    def variable(self, kind: str, value: str | int) -> Variable:
        """Allocate a stack variable and emit the store of its initial value."""
        name = self._name()
        self._entry.append(f"  {name} = alloca {kind}")
        found = Variable(self, kind, name)
        found.set(value)
        return found

    def room(self, words: int) -> str:
        """Allocate ``words`` 8-byte words on the stack; return the name of the pointer."""
        name = self._name()
        self._entry.append(f"  {name} = alloca [{words} x i64]")
        return name

    def binary(self, operation: str, a: str | int, b: str | int) -> str:
        """Emit a binary operation, e.g. `add i64` or `icmp eq ptr`; return the result's name."""
        return self.emit(f"{operation} {a}, {b}")

    def choose(self, condition: str, kind: str, a: str | int, b: str | int) -> str:
        return self.emit(f"select i1 {condition}, {kind} {a}, {kind} {b}")

    # ---- memory ----------------------------------------------------------------------------

    def at(self, pointer: str, offset: str | int) -> str:
        """Emit a pointer advanced by ``offset`` bytes; return its name."""
        return self.emit(f"getelementptr i8, ptr {pointer}, i64 {offset}")

    def item(self, pointer: str, index: str | int, size: str | int = WORD) -> str:
        """Emit a pointer to an array element; ``size`` is the size of an element in bytes."""
        return self.at(pointer, self.binary("mul i64", index, size))

    def load(self, kind: str, pointer: str) -> str:
        return self.emit(f"load {kind}, ptr {pointer}")

    def store(self, kind: str, value: str | int, pointer: str) -> None:
        self.put(f"store {kind} {value}, ptr {pointer}")

    def get(self, kind: str, record: str, place: int) -> str:
        """Emit the load of word number ``place`` of a record; return the name of the value."""
        return self.load(kind, self.at(record, WORD * place))

    def set(self, kind: str, value: str | int, record: str, place: int) -> None:
        self.store(kind, value, self.at(record, WORD * place))

    def call(self, kind: str, function: str, *arguments: str) -> str:
        """Emit the call of a function (a name or an address) with arguments like `ptr %x`.

        Returns the name of the result, or "" if ``kind`` is `void`.
        """
        line = f"call {kind} {function}({', '.join(arguments)})"
        if kind == "void":
            self.put(line)
            return ""
        return self.emit(line)

    def copy(self, to: str, source: str, count: str | int) -> None:
        """Emit a copy of `count` doubles; `add_copy` must have been called for the module."""
        self.call("void", "@brazo_copy", f"ptr {to}", f"ptr {source}", f"i64 {count}")

    # ---- control ---------------------------------------------------------------------------

    @contextmanager
    def when(self, condition: str) -> Iterator[None]:
        """Context manager: code emitted in its body runs only if the condition holds."""
        inside, after = self._label(), self._label()
        self.put(f"br i1 {condition}, label %{inside}, label %{after}")
        self._begin(inside)
        yield
        self._go_to(after)
        self._begin(after)

    @contextmanager
    def unless(self, condition: str) -> Iterator[None]:
        with self.when(self.emit(f"xor i1 {condition}, true")):
            yield

    @contextmanager
    def each(self, count: str | int) -> Iterator[str]:
        """Context manager: code emitted in its body runs in a loop over the index 0 to count − 1.

        Yields the name of the index.
        """
        i = self.variable("i64", 0)
        test, inside, after = self._label(), self._label(), self._label()
        self._go_to(test)
        self._begin(test)
        now = i.get()
        more = self.binary("icmp slt i64", now, count)
        self.put(f"br i1 {more}, label %{inside}, label %{after}")
        self._begin(inside)
        yield now
        if not self._ended:
            i.set(self.binary("add i64", now, 1))
        self._go_to(test)
        self._begin(after)

    @contextmanager
    def forever(self) -> Iterator[tuple[str, str]]:
        """Context manager: code emitted in its body runs in a loop until `result` or `leave`.

        Yields a handle of the loop, the argument of `again` and `leave`.
        """
        inside, after = self._label(), self._label()
        self._go_to(inside)
        self._begin(inside)
        yield inside, after
        self._go_to(inside)
        self._begin(after)

    def again(self, loop: tuple[str, str]) -> None:
        """Emit a jump to the beginning of a `forever` loop (continue)."""
        self._go_to(loop[0])
        self._ended = True

    def leave(self, loop: tuple[str, str]) -> None:
        """Emit a jump out of a `forever` loop (break)."""
        self._go_to(loop[1])
        self._ended = True

    def result(self, value: str = "void") -> None:
        """Emit a return instruction; ``value`` is the type and value, e.g. `i64 0`."""
        self.put(f"ret {value}")
        self._ended = True

    def by_arity(
        self, kind: str, function: str, pointers: str, count: str, arities: Sequence[int]
    ) -> Variable:
        """Emit the call of a function with `count` pointer arguments, which are read from an array.

        `count` is a run-time value and must be one of `arities`. Returns a variable with the
        result.
        """
        found = self.variable(kind, "0.0" if kind == "double" else 0)
        for arity in arities:
            with self.when(self.binary("icmp eq i64", count, arity)):
                given = [f"ptr {self.get('ptr', pointers, i)}" for i in range(arity)]
                found.set(self.call(kind, function, *given))
        return found

    def _go_to(self, label: str) -> None:
        if not self._ended:
            self.put(f"br label %{label}")

    def _begin(self, label: str) -> None:
        self._lines.append(f"{label}:")
        self._ended = False

    def _label(self) -> str:
        return self._name()[1:]

    def _name(self) -> str:
        self._count += 1
        return f"%v{self._count}"


def add_copy(module: Module) -> None:
    """Define the function `brazo_copy(to, from, n)` in a module; it copies n doubles."""
    f = Flow("define internal void @brazo_copy(ptr %to, ptr %from, i64 %n)")
    fours = f.binary("lshr i64", "%n", 2)
    with f.each(fours) as i:
        values = f.emit(f"load <4 x double>, ptr {f.item('%from', i, 4 * WORD)}, align 8")
        f.put(f"store <4 x double> {values}, ptr {f.item('%to', i, 4 * WORD)}, align 8")
    done = f.binary("shl i64", fours, 2)
    with f.each(f.binary("sub i64", "%n", done)) as i:
        k = f.binary("add i64", i, done)
        f.store("double", f.load("double", f.item("%from", k)), f.item("%to", k))
    f.result()
    module.definitions["brazo_copy"] = f.text()
