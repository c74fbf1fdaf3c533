"""Many steps of a simulation in one call of machine code; `maker` prepares it.

    brazo_stretch(stretch) -> 0      up to `steps` steps, with the same bits as one by one

A step is what `Simulation` makes of it: references → laws → rows "before" → world → rows "after" →
next references.  The call returns

* before a step whose law gives no finite torque, or at which a task wants to look (`GUARD`),
* after a step that was not quiet (see `world_code`): its second half, from what there is to tell
  on, is then left to the caller,
* after `steps` whole steps.

`done` says how many steps were made, `open` whether the last one is half.  A clock read in some of
the steps says where their time goes.
"""

from __future__ import annotations

from functools import lru_cache

from brazo.codegen.emitter import Module, hex_double
from brazo.codegen.flow import WORD, Fields, Flow, Variable
from brazo.codegen.jit import Library, build
from brazo.simulation.stretch.distance_code import NEAREST, add_nearest
from brazo.simulation.stretch.world_code import WORLD, add_world

STRETCH = Fields(
    "world steps done open robot_count robots recording row t before_count before after_count "
    "after reference reference_step sum_contacts pair_count pairs distances distance every since "
    "guard_count guards clock timer control engine keeping"
)
ROBOT = Fields(
    "n law arity arguments state next_state tau torque total row row_step left rest place"
)
COPY = Fields("to step from count")
GUARD = Fields("function arity arguments value")
ARITIES = range(2, 20)  # of laws and guards
EVERY = 17  # steps, of which one is timed
_HUGE = 1.7976931348623157e308
_TIME_UTC = 1


@lru_cache(maxsize=1)
def stretch_code() -> tuple[Library, int]:
    """The machine code and where it begins; compiled once per machine."""
    module = Module()
    add_world(module)
    add_nearest(module)
    for name, text in (
        ("brazo_laws", _laws()),
        ("brazo_begin", _begin()),
        ("brazo_finish", _finish()),
        ("brazo_go_on", _go_on()),
        ("brazo_guarded", _guarded()),
        ("brazo_stretch", _stretch()),
    ):
        module.definitions[name] = text
    library = build(module.text())
    return library, library.address("brazo_stretch")


def _stretch() -> str:
    f = Flow("define i64 @brazo_stretch(ptr %s)")
    world, room = f.get("ptr", "%s", STRETCH.world), f.room(2)
    recording = f.binary("icmp ne i64", f.get("i64", "%s", STRETCH.recording), 0)
    steps = f.get("i64", "%s", STRETCH.steps)
    f.set("i64", 0, "%s", STRETCH.open)
    f.set("i64", 0, "%s", STRETCH.done)
    with f.each(steps) as i:
        timer = f.binary("add i64", f.get("i64", "%s", STRETCH.timer), 1)
        timed = f.binary("icmp sge i64", timer, EVERY)
        f.set("i64", f.choose(timed, "i64", 0, timer), "%s", STRETCH.timer)
        lap = _Laps(f, timed, room)
        later = f.binary("icmp ne i64", i, 0)  # the tasks were asked before the first
        with f.when(later), f.unless(f.call("i1", "@brazo_guarded", "ptr %s")):
            f.result("i64 0")
        with f.unless(f.call("i1", "@brazo_laws", "ptr %s")):
            f.result("i64 0")
        control = lap()
        with f.when(recording):
            f.call("void", "@brazo_begin", "ptr %s")
        keeping = lap()
        quiet = f.call("i1", "@brazo_advance", f"ptr {world}")
        f.set("i64", f.binary("add i64", i, 1), "%s", STRETCH.done)
        with f.unless(quiet):
            f.set("i64", 1, "%s", STRETCH.open)
            f.result("i64 0")
        engine = lap()
        with f.when(recording):
            f.call("void", "@brazo_finish", "ptr %s", f"ptr {world}")
        kept = lap()
        f.call("void", "@brazo_go_on", "ptr %s")
        gone = lap()
        with f.when(timed):
            for place, parts in (
                (STRETCH.control, (control, gone)),
                (STRETCH.keeping, (keeping, kept)),
                (STRETCH.engine, (engine,)),
            ):
                total = f.get("i64", "%s", place)
                for part in parts:
                    total = f.binary("add i64", total, part.get())
                f.set("i64", total, "%s", place)
    f.result("i64 0")
    return f.text()


class _Laps:
    """Times (ns) between calls, in steps that are timed."""

    def __init__(self, f: Flow, timed: str, room: str) -> None:
        self._f, self._timed, self._room = f, timed, room
        self._last = f.variable("i64", 0)
        with f.when(timed):
            self._last.set(self._now())

    def __call__(self) -> Variable:
        found = self._f.variable("i64", 0)
        with self._f.when(self._timed):
            now = self._now()
            found.set(self._f.binary("sub i64", now, self._last.get()))
            self._last.set(now)
        return found

    def _now(self) -> str:
        """The C library's `timespec_get`: seconds in the first word, nanoseconds in the second."""
        f = self._f
        clock = f.get("ptr", "%s", STRETCH.clock)
        f.call("i32", clock, f"ptr {self._room}", f"i32 {_TIME_UTC}")
        nanoseconds = f.emit(f"zext i32 {f.get('i32', self._room, 1)} to i64")
        seconds = f.binary("mul i64", f.get("i64", self._room, 0), 1_000_000_000)
        return f.binary("add i64", seconds, nanoseconds)


def _laws() -> str:
    """The torques of all robots into their drives; false, and nothing done, if one has none."""
    f = Flow("define internal i1 @brazo_laws(ptr %s)")
    robots, count = f.get("ptr", "%s", STRETCH.robots), f.get("i64", "%s", STRETCH.robot_count)
    with f.each(count) as i:
        robot = f.item(robots, i, WORD * len(ROBOT))
        law = f.get("ptr", robot, ROBOT.law)
        with f.when(f.binary("icmp ne ptr", law, "null")):
            given, n = f.get("ptr", robot, ROBOT.arguments), f.get("i64", robot, ROBOT.n)
            row = f.get("ptr", robot, ROBOT.row)
            for place in range(3):  # q, qd and qdd of the reference, after q and qd
                part = f.item(row, f.binary("mul i64", n, place))
                f.set("ptr", part, given, 2 + place)
            arity = f.get("i64", robot, ROBOT.arity)
            flag = f.by_arity("double", law, given, arity, ARITIES).get()
            with f.when(f.binary("fcmp uno double", flag, flag)):
                f.result("i1 false")
            total = f.load("double", f.get("ptr", robot, ROBOT.total))
            above = f.binary("fcmp ogt double", total, hex_double(-_HUGE))
            below = f.binary("fcmp olt double", total, hex_double(_HUGE))
            with f.unless(f.binary("and i1", above, below)):
                f.result("i1 false")
    with f.each(count) as i:
        robot = f.item(robots, i, WORD * len(ROBOT))
        with f.when(f.binary("icmp ne ptr", f.get("ptr", robot, ROBOT.law), "null")):
            tau, torque = f.get("ptr", robot, ROBOT.tau), f.get("ptr", robot, ROBOT.torque)
            n = f.get("i64", robot, ROBOT.n)
            f.call("void", "@brazo_copy", f"ptr {torque}", f"ptr {tau}", f"i64 {n}")
            state = f.get("i64", robot, ROBOT.state)
            with f.when(f.binary("icmp ne i64", state, 0)):  # what was next is now
                given = f.get("ptr", robot, ROBOT.arguments)
                now = f.item(given, state)
                following = f.item(given, f.get("i64", robot, ROBOT.next_state))
                a, b = f.load("ptr", now), f.load("ptr", following)
                f.store("ptr", b, now)
                f.store("ptr", a, following)
    f.result("i1 true")
    return f.text()


def _begin() -> str:
    """`Block.before`."""
    f = Flow("define internal void @brazo_begin(ptr %s)")
    row, world = f.get("i64", "%s", STRETCH.row), f.get("ptr", "%s", STRETCH.world)
    now = f.load("double", f.get("ptr", world, WORLD.time))
    f.store("double", now, f.item(f.get("ptr", "%s", STRETCH.t), row))
    _copies(f, row, STRETCH.before_count, STRETCH.before)
    step = f.get("i64", "%s", STRETCH.reference_step)
    references = f.item(f.get("ptr", "%s", STRETCH.reference), row, step)
    robots = f.get("ptr", "%s", STRETCH.robots)
    with f.each(f.get("i64", "%s", STRETCH.robot_count)) as i:
        robot = f.item(robots, i, WORD * len(ROBOT))
        to = f.at(references, f.get("i64", robot, ROBOT.place))
        numbers = f.binary("mul i64", f.get("i64", robot, ROBOT.n), 3)
        source = f.get("ptr", robot, ROBOT.row)
        f.call("void", "@brazo_copy", f"ptr {to}", f"ptr {source}", f"i64 {numbers}")
    f.result()
    return f.text()


def _finish() -> str:
    """`Signals.measure` and `Block.after`."""
    f = Flow("define internal void @brazo_finish(ptr %s, ptr %world)")
    model, data = (f"ptr {f.get('ptr', '%world', place)}" for place in (WORLD.model, WORLD.data))
    pairs, count = f.get("ptr", "%s", STRETCH.pairs), f.get("i64", "%s", STRETCH.pair_count)
    with f.when(f.binary("icmp ne i64", count, 0)):
        distances, since = f.get("ptr", "%s", STRETCH.distances), f.get("i64", "%s", STRETCH.since)
        with f.when(f.binary("icmp eq i64", since, 0)), f.each(count) as i:
            pair = f.item(pairs, i, WORD * len(NEAREST))
            found = f.call("double", "@brazo_nearest", f"ptr {pair}", model, data)
            f.store("double", found, f.item(distances, i))
        since = f.binary("add i64", since, 1)
        over = f.binary("icmp sge i64", since, f.get("i64", "%s", STRETCH.every))
        f.set("i64", f.choose(over, "i64", 0, since), "%s", STRETCH.since)
        step = f.binary("mul i64", count, WORD)
        to = f.item(f.get("ptr", "%s", STRETCH.distance), f.get("i64", "%s", STRETCH.row), step)
        f.call("void", "@brazo_copy", f"ptr {to}", f"ptr {distances}", f"i64 {count}")
    f.call("void", f.get("ptr", "%s", STRETCH.sum_contacts), model, data)
    row = f.get("i64", "%s", STRETCH.row)
    _copies(f, row, STRETCH.after_count, STRETCH.after)
    f.set("i64", f.binary("add i64", row, 1), "%s", STRETCH.row)
    f.result()
    return f.text()


def _copies(f: Flow, row: str, count: int, records: int) -> None:
    """Arrays of the engine into a row of their columns."""
    first = f.get("ptr", "%s", records)
    with f.each(f.get("i64", "%s", count)) as i:
        one = f.item(first, i, WORD * len(COPY))
        to = f.item(f.get("ptr", one, COPY.to), row, f.get("i64", one, COPY.step))
        source, numbers = f.get("ptr", one, getattr(COPY, "from")), f.get("i64", one, COPY.count)
        f.call("void", "@brazo_copy", f"ptr {to}", f"ptr {source}", f"i64 {numbers}")


def _go_on() -> str:
    """`Sampled.advance`: the next row, and after the last one the place of rest."""
    f = Flow("define internal void @brazo_go_on(ptr %s)")
    robots = f.get("ptr", "%s", STRETCH.robots)
    with f.each(f.get("i64", "%s", STRETCH.robot_count)) as i:
        robot = f.item(robots, i, WORD * len(ROBOT))
        left, rest = f.get("i64", robot, ROBOT.left), f.get("ptr", robot, ROBOT.rest)
        more = f.binary("icmp sgt i64", left, 0)
        further = f.at(f.get("ptr", robot, ROBOT.row), f.get("i64", robot, ROBOT.row_step))
        f.set("ptr", f.choose(more, "ptr", further, rest), robot, ROBOT.row)
        f.set("i64", f.binary("sub i64", left, 1), robot, ROBOT.left)
    f.result()
    return f.text()


def _guarded() -> str:
    """Whether nothing that is watched asks for a look before the next step."""
    f = Flow("define internal i1 @brazo_guarded(ptr %s)")
    guards = f.get("ptr", "%s", STRETCH.guards)
    with f.each(f.get("i64", "%s", STRETCH.guard_count)) as i:
        guard = f.item(guards, i, WORD * len(GUARD))
        function, given = f.get("ptr", guard, GUARD.function), f.get("ptr", guard, GUARD.arguments)
        arity = f.get("i64", guard, GUARD.arity)
        flag = f.by_arity("double", function, given, arity, ARITIES).get()
        value = f.load("double", f.get("ptr", guard, GUARD.value))
        calm = f.binary("fadd double", value, flag)  # not a number where an input is not finite
        with f.unless(f.binary("fcmp ogt double", calm, hex_double(0.0))):
            f.result("i1 false")
    f.result("i1 true")
    return f.text()
