"""LLVM IR as text: `Module` collects functions, `Emitter` writes arithmetic instructions.

An emitter writes the same instructions for one ``double`` (width 1) and for SIMD vectors ``<width x
double>``, so both give bit-identical results.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

__all__ = ["LONG_BLOCK", "MOST_STACK", "Emitter", "Module", "hex_double"]

# Windows would call a stack probe that our objects do not contain; 512-bit registers are welcome.
_ATTRIBUTES = 'attributes #0 = { nounwind "no-stack-arg-probe" "min-legal-vector-width"="512" }'


# Instructions in a basic block.  The time of LLVM's instruction selection and scheduling grows with
# the square of a block's length: the poses of 50 bodies take 7 s in one block, 0.8 s in many.
LONG_BLOCK = 1000

MOST_STACK = 256 * 1024  # bytes for the lanes of a function; threads of some systems have 512 KiB


class Module:
    """An LLVM module: function definitions by name, and declared intrinsics.

    ``fused`` allows fused multiply-adds, see :mod:`llvm`.
    """

    def __init__(self, fused: bool = False) -> None:
        self.fused = fused
        self.definitions: dict[str, str] = {}
        self.declarations: set[str] = set()

    def text(self) -> str:
        return "\n".join([*self.definitions.values(), *sorted(self.declarations), _ATTRIBUTES, ""])


class Emitter:
    """Writer of instructions on ``double`` or ``<width x double>`` values.

    ``lines`` is the function body so far. ``entry_lines`` allocate stack memory and must be placed
    at the start of the function, before any loop. ``stack`` is the allocated size in bytes.
    ``label`` is the current basic block.
    """

    def __init__(self, width: int, module: Module, prefix: str = "v", label: str = "entry"):
        self.width, self.module = width, module
        self.type = "double" if width == 1 else f"<{width} x double>"
        self.int_type = "i64" if width == 1 else f"<{width} x i64>"
        self.suffix = "f64" if width == 1 else f"v{width}f64"
        self.lines: list[str] = []
        self.entry_lines: list[str] = []
        self.stack = 0
        self.label = label
        self._prefix, self._count = prefix, 0
        self._block_start = 0
        self._true = ""

    def text(self, symbol: str) -> str:
        """Return the definition of ``void symbol(ptr in, ptr out)``; its body is ``lines``."""
        head = f"define internal void @{symbol}(ptr %in, ptr %out) #0 {{"
        return "\n".join([head, "entry:", *self.entry_lines, *self.lines, "  ret void", "}"])

    def limit_block(self) -> None:
        """Begin a new basic block if the current one is long.

        LLVM would merge two blocks joined by an unconditional branch. The branch is therefore
        conditional, on a value in memory that is always true.
        """
        if len(self.lines) - self._block_start < LONG_BLOCK:
            return
        if not self._true:
            self._true = self._name()
            self.entry_lines.append(f"  {self._true} = alloca i1")
            self.entry_lines.append(f"  store volatile i1 true, ptr {self._true}")
        test = self.emit(f"load volatile i1, ptr {self._true}")
        after, never = self._name()[1:], self._name()[1:]
        self.put(f"br i1 {test}, label %{after}, label %{never}")
        self.put(f"{never}:")
        self.put("unreachable")
        self._begin(after)

    def repeat(self, count: int, body: Callable[[str], None]) -> None:
        """Emit a loop over 0 to ``count - 1``; ``count`` must be at least 1.

        ``body`` is called with the name of the counter.
        """
        loop, after = self._name()[1:], self._name()[1:]
        before, i = self.label, f"%{loop}.i"
        self.put(f"br label %{loop}")
        self._begin(loop)
        head = len(self.lines)
        body(i)
        self.lines.insert(head, f"  {i} = phi i64 [ 0, %{before} ], [ {i}.next, %{self.label} ]")
        self.put(f"{i}.next = add i64 {i}, 1")
        self.put(f"{i}.more = icmp ult i64 {i}.next, {count}")
        self.put(f"br i1 {i}.more, label %{loop}, label %{after}")
        self._begin(after)

    def emit(self, instruction: str) -> str:
        """Append an instruction and return the name of its result."""
        name = self._name()
        self.lines.append(f"  {name} = {instruction}")
        return name

    def put(self, line: str) -> None:
        """Append a line that has no result: a store, a branch, a label."""
        self.lines.append(line if line.endswith(":") else f"  {line}")

    def any_lane(self, condition: str) -> str:
        """Emit a test whether a condition holds in any lane; return the name of its result."""
        if self.width == 1:
            return condition
        mask, reduce = f"<{self.width} x i1>", f"i1 @llvm.vector.reduce.or.v{self.width}i1"
        self.module.declarations.add(f"declare {reduce}({mask})")
        return self.emit(f"call {reduce}({mask} {condition})")

    def buffer(self, size: int) -> str:
        """Allocate stack memory for ``size`` values; return the name of the pointer."""
        name = self._name()
        self.stack += 8 * self.width * size
        self.entry_lines.append(f"  {name} = alloca [{size} x {self.type}], align {8 * self.width}")
        return name

    def load(self, pointer: str, index: int | str) -> str:
        """Emit the load of element ``index`` of a buffer; return the name of its value."""
        at = self.emit(f"getelementptr {self.type}, ptr {pointer}, i64 {index}")
        return self.emit(f"load {self.type}, ptr {at}, align {8 * self.width}")

    def store(self, value: str, pointer: str, index: int | str) -> None:
        at = self.emit(f"getelementptr {self.type}, ptr {pointer}, i64 {index}")
        self.put(f"store {self.type} {value}, ptr {at}, align {8 * self.width}")

    def number(self, value: float) -> str:
        text = hex_double(value)
        return text if self.width == 1 else f"splat (double {text})"

    def integer(self, value: int) -> str:
        return str(value) if self.width == 1 else f"splat (i64 {value})"

    def fadd(self, a: str, b: str) -> str:
        return self.emit(f"fadd {self.type} {a}, {b}")

    def fsub(self, a: str, b: str) -> str:
        return self.emit(f"fsub {self.type} {a}, {b}")

    def fmul(self, a: str, b: str) -> str:
        return self.emit(f"fmul {self.type} {a}, {b}")

    def fma(self, a: str, b: str, c: str) -> str:
        return self.call("llvm.fma", a, b, c)

    def call(self, intrinsic: str, *args: str) -> str:
        function = f"{self.type} @{intrinsic}.{self.suffix}"
        self.module.declarations.add(f"declare {function}({', '.join([self.type] * len(args))})")
        return self.emit(f"call {function}({', '.join(f'{self.type} {a}' for a in args)})")

    def fdiv(self, a: str, b: str) -> str:
        return self.emit(f"fdiv {self.type} {a}, {b}")

    def fneg(self, a: str) -> str:
        return self.emit(f"fneg {self.type} {a}")

    def magnitude(self, x: str) -> str:
        return self.call("llvm.fabs", x)

    def greater(self, a: str, b: str) -> str:
        """Emit the comparison ``a > b``, false for NaN; return the name of the condition."""
        return self.emit(f"fcmp ogt {self.type} {a}, {b}")

    def nan_beyond(self, x: str, bound: float) -> str:
        inside = self.emit(f"fcmp ole {self.type} {self.magnitude(x)}, {self.number(bound)}")
        return self.choose(inside, x, self.number(float("nan")))

    def bits(self, x: str) -> str:
        return self.emit(f"bitcast {self.type} {x} to {self.int_type}")

    def odd(self, bits: str) -> str:
        low = self.emit(f"and {self.int_type} {bits}, {self.integer(1)}")
        return self.emit(f"icmp ne {self.int_type} {low}, {self.integer(0)}")

    def add_int(self, bits: str, value: int) -> str:
        return self.emit(f"add {self.int_type} {bits}, {self.integer(value)}")

    def choose(self, condition: str, a: str, b: str) -> str:
        test = "i1" if self.width == 1 else f"<{self.width} x i1>"
        return self.emit(f"select {test} {condition}, {self.type} {a}, {self.type} {b}")

    def negate_by_bit1(self, x: str, bits: str) -> str:
        bit = self.emit(f"and {self.int_type} {bits}, {self.integer(2)}")
        sign = self.emit(f"shl {self.int_type} {bit}, {self.integer(62)}")
        flipped = self.emit(f"xor {self.int_type} {self.bits(x)}, {sign}")
        return self.emit(f"bitcast {self.int_type} {flipped} to {self.type}")

    def splat(self, scalar: str) -> str:
        """Emit a vector with the ``double`` ``scalar`` in every lane; return its name."""
        if self.width == 1:
            return scalar
        one = self.emit(f"insertelement {self.type} poison, double {scalar}, i64 0")
        zeros = f"<{self.width} x i32> zeroinitializer"
        return self.emit(f"shufflevector {self.type} {one}, {self.type} poison, {zeros}")

    def _begin(self, label: str) -> None:
        """Begin a basic block."""
        self.put(f"{label}:")
        self.label, self._block_start = label, len(self.lines)

    def _name(self) -> str:
        self._count += 1
        return f"%{self._prefix}{self._count}"


def hex_double(value: float) -> str:
    """Return the exact LLVM IR literal of a double."""
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"
