"""Lowering of an expression graph to LLVM IR text: one value at a time, and lanes across a batch.

A kernel becomes two functions of strict IEEE double arithmetic (no fast-math flag, no contraction):

    double NAME_one (ptr in_0, ..., ptr out_0, ...)
    double NAME_many(i64 rows, ptr in_0, i64 step_0, ..., ptr out_0, ...)

``NAME_one`` reads one contiguous vector per input and writes one per output. ``NAME_many`` walks
rows of C-contiguous (rows, n) arrays as they are: W rows are loaded and transposed in registers,
the same instructions run on ``<W x double>``, W 4 or 8, and the results are transposed back.
``step_i`` is the distance between rows in doubles, n_i or 0 for an input all rows share. The rows
left over run through ``NAME_one``, and since both bodies are the same IEEE operations in the same
order, so are their bits. The value returned is 0, or NaN when an input was not finite.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from brazo.codegen.graph import Expr, Graph, live_nodes
from brazo.codegen.sincos import emit_sincos

__all__ = [
    "Emitter",
    "hex_double",
    "lower_body",
    "lower_function",
    "lower_kernel",
    "module_text",
]

_BINARY = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}
_INTRINSIC = {"min": "llvm.minimum", "max": "llvm.maximum"}


def lower_kernel(name: str, graph: Graph, outputs: dict[str, list[Expr]], width: int) -> str:
    """IR of the two functions of a kernel; ``width`` is 4 or 8 lanes."""
    one, declared = lower_function(f"{name}_one", graph, outputs)
    many, more = _lower_many(name, graph, outputs, width)
    return module_text([one, many], declared | more)


def module_text(functions: Sequence[str], declarations: set[str]) -> str:
    """One IR module from function definitions and the intrinsics they use."""
    return "\n".join([*functions, *sorted(declarations), ATTRIBUTES, ""])


# Windows would call a stack probe that our objects do not contain; 512-bit registers are welcome.
ATTRIBUTES = 'attributes #0 = { nounwind "no-stack-arg-probe" "min-legal-vector-width"="512" }'


class Emitter:
    """Appends instructions on ``double`` (width 1) or ``<width x double>``, naming results."""

    def __init__(self, width: int, prefix: str = "v"):
        self.width = width
        self.type = "double" if width == 1 else f"<{width} x double>"
        self.int_type = "i64" if width == 1 else f"<{width} x i64>"
        self.suffix = "f64" if width == 1 else f"v{width}f64"
        self.lines: list[str] = []
        self.declarations: set[str] = set()
        self._prefix, self._count = prefix, 0

    def emit(self, instruction: str) -> str:
        self._count += 1
        name = f"%{self._prefix}{self._count}"
        self.lines.append(f"  {name} = {instruction}")
        return name

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
        self.declarations.add(f"declare {function}({', '.join([self.type] * len(args))})")
        return self.emit(f"call {function}({', '.join(f'{self.type} {a}' for a in args)})")

    def nan_beyond(self, x: str, bound: float) -> str:
        magnitude = self.call("llvm.fabs", x)
        inside = self.emit(f"fcmp ole {self.type} {magnitude}, {self.number(bound)}")
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


def lower_function(
    name: str,
    graph: Graph,
    outputs: dict[str, list[Expr]],
    probe: Sequence[str] | None = None,
    linkage: str = "",
) -> tuple[str, set[str]]:
    """The definition of ``double name(ptr in_0, ..., ptr out_0, ...)`` and what it declares.

    It returns 0, or NaN when one of the inputs named in ``probe`` (all by default) is not finite.
    """
    e = Emitter(1)
    inputs = {}
    for i, (key, size) in enumerate(graph.input_sizes.items()):
        for j in range(size):
            p = e.emit(f"getelementptr double, ptr %in{i}, i64 {j}")
            inputs[key, j] = e.emit(f"load double, ptr {p}, align 8")
    values = iter(lower_body(e, [x for v in outputs.values() for x in v], inputs))
    probed = [v for (key, _), v in inputs.items() if probe is None or key in probe]
    flag = _finite_probe(e, probed, e.number(0.0))
    for i, expressions in enumerate(outputs.values()):
        for j in range(len(expressions)):
            p = e.emit(f"getelementptr double, ptr %out{i}, i64 {j}")
            e.lines.append(f"  store double {next(values)}, ptr {p}, align 8")
    pointers = [f"ptr %in{i}" for i in range(len(graph.input_sizes))]
    pointers += [f"ptr %out{i}" for i in range(len(outputs))]
    head = f"define {linkage} double @{name}({', '.join(pointers)}) #0"
    return "\n".join([f"{head} {{", *e.lines, f"  ret double {flag}", "}"]), e.declarations


def lower_body(
    e: Emitter, results: Sequence[Expr], inputs: dict[tuple[str, int], str]
) -> list[str]:
    """Emit all operations the results need; returns the LLVM value of each result."""
    values: dict[Expr, str] = {}
    nodes = live_nodes(results)
    wanted = {(n.op, n.args[0]) for n in nodes if n.op in ("sin", "cos")}
    for node in nodes:
        if node in values:
            continue
        op, args = node.op, [values[a] for a in node.args]
        if op == "input":
            values[node] = inputs[node.value]
        elif op == "const":
            values[node] = e.number(node.value)
        elif op in _BINARY:
            values[node] = e.emit(f"{_BINARY[op]} {e.type} {args[0]}, {args[1]}")
        elif op == "neg":
            values[node] = e.emit(f"fneg {e.type} {args[0]}")
        elif op in ("sin", "cos"):
            angle, g = node.args[0], node.graph
            want_sin, want_cos = ("sin", angle) in wanted, ("cos", angle) in wanted
            s, c = emit_sincos(e, args[0], want_sin, want_cos)
            if want_sin:
                values[g._node("sin", (angle,))] = s
            if want_cos:
                values[g._node("cos", (angle,))] = c
        elif op == "sqrt":
            values[node] = e.call("llvm.sqrt", args[0])
        elif op in _INTRINSIC:
            values[node] = e.call(_INTRINSIC[op], *args)
        else:
            positive = e.emit(f"fcmp oge {e.type} {args[0]}, {e.number(0.0)}")
            values[node] = e.choose(positive, args[1], args[2])
    return [values[r] for r in results]


def hex_double(value: float) -> str:
    """The exact IR spelling of a double."""
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


def _lower_many(
    name: str, graph: Graph, outputs: dict[str, list[Expr]], width: int
) -> tuple[str, set[str]]:
    in_sizes = list(graph.input_sizes.values())
    out_sizes = [len(v) for v in outputs.values()]
    e = Emitter(width)
    ins, outs = range(len(in_sizes)), range(len(out_sizes))
    parameters = ["i64 %rows"]
    parameters += [f"ptr %in{i}, i64 %step{i}" for i in ins]
    parameters += [f"ptr %out{i}" for i in outs]

    inputs = {}
    for i, (key, size) in enumerate(zip(graph.input_sizes, in_sizes, strict=True)):
        for j, value in enumerate(_load_rows(e, i, size)):
            inputs[key, j] = value
    probe = _finite_probe(e, list(inputs.values()), "%acc")
    values = lower_body(e, [x for v in outputs.values() for x in v], inputs)
    start = 0
    for i, size in enumerate(out_sizes):
        _store_rows(e, i, size, values[start : start + size])
        start += size

    reduce = f"@llvm.vector.reduce.fadd.v{width}f64"
    e.declarations.add(f"declare double {reduce}(double, {e.type})")
    one_arguments = [f"ptr %r{i}" for i in ins] + [f"ptr %s{i}" for i in outs]
    lines = [
        f"define double @{name}_many({', '.join(parameters)}) #0 {{",
        "entry:",
        f"  %full = and i64 %rows, {-width}",
        "  %any = icmp sgt i64 %full, 0",
        "  br i1 %any, label %blocks, label %tail",
        "blocks:",
        "  %i = phi i64 [ 0, %entry ], [ %i_next, %blocks ]",
        f"  %acc = phi {e.type} [ zeroinitializer, %entry ], [ {probe}, %blocks ]",
        *e.lines,
        f"  %i_next = add i64 %i, {width}",
        "  %more = icmp slt i64 %i_next, %full",
        "  br i1 %more, label %blocks, label %tail",
        "tail:",
        "  %start = phi i64 [ 0, %entry ], [ %full, %blocks ]",
        f"  %lanes = phi {e.type} [ zeroinitializer, %entry ], [ {probe}, %blocks ]",
        f"  %sum = call double {reduce}(double 0.0, {e.type} %lanes)",
        "  %left = icmp slt i64 %start, %rows",
        "  br i1 %left, label %rest, label %done",
        "rest:",
        "  %k = phi i64 [ %start, %tail ], [ %k_next, %rest ]",
        "  %seen = phi double [ %sum, %tail ], [ %seen_next, %rest ]",
        *(f"  %a{i} = mul i64 %k, %step{i}" for i in ins),
        *(f"  %r{i} = getelementptr double, ptr %in{i}, i64 %a{i}" for i in ins),
        *(f"  %b{i} = mul i64 %k, {out_sizes[i]}" for i in outs),
        *(f"  %s{i} = getelementptr double, ptr %out{i}, i64 %b{i}" for i in outs),
        f"  %one = call double @{name}_one({', '.join(one_arguments)})",
        "  %seen_next = fadd double %seen, %one",
        "  %k_next = add i64 %k, 1",
        "  %again = icmp slt i64 %k_next, %rows",
        "  br i1 %again, label %rest, label %done",
        "done:",
        "  %flag = phi double [ %sum, %tail ], [ %seen_next, %rest ]",
        "  ret double %flag",
        "}",
    ]
    return "\n".join(lines), e.declarations


def _finite_probe(e: Emitter, inputs: list[str], start: str) -> str:
    """``start + 0 * sum of the inputs``: NaN when an input is not finite. It is NaN too when finite
    inputs near 1e308 overflow the sum; whoever asks looks again before complaining."""
    while len(inputs) > 1:  # in pairs: a short chain
        pairs = zip(inputs[::2], inputs[1::2], strict=False)
        inputs = [e.fadd(a, b) for a, b in pairs] + inputs[len(inputs) & ~1 :]
    return e.fma(inputs[0], e.number(0.0), start) if inputs else start


def _load_rows(e: Emitter, i: int, size: int) -> list[str]:
    """Columns of W rows of input i, as vectors over the rows."""
    first = e.emit(f"mul i64 %i, %step{i}")
    rows = []
    for lane in range(e.width):
        offset = first if lane == 0 else e.emit(f"add i64 {rows[-1][1]}, %step{i}")
        rows.append((e.emit(f"getelementptr double, ptr %in{i}, i64 {offset}"), offset))
    columns: list[str] = []
    for start, count in _chunks(size):
        parts: list[list[str]] = []
        for group in range(0, e.width, 4):
            loaded = []
            for pointer, _ in rows[group : group + 4]:
                p = e.emit(f"getelementptr double, ptr {pointer}, i64 {start}")
                loaded.append(e.emit(f"load <{count} x double>, ptr {p}, align 8"))
            parts.append(_rows_to_columns(e, loaded, count))
        columns += [_join(e, [part[c] for part in parts]) for c in range(count)]
    return columns


def _store_rows(e: Emitter, i: int, size: int, columns: list[str]) -> None:
    first = e.emit(f"mul i64 %i, {size}")
    for start, count in _chunks(size):
        for group in range(0, e.width, 4):
            four = columns[start : start + count]
            if e.width > 4:
                picks = _mask(range(group, group + 4))
                four = [
                    e.emit(f"shufflevector {e.type} {c}, {e.type} poison, {picks}") for c in four
                ]
            for lane, row in enumerate(_columns_to_rows(e, four, count)):
                offset = e.emit(f"add i64 {first}, {(group + lane) * size + start}")
                p = e.emit(f"getelementptr double, ptr %out{i}, i64 {offset}")
                e.lines.append(f"  store <{count} x double> {row}, ptr {p}, align 8")


def _chunks(size: int) -> list[tuple[int, int]]:
    """Split a row into pieces of 4, 2 and 1 columns: (start, count)."""
    pieces, start = [], 0
    while start < size:
        count = 4 if size - start >= 4 else 2 if size - start >= 2 else 1
        pieces.append((start, count))
        start += count
    return pieces


def _rows_to_columns(e: Emitter, rows: list[str], count: int) -> list[str]:
    """Transpose 4 rows of ``count`` columns into ``count`` vectors of 4."""
    if count == 4:
        return _transpose4(e, rows)
    if count == 2:
        a = _shuffle(e, 2, rows[0], rows[2], (0, 1, 2, 3))
        b = _shuffle(e, 2, rows[1], rows[3], (0, 1, 2, 3))
        return [_shuffle(e, 4, a, b, (0, 4, 2, 6)), _shuffle(e, 4, a, b, (1, 5, 3, 7))]
    a = _shuffle(e, 1, rows[0], rows[1], (0, 1))
    b = _shuffle(e, 1, rows[2], rows[3], (0, 1))
    return [_shuffle(e, 2, a, b, (0, 1, 2, 3))]


def _columns_to_rows(e: Emitter, columns: list[str], count: int) -> list[str]:
    if count == 4:
        return _transpose4(e, columns)
    if count == 2:
        low = _shuffle(e, 4, columns[0], columns[1], (0, 4, 2, 6))
        high = _shuffle(e, 4, columns[0], columns[1], (1, 5, 3, 7))
        return [_shuffle(e, 4, v, v, pick) for pick in ((0, 1), (2, 3)) for v in (low, high)]
    return [_shuffle(e, 4, columns[0], columns[0], (lane,)) for lane in range(4)]


def _transpose4(e: Emitter, v: list[str]) -> list[str]:
    t0, t1 = (_shuffle(e, 4, v[0], v[1], m) for m in ((0, 4, 2, 6), (1, 5, 3, 7)))
    t2, t3 = (_shuffle(e, 4, v[2], v[3], m) for m in ((0, 4, 2, 6), (1, 5, 3, 7)))
    low, high = (0, 1, 4, 5), (2, 3, 6, 7)
    return [
        _shuffle(e, 4, t0, t2, low),
        _shuffle(e, 4, t1, t3, low),
        _shuffle(e, 4, t0, t2, high),
        _shuffle(e, 4, t1, t3, high),
    ]


def _join(e: Emitter, parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else _shuffle(e, 4, parts[0], parts[1], range(8))


def _shuffle(e: Emitter, lanes: int, a: str, b: str, picks: Sequence[int] | range) -> str:
    t = f"<{lanes} x double>"
    return e.emit(f"shufflevector {t} {a}, {t} {b}, {_mask(picks)}")


def _mask(picks: Sequence[int] | range) -> str:
    return f"<{len(picks)} x i32> <{', '.join(f'i32 {p}' for p in picks)}>"
