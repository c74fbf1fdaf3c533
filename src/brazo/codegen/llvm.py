"""Translation of an expression graph to LLVM IR, for single calls and for batches in SIMD lanes.

A kernel becomes two functions of strict IEEE double arithmetic (no fast-math flags):

    double NAME_one (ptr in_0, ..., ptr out_0, ...)
    double NAME_many(i64 rows, ptr in_0, i64 step_0, ..., ptr out_0, ...)

``NAME_one`` reads one contiguous vector per input and writes one per output. ``NAME_many``
processes the rows of C-contiguous (rows, n) arrays. It loads W rows (4 or 8) and transposes them in
registers, runs the same instructions on ``<W x double>`` and transposes the results back. The
remaining rows are computed by ``NAME_one``. ``step_i`` is the distance between the rows of input i
in doubles: the length of a row, or 0 if all rows share the input. Both functions use the same IEEE
operations in the same order, so their results are bit-identical. They return 0, or NaN if an input
is not finite (`_finite_probe`).

If ``fused`` is set in the module, a sum or difference becomes a fused multiply-add if one of its
terms is a product that has no other use. This is decided on the graph, so it does not depend on the
number of lanes or on the CPU.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from brazo.codegen.emitter import MOST_STACK, Emitter, Module
from brazo.codegen.function import Function, GraphFunction
from brazo.codegen.graph import Expr, Graph, live_nodes
from brazo.codegen.llvm_columns import load_columns, row_pointers, store_buffer, store_columns
from brazo.codegen.trigonometry import emit_atan2, emit_sincos

__all__ = ["call_function", "lower_body", "lower_kernel", "lower_lanes", "lower_one"]

_LONG = 100  # outputs of one called function that are worth a loop
_BINARY = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}
_OF_ANGLES = ("input", "const", "add", "sub", "mul", "neg")  # what angles are made of
_EXTREMUM = {"min": "olt", "max": "ogt"}


def lower_kernel(
    module: Module,
    name: str,
    graph: Graph,
    outputs: dict[str, list[Expr]],
    width: int,
    probe_results: bool = False,
) -> None:
    """Define ``NAME_one`` and ``NAME_many`` of a kernel in a module.

    ``width`` is the number of SIMD lanes, 4 or 8, or 1 to compute rows one after another. If
    ``probe_results``, the functions also return NaN if a result is not finite.
    """
    lower_one(module, f"{name}_one", graph, outputs, probe_results=probe_results)
    _lower_many(module, name, graph, outputs, width, probe_results)


def lower_one(
    module: Module,
    name: str,
    graph: Graph,
    outputs: dict[str, list[Expr]],
    probe: Sequence[str] | None = None,
    linkage: str = "",
    probe_results: bool = False,
) -> None:
    """Define ``double name(ptr in_0, ..., ptr out_0, ...)`` in a module.

    The function returns NaN if one of the inputs named in ``probe`` (default: all) is not finite.
    If ``probe_results``, it also returns NaN if a result is not finite. Otherwise it returns 0.
    """
    e = Emitter(1, module)
    inputs = {}
    for i, (key, size) in enumerate(graph.input_sizes.items()):
        for j, value in enumerate(load_columns(e, [f"%in{i}"], size)):
            inputs[key, j] = value
    values = lower_body(e, [x for v in outputs.values() for x in v], inputs)
    probed = [v for (key, _), v in inputs.items() if probe is None or key in probe]
    flag = _finite_probe(e, probed, e.number(0.0))
    if probe_results:
        flag = _finite_probe(e, _result_values(outputs, values), flag)
    for i, expressions in enumerate(outputs.values()):
        _store_output(e, [f"%out{i}"], expressions, values)
    pointers = [f"ptr %in{i}" for i in range(len(graph.input_sizes))]
    pointers += [f"ptr %out{i}" for i in range(len(outputs))]
    head = f"define {linkage} double @{name}({', '.join(pointers)}) #0 {{"
    lines = [head, "entry:", *e.entry_lines, *e.lines, f"  ret double {flag}", "}"]
    module.definitions[name] = "\n".join(lines)


def lower_lanes(function: GraphFunction, symbol: str, module: Module, width: int) -> str:
    """LLVM IR of ``void symbol(ptr in, ptr out)``, which evaluates a function in SIMD lanes."""
    e = Emitter(width, module)
    elements = [(key, j) for key, size in function.inputs.items() for j in range(size)]
    inputs = {element: e.load("%in", i) for i, element in enumerate(elements)}
    values = lower_body(e, function.results, inputs)
    for i, result in enumerate(function.results):
        e.store(values[result], "%out", i)
        e.limit_block()
    return e.text(symbol)


def call_function(e: Emitter, function: Function, args: Sequence[str]) -> str:
    """Emit a function call; return the name of the buffer with all outputs."""
    symbol = function.define(e.module, e.width)
    given = e.buffer(len(args))
    results = given if function.in_place else e.buffer(sum(function.outputs.values()))
    for i, value in enumerate(args):
        e.store(value, given, i)
        e.limit_block()
    e.put(f"call void @{symbol}(ptr {given}, ptr {results})")
    return results


def lower_body(e: Emitter, results: Sequence[Expr], inputs: dict[tuple[str, int], str]) -> Values:
    """Emit all operations that the results need; return the LLVM values of the nodes."""
    values = Values(e)
    nodes = live_nodes(results)
    fused = _fused(nodes, results) if e.module.fused else {}
    products = set(fused.values())
    wanted = {(n.op, n.args[0]) for n in nodes if n.op in ("sin", "cos")}
    if e.width == 1:
        _sines_in_lanes(e, nodes, inputs, values, fused)
    for node in nodes:
        if node in values or node in products or node.op == "pick":
            continue
        op = node.op
        if op in ("sin", "cos"):
            angle = node.args[0]
            want_sin, want_cos = ("sin", angle) in wanted, ("cos", angle) in wanted
            values.sincos(angle, *emit_sincos(e, values[angle], want_sin, want_cos))
        elif op == "call":
            values[node] = call_function(e, node.value, [values[a] for a in node.args])
        else:
            values[node] = _operation(e, node, values, inputs, fused)
        e.limit_block()
    return values


def _fused(nodes: Sequence[Expr], results: Sequence[Expr]) -> dict[Expr, Expr]:
    """Find the sums and differences that become fused multiply-adds.

    Returns a mapping from each of them to the product that it contains. The product has no other
    use.
    """
    uses = Counter(a for node in nodes for a in node.args)
    uses.update(results)
    fused = {}
    for node in nodes:
        if node.op in ("add", "sub"):
            for a in reversed(node.args):
                if a.op == "mul" and uses[a] == 1:
                    fused[node] = a
                    break
    return fused


def _operation(
    e: Emitter,
    node: Expr,
    values: Values,
    inputs: dict[tuple[str, int], str],
    fused: dict[Expr, Expr],
) -> str:
    op = node.op
    if node in fused:
        return _multiply_add(e, node, fused[node], values)
    args = [values[a] for a in node.args]
    if op == "input":
        return inputs[node.value]
    if op == "const":
        return e.number(node.value)
    if op in _BINARY:
        return e.emit(f"{_BINARY[op]} {e.type} {args[0]}, {args[1]}")
    if op == "neg":
        return e.fneg(args[0])
    if op == "atan2":
        return emit_atan2(e, args[0], args[1])
    if op == "sqrt":
        return e.call("llvm.sqrt", args[0])
    if op in _EXTREMUM:
        if op == "max" and any(a.op == "neg" and a.args[0] in node.args for a in node.args):
            return e.magnitude(args[0])  # max(x, −x)
        # NaN for a NaN; which of two zeros is not defined, that would double the instructions.
        inner = e.choose(e.emit(f"fcmp {_EXTREMUM[op]} {e.type} {args[0]}, {args[1]}"), *args)
        return e.choose(e.emit(f"fcmp uno {e.type} {args[0]}, {args[0]}"), args[0], inner)
    positive = e.emit(f"fcmp oge {e.type} {args[0]}, {e.number(0.0)}")
    return e.choose(positive, args[1], args[2])


def _multiply_add(e: Emitter, node: Expr, product: Expr, values: Values) -> str:
    """Emit a sum or difference that contains a product as one fused multiply-add."""
    first, second = node.args
    x, y = (values[a] for a in product.args)
    if product is first:
        other = values[second]
        return e.fma(x, y, e.fneg(other) if node.op == "sub" else other)
    return e.fma(e.fneg(x) if node.op == "sub" else x, y, values[first])


def _sines_in_lanes(
    e: Emitter,
    nodes: Sequence[Expr],
    inputs: dict[tuple[str, int], str],
    values: Values,
    fused: dict[Expr, Expr],
) -> None:
    """Emit sines and cosines for ``NAME_one``, with up to four angles at once in SIMD lanes.

    Only angles that are computed from inputs and constants by sums, differences, products and
    negations are combined. Each lane uses the same operations as code without SIMD, so the results
    are bit-identical.
    """
    known: set[Expr] = set()
    for node in nodes:
        if node.op in _OF_ANGLES and all(a in known for a in node.args):
            known.add(node)
    angles = dict.fromkeys(
        n.args[0] for n in nodes if n.op in ("sin", "cos") and n.args[0] in known
    )
    if len(angles) < 2:
        return
    products = set(fused.values())
    for node in live_nodes(angles):
        if node not in products:
            values[node] = _operation(e, node, values, inputs, fused)
    four = Emitter(4, e.module, "lanes")
    four.lines = e.lines
    waiting = list(angles)
    while len(waiting) > 1:
        group, waiting = waiting[:4], waiting[4:]
        vector = "zeroinitializer"
        for lane, angle in enumerate(group):
            vector = four.emit(
                f"insertelement {four.type} {vector}, double {values[angle]}, i64 {lane}"
            )
        pair = emit_sincos(four, vector, True, True)
        for lane, angle in enumerate(group):
            picked = (four.emit(f"extractelement {four.type} {x}, i64 {lane}") for x in pair)
            values.sincos(angle, *picked)
        e.limit_block()


class Values(dict[Expr, str]):
    """Names of the LLVM values of graph nodes.

    Results of a called function are loaded at each use. If hundreds of results were kept in
    registers, the compiler would have to spill them to memory.
    """

    def __init__(self, e: Emitter):
        self._emitter = e

    def sincos(self, angle: Expr, sine: str, cosine: str) -> None:
        """Store the names of the sine and cosine of an angle; "" if a value is not computed."""
        for op, value in (("sin", sine), ("cos", cosine)):
            if value:
                self[angle.graph._node(op, (angle,))] = value

    def __missing__(self, node: Expr) -> str:
        return self._emitter.load(self[node.args[0]], node.value)


def _lower_many(
    module: Module,
    name: str,
    graph: Graph,
    outputs: dict[str, list[Expr]],
    width: int,
    probe_results: bool,
) -> None:
    in_sizes = list(graph.input_sizes.values())
    out_sizes = [len(v) for v in outputs.values()]
    e = Emitter(width, module, label="blocks")
    ins, outs = range(len(in_sizes)), range(len(out_sizes))
    parameters = ["i64 %rows"]
    parameters += [f"ptr %in{i}, i64 %step{i}" for i in ins]
    parameters += [f"ptr %out{i}" for i in outs]

    probe = _lower_lanes(e, graph, outputs, probe_results) if width > 1 else "%acc"
    if e.stack > MOST_STACK:  # no lanes: every row is one of those left over
        e = Emitter(width, module, label="blocks")
        probe = "%acc"
    end = e.label
    total = "fadd double 0.0, %lanes"
    if width > 1:
        reduce = f"@llvm.vector.reduce.fadd.v{width}f64"
        module.declarations.add(f"declare double {reduce}(double, {e.type})")
        total = f"call double {reduce}(double 0.0, {e.type} %lanes)"
    none = e.number(0.0)
    one_arguments = [f"ptr %r{i}" for i in ins] + [f"ptr %s{i}" for i in outs]
    lines = [
        f"define double @{name}_many({', '.join(parameters)}) #0 {{",
        "entry:",
        *e.entry_lines,
        f"  %full = and i64 %rows, {-width if e.lines else 0}",
        "  %any = icmp sgt i64 %full, 0",
        "  br i1 %any, label %blocks, label %tail",
        "blocks:",
        f"  %i = phi i64 [ 0, %entry ], [ %i_next, %{end} ]",
        f"  %acc = phi {e.type} [ {none}, %entry ], [ {probe}, %{end} ]",
        *e.lines,
        f"  %i_next = add i64 %i, {width}",
        "  %more = icmp slt i64 %i_next, %full",
        "  br i1 %more, label %blocks, label %tail",
        "tail:",
        f"  %start = phi i64 [ 0, %entry ], [ %full, %{end} ]",
        f"  %lanes = phi {e.type} [ {none}, %entry ], [ {probe}, %{end} ]",
        f"  %sum = {total}",
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
    module.definitions[f"{name}_many"] = "\n".join(lines)


def _lower_lanes(
    e: Emitter, graph: Graph, outputs: dict[str, list[Expr]], probe_results: bool
) -> str:
    """Emit the loop body for ``e.width`` rows from row %i on.

    Returns the name of a value that is NaN if an input is not finite (see `_finite_probe`) or, with
    ``probe_results``, if a result is not finite.
    """
    inputs = {}
    for i, (key, size) in enumerate(graph.input_sizes.items()):
        rows = row_pointers(e, f"%in{i}", "%i", f"%step{i}")
        for j, value in enumerate(load_columns(e, rows, size)):
            inputs[key, j] = value
    probe = _finite_probe(e, list(inputs.values()), "%acc")
    values = lower_body(e, [x for v in outputs.values() for x in v], inputs)
    if probe_results:
        probe = _finite_probe(e, _result_values(outputs, values), probe)
    for i, expressions in enumerate(outputs.values()):
        rows = row_pointers(e, f"%out{i}", "%i", str(len(expressions)))
        _store_output(e, rows, expressions, values)
    return probe


def _store_output(e: Emitter, rows: list[str], expressions: list[Expr], values: Values) -> None:
    first = expressions[0]
    if len(expressions) > _LONG and all(
        x.op == "pick" and x.args == first.args and x.value == first.value + j
        for j, x in enumerate(expressions)
    ):
        call = values[first.args[0]]
        buffer = e.emit(f"getelementptr {e.type}, ptr {call}, i64 {first.value}")
        store_buffer(e, rows, len(expressions), buffer)
    else:
        store_columns(e, rows, len(expressions), lambda j: values[expressions[j]])


def _result_values(outputs: dict[str, list[Expr]], values: Values) -> list[str]:
    return [values[x] for v in outputs.values() for x in v]


def _finite_probe(e: Emitter, inputs: list[str], start: str) -> str:
    """Emit ``start + 0 * sum of the inputs``, which is NaN if an input is not finite.

    The value is also NaN if finite inputs near 1e308 overflow the sum. The caller therefore checks
    the inputs again before it raises an error.
    """
    while len(inputs) > 1:  # in pairs: a short chain
        pairs = zip(inputs[::2], inputs[1::2], strict=False)
        inputs = [e.fadd(a, b) for a, b in pairs] + inputs[len(inputs) & ~1 :]
    return e.fma(inputs[0], e.number(0.0), start) if inputs else start
