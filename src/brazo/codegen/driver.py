"""Control flow of the least-squares solver as LLVM IR; the arithmetic comes from graphs.

The unknowns are x, with the initial value x0. The parameters of the problem are p, and mu is the
damping factor. The solver has three phases:

    search   start at x0, then at random points of a sampling box, until one attempt succeeds.
             Take full steps with damping mu * cost, also if the cost increases (this escapes
             shallow minima). An attempt ends after ``iterations`` steps. It also ends if the cost
             after ``patience`` steps is more than ``stall`` times the cost before these steps.
    finish   take one more step from the solution, because convergence is quadratic; keep the new
             point if it is better.
    polish   if every attempt failed, descend monotonically from the best point to a minimum inside
             the limits. Divide mu by 3 if a step reduces the cost, otherwise reject the step and
             multiply mu by 4. Stop when the tolerances are met, after ``polish`` steps, or when mu
             exceeds 1e9.

Every evaluated point is projected into the limits, so no result is outside them. Random points come
from splitmix64 with the caller's seed. The same seed gives the same result, in any batch.

All arguments in memory are arrays of doubles. ``settings`` and ``info`` have the fields of SETTINGS
and INFO. ``status`` in ``info`` is 1 if the problem is solved, 0 if it is not solved, and -1 if p
or x0 is not finite. ``box`` (limits of x) and ``sample`` (sampling box) contain all lower limits,
then all upper limits.
"""

from __future__ import annotations

from brazo.codegen.emitter import hex_double
from brazo.codegen.flow import WORD, Flow

__all__ = ["INFO", "SETTINGS", "driver_functions"]

SETTINGS = ("tol_first", "tol_rest", "mu", "stall", "iterations", "attempts", "patience", "polish")
INFO = ("status", "cost", "first", "rest", "iterations", "attempts")  # first, rest: squared norms

_ONE_THIRD, _MOST_DAMPING = hex_double(1.0 / 3.0), hex_double(1e9)
_INFINITY = hex_double(float("inf"))


def driver_functions(name: str, size: int) -> str:
    """Return the LLVM IR of ``name_solve`` and ``name_solve_many`` for ``size`` unknowns.

    These functions call ``name_step(x, p, mu, box, y, norms)`` and ``name_begin(x, p, box, y)``,
    which the caller generates from graphs. The module must also contain the function of `add_copy`.
    """
    parts = _random(name, size), _good(name), _report(name), _solve(name, size)
    return "\n".join([*parts, _solve_many(name, size)])


def _random(name: str, size: int) -> str:
    """LLVM IR that fills x with a random point between the lower and upper sampling limits.

    The random numbers are from splitmix64.
    """
    f = Flow(f"define internal void @{name}_random(ptr %state, ptr %sample, ptr %x)")
    upper = f.at("%sample", WORD * size)
    with f.each(size) as j:
        h = f.binary("add i64", f.load("i64", "%state"), -7046029254386353131)
        f.store("i64", h, "%state")
        for shift, factor in ((30, -4658895280553007687), (27, -7723592293110705685), (31, 1)):
            h = f.binary("xor i64", h, f.binary("lshr i64", h, shift))
            h = f.binary("mul i64", h, factor)
        number = f.emit(f"uitofp i64 {f.binary('lshr i64', h, 11)} to double")
        u = f.binary("fmul double", number, hex_double(2.0**-53))
        low, high = (f.load("double", f.item(at, j)) for at in ("%sample", upper))
        part = f.binary("fmul double", u, f.binary("fsub double", high, low))
        f.store("double", f.binary("fadd double", low, part), f.item("%x", j))
    f.result()
    return f.text()


def _good(name: str) -> str:
    """LLVM IR of the test that both residual norms are within tolerance; false for NaN."""
    f = Flow(f"define internal i1 @{name}_good(ptr %norms, ptr %settings)")
    within = []
    for k in range(2):
        norm, tolerance = f.get("double", "%norms", k + 1), f.get("double", "%settings", k)
        square = f.binary("fmul double", tolerance, tolerance)
        within.append(f.binary("fcmp ole double", norm, square))
    f.result(f"i1 {f.binary('and i1', *within)}")
    return f.text()


def _report(name: str) -> str:
    """LLVM IR of a function that writes the result record ``info``."""
    f = Flow(
        f"define internal void @{name}_report(ptr %info, ptr %norms, double %status, ptr %count, "
        "ptr %attempt)"
    )
    norms = [f.get("double", "%norms", k) for k in range(3)]
    counts = [f.load("double", at) for at in ("%count", "%attempt")]
    for place, value in enumerate(["%status", *norms, *counts]):
        f.set("double", value, "%info", place)
    f.result()
    return f.text()


def _solve(name: str, size: int) -> str:
    f = Flow(
        f"define void @{name}_solve(ptr %p, ptr %x0, ptr %box, ptr %sample, ptr %settings, "
        "i64 %seed, ptr %x, ptr %info)"
    )
    mu0, stall, iterations, attempts, patience, polish = (
        f.get("double", "%settings", k) for k in range(2, len(SETTINGS))
    )
    state, mu = f.variable("i64", "%seed"), f.variable("double", mu0)
    best, checkpoint = (f.variable("double", _INFINITY) for _ in range(2))
    count, attempt, step, waited = (f.variable("double", "0.0") for _ in range(4))
    z, y, w = (f.room(size) for _ in range(3))
    norms, trial = f.room(3), f.room(3)

    def begin(x: str, y: str) -> str:
        return f.call("double", f"@{name}_begin", f"ptr {x}", "ptr %p", "ptr %box", f"ptr {y}")

    def advance(x: str, y: str, norms: str) -> None:
        given = f"ptr {x}", "ptr %p", f"ptr {mu.name}", "ptr %box", f"ptr {y}", f"ptr {norms}"
        f.call("double", f"@{name}_step", *given)

    def good(norms: str) -> str:
        return f.call("i1", f"@{name}_good", f"ptr {norms}", "ptr %settings")

    def end(norms: str, status: str) -> None:
        given = f"double {status}", f"ptr {count.name}", f"ptr {attempt.name}"
        f.call("void", f"@{name}_report", "ptr %info", f"ptr {norms}", *given)
        f.result()

    def less(a: str, b: str) -> str:
        return f.binary("fcmp olt double", f.get("double", a, 0), f.get("double", b, 0))

    flag = begin("%x0", z)
    f.copy("%x", z, size)
    with f.when(f.binary("fcmp uno double", flag, flag)):
        f.set("double", "-1.0", "%info", 0)
        f.result()
    with f.forever() as starts:
        before = attempt.get()
        with f.when(f.binary("fcmp oge double", before, attempts)):
            f.leave(starts)
        attempt.add("1.0")
        for counter, value in ((step, "0.0"), (waited, "0.0"), (checkpoint, _INFINITY)):
            counter.set(value)
        with f.unless(f.binary("fcmp oeq double", before, "0.0")):
            f.call("void", f"@{name}_random", f"ptr {state.name}", "ptr %sample", f"ptr {y}")
            begin(y, z)
        with f.forever() as search:
            advance(z, y, norms)
            count.add("1.0")
            with f.when(good(norms)):
                f.copy("%x", z, size)
                advance(y, w, trial)
                with f.when(f.binary("and i1", good(trial), less(trial, norms))):
                    f.copy("%x", y, size)
                    end(trial, "1.0")
                end(norms, "1.0")
            cost = f.get("double", norms, 0)
            with f.when(f.binary("fcmp olt double", cost, best.get())):
                best.set(cost)
                f.copy("%x", z, size)
            f.copy(z, y, size)
            with f.when(f.binary("fcmp oge double", step.add("1.0"), iterations)):
                f.leave(search)
            with f.when(f.binary("fcmp oge double", waited.add("1.0"), patience)):
                bar = f.binary("fmul double", checkpoint.get(), stall)
                waited.set("0.0")
                checkpoint.set(cost)
                with f.unless(f.binary("fcmp ole double", cost, bar)):
                    f.leave(search)
    # x is the best point so far, y the next trial.
    mu.set(mu0)
    step.set("0.0")
    advance("%x", y, norms)
    with f.forever() as descent:
        with f.when(f.binary("fcmp ogt double", step.add("1.0"), polish)):
            f.leave(descent)
        advance(y, w, trial)
        count.add("1.0")
        with f.when(less(trial, norms)):
            f.copy("%x", y, size)
            f.copy(norms, trial, 3)
            with f.when(good(norms)):
                end(norms, "1.0")
            mu.set(f.binary("fmul double", mu.get(), _ONE_THIRD))
            f.copy(y, w, size)
            f.again(descent)
        mu.set(damping := f.binary("fmul double", mu.get(), "4.0"))
        with f.when(f.binary("fcmp ogt double", damping, _MOST_DAMPING)):
            f.leave(descent)
        advance("%x", y, trial)
    end(norms, "0.0")
    return f.text()


def _solve_many(name: str, size: int) -> str:
    f = Flow(
        f"define void @{name}_solve_many(i64 %rows, ptr %p, i64 %p_step, ptr %x0, i64 %x0_step, "
        "ptr %box, ptr %sample, ptr %settings, i64 %seed, ptr %x, ptr %info)"
    )
    with f.each("%rows") as k:
        p, x0 = (
            f.item(at, f.binary("mul i64", k, step))
            for at, step in (("%p", "%p_step"), ("%x0", "%x0_step"))
        )
        x, info = (f.item(at, k, WORD * n) for at, n in (("%x", size), ("%info", len(INFO))))
        same = "ptr %box", "ptr %sample", "ptr %settings", "i64 %seed"
        f.call("void", f"@{name}_solve", f"ptr {p}", f"ptr {x0}", *same, f"ptr {x}", f"ptr {info}")
    f.result()
    return f.text()
