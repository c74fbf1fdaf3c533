"""Machine code for batches of simulation steps; the module `steps` prepares the memory it uses.

    brazo_steps(batch) -> 0

The order within a step is the same as in Python: controllers → recorded values before the step →
world → recorded values after the step → next references.  The call returns early

    before a step in which a controller computes a torque that is not finite
    after a step in which a condition of a task does not hold
    after the engine's part of a step with an event (see `world_code`)

The field `done` of `batch` is the number of steps made.  The field `half` is 1 if the last step had
an event: then the caller has to complete this step.
"""

from __future__ import annotations

from functools import lru_cache

from brazo.codegen.emitter import Module, hex_double
from brazo.codegen.flow import WORD, Fields, Flow
from brazo.codegen.jit import MachineCode, build
from brazo.simulation.native.world_code import WORLD, add_world

#: Addresses and counts; `laps` receives the times between the parts of the first step.
BATCH = Fields(
    "steps done half world robot_count robots recording row t before_count before after_count "
    "after reference reference_step sum_contacts clock timed laps condition_count conditions"
)
#: `left` is the number of remaining reference rows from `next_row` on, followed by `rest`.
ROBOT = Fields(
    "n kernel arity arguments state next_state state_size tau torque total reference place "
    "next_row row_step left rest drive drive_arguments drive_state drive_next drive_size"
)
COPY = Fields("to step from count")
CONDITION = Fields("kernel arity arguments value")
LAPS = Fields("start control before engine after")  # pairs of words: s and ns
ARITIES = range(2, 20)  # supported numbers of arguments of controller kernels
DRIVE_ARITY = 9  # of the kernel of real drives: six inputs, three outputs
_HUGE = 1.7976931348623157e308
_TIME_UTC = 1


@lru_cache(maxsize=1)
def batch_code() -> tuple[MachineCode, int]:
    """Return the compiled code of this module and the address of the function `brazo_steps`."""
    module = Module()
    add_world(module)
    for name, text in (
        ("brazo_controllers", _controllers()),
        ("brazo_before", _before()),
        ("brazo_after", _after()),
        ("brazo_next", _next()),
        ("brazo_conditions", _conditions()),
        ("brazo_lap", _lap()),
        ("brazo_steps", _steps()),
    ):
        module.definitions[name] = text
    library = build(module.text())
    return library, library.address("brazo_steps")


def _steps() -> str:
    f = Flow("define i64 @brazo_steps(ptr %s)")
    world = f.get("ptr", "%s", BATCH.world)
    recording = f.binary("icmp ne i64", f.get("i64", "%s", BATCH.recording), 0)
    f.set("i64", 0, "%s", BATCH.half)
    f.set("i64", 0, "%s", BATCH.done)
    steps = f.get("i64", "%s", BATCH.steps)
    with f.each(steps) as i:
        first = f.binary("icmp eq i64", i, 0)
        timed = f.binary("icmp ne i64", f.get("i64", "%s", BATCH.timed), 0)
        timed = f.binary("and i1", timed, first)

        def lap(place: int, timed: str = timed) -> None:
            with f.when(timed):
                f.call("void", "@brazo_lap", "ptr %s", f"i64 {place}")

        lap(LAPS.start)
        with f.unless(f.call("i1", "@brazo_controllers", "ptr %s")):
            f.result("i64 0")
        lap(LAPS.control)
        with f.when(recording):
            f.call("void", "@brazo_before", "ptr %s", f"ptr {world}")
        lap(LAPS.before)
        quiet = f.call("i1", "@brazo_advance", f"ptr {world}")
        lap(LAPS.engine)
        f.set("i64", f.binary("add i64", i, 1), "%s", BATCH.done)
        with f.unless(quiet):
            f.set("i64", 1, "%s", BATCH.half)
            f.result("i64 0")
        with f.when(recording):
            f.call("void", "@brazo_after", "ptr %s", f"ptr {world}")
        lap(LAPS.after)
        f.call("void", "@brazo_next", "ptr %s")
        with f.unless(f.call("i1", "@brazo_conditions", "ptr %s")):
            f.result("i64 0")
    f.result("i64 0")
    return f.text()


def _next() -> str:
    """Return LLVM code that writes the next reference of each robot, like `Sampled.advance`."""
    f = Flow("define internal void @brazo_next(ptr %s)")
    robots = f.get("ptr", "%s", BATCH.robots)
    with f.each(f.get("i64", "%s", BATCH.robot_count)) as i:
        robot = f.item(robots, i, WORD * len(ROBOT))
        left, row = f.get("i64", robot, ROBOT.left), f.get("ptr", robot, ROBOT.next_row)
        more = f.binary("icmp sgt i64", left, 0)
        source = f.choose(more, "ptr", row, f.get("ptr", robot, ROBOT.rest))
        with f.when(f.binary("icmp ne ptr", source, "null")):
            numbers = f.binary("mul i64", f.get("i64", robot, ROBOT.n), 3)
            to = f.get("ptr", robot, ROBOT.reference)
            f.copy(to, source, numbers)
        f.set("ptr", f.at(row, f.get("i64", robot, ROBOT.row_step)), robot, ROBOT.next_row)
        f.set("i64", f.binary("sub i64", left, 1), robot, ROBOT.left)
    f.result()
    return f.text()


def _conditions() -> str:
    """Return LLVM code of a function that returns true if all conditions of tasks hold."""
    f = Flow("define internal i1 @brazo_conditions(ptr %s)")
    first = f.get("ptr", "%s", BATCH.conditions)
    with f.each(f.get("i64", "%s", BATCH.condition_count)) as i:
        one = f.item(first, i, WORD * len(CONDITION))
        kernel, given = f.get("ptr", one, CONDITION.kernel), f.get("ptr", one, CONDITION.arguments)
        f.by_arity("double", kernel, given, f.get("i64", one, CONDITION.arity), ARITIES)
        value = f.load("double", f.get("ptr", one, CONDITION.value))
        with f.unless(f.binary("fcmp ogt double", value, "0.0")):
            f.result("i1 false")
    f.result("i1 true")
    return f.text()


def _lap() -> str:
    """Return LLVM code that stores the current time (s, ns), read with `timespec_get`."""
    f = Flow("define internal void @brazo_lap(ptr %s, i64 %place)")
    to = f.item(f.get("ptr", "%s", BATCH.laps), "%place", 2 * WORD)
    f.call("i32", f.get("ptr", "%s", BATCH.clock), f"ptr {to}", f"i32 {_TIME_UTC}")
    f.result()
    return f.text()


def _controllers() -> str:
    """Return LLVM code that computes and writes the torques of all robots.

    If a torque is not finite, the generated function returns false and writes no torques.
    """
    f = Flow("define internal i1 @brazo_controllers(ptr %s)")
    robots, count = f.get("ptr", "%s", BATCH.robots), f.get("i64", "%s", BATCH.robot_count)
    with f.each(count) as i:
        robot = f.item(robots, i, WORD * len(ROBOT))
        kernel = f.get("ptr", robot, ROBOT.kernel)
        with f.when(f.binary("icmp ne ptr", kernel, "null")):
            given = f.get("ptr", robot, ROBOT.arguments)
            arity = f.get("i64", robot, ROBOT.arity)
            flag = f.by_arity("double", kernel, given, arity, ARITIES).get()
            with f.when(f.binary("fcmp uno double", flag, flag)):
                f.result("i1 false")
            total = f.load("double", f.get("ptr", robot, ROBOT.total))
            above = f.binary("fcmp ogt double", total, hex_double(-_HUGE))
            below = f.binary("fcmp olt double", total, hex_double(_HUGE))
            with f.unless(f.binary("and i1", above, below)):
                f.result("i1 false")
    with f.each(count) as i:
        robot = f.item(robots, i, WORD * len(ROBOT))
        with f.when(f.binary("icmp ne ptr", f.get("ptr", robot, ROBOT.kernel), "null")):
            tau, torque = f.get("ptr", robot, ROBOT.tau), f.get("ptr", robot, ROBOT.torque)
            n = f.get("i64", robot, ROBOT.n)
            f.copy(torque, tau, n)
            state = f.get("ptr", robot, ROBOT.state)
            with f.when(f.binary("icmp ne ptr", state, "null")):
                following = f.get("ptr", robot, ROBOT.next_state)
                size = f.get("i64", robot, ROBOT.state_size)
                f.copy(state, following, size)
        drive = f.get("ptr", robot, ROBOT.drive)
        with f.when(f.binary("icmp ne ptr", drive, "null")):
            given = f.get("ptr", robot, ROBOT.drive_arguments)
            pointers = [f"ptr {f.get('ptr', given, k)}" for k in range(DRIVE_ARITY)]
            f.call("double", drive, *pointers)
            state, following = (
                f.get("ptr", robot, place) for place in (ROBOT.drive_state, ROBOT.drive_next)
            )
            f.copy(state, following, f.get("i64", robot, ROBOT.drive_size))
    f.result("i1 true")
    return f.text()


def _before() -> str:
    """Return LLVM code that stores the state before a step, like `RawRows.before`."""
    f = Flow("define internal void @brazo_before(ptr %s, ptr %world)")
    row = f.get("i64", "%s", BATCH.row)
    now = f.load("double", f.get("ptr", "%world", WORLD.time))
    f.store("double", now, f.item(f.get("ptr", "%s", BATCH.t), row))
    _copies(f, row, BATCH.before_count, BATCH.before)
    step = f.get("i64", "%s", BATCH.reference_step)
    references = f.item(f.get("ptr", "%s", BATCH.reference), row, step)
    robots = f.get("ptr", "%s", BATCH.robots)
    with f.each(f.get("i64", "%s", BATCH.robot_count)) as i:
        robot = f.item(robots, i, WORD * len(ROBOT))
        to = f.at(references, f.get("i64", robot, ROBOT.place))
        numbers = f.binary("mul i64", f.get("i64", robot, ROBOT.n), 3)
        source = f.get("ptr", robot, ROBOT.reference)
        f.copy(to, source, numbers)
    f.result()
    return f.text()


def _after() -> str:
    """Return LLVM code that stores the results of a step, like `RawRows.after`."""
    f = Flow("define internal void @brazo_after(ptr %s, ptr %world)")
    model, data = (f"ptr {f.get('ptr', '%world', place)}" for place in (WORLD.model, WORLD.data))
    f.call("void", f.get("ptr", "%s", BATCH.sum_contacts), model, data)
    row = f.get("i64", "%s", BATCH.row)
    _copies(f, row, BATCH.after_count, BATCH.after)
    f.set("i64", f.binary("add i64", row, 1), "%s", BATCH.row)
    f.result()
    return f.text()


def _copies(f: Flow, row: str, count: int, records: int) -> None:
    """Add code to `f` that copies arrays of the engine into row `row` of the recorded columns.

    `count` and `records` are indices of fields of `BATCH`: the number of arrays to copy, and the
    address of the table that lists them.
    """
    first = f.get("ptr", "%s", records)
    with f.each(f.get("i64", "%s", count)) as i:
        one = f.item(first, i, WORD * len(COPY))
        to = f.item(f.get("ptr", one, COPY.to), row, f.get("i64", one, COPY.step))
        source, numbers = f.get("ptr", one, getattr(COPY, "from")), f.get("i64", one, COPY.count)
        f.copy(to, source, numbers)
