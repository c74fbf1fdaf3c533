"""Machine code for a step of the world: `WorldStepper.advance` for steps without events.

    @brazo_advance(world) -> i1

The function writes the gripper forces, stores the state for a possible dump, makes one step of the
physics engine and returns whether the step was *quiet*.  A step is quiet if the engine gave no
warning, no contact level changed and no grasp changed: then there is no event to report.  Sums are
computed in the same order as in `PatternReader` and `GraspReader`, so all results are
bit-identical.  If the angle of a grasp is too close to its limit, the function returns False, and
Python evaluates the grasp.

The module `world_table` writes the records that this code reads.
"""

from __future__ import annotations

from brazo.codegen.emitter import Module, hex_double
from brazo.codegen.flow import WORD, Fields, Flow, add_copy

#: A world: the engine's addresses (see `EngineView`), observed state, grippers, last steps.
WORLD = Fields(
    "model data mj_step mj_getState time contact_count contacts forces contact_size dist geoms "
    "force_at warnings warning_size warning_count calm solids pairs slots levels level_count "
    "stamps serial reach slot_count touches pushes gripper_count grippers body_count gripped ring "
    "ring_step ring_rows ring_next state_kind start"
)
GRIPPER = Fields("command q qd push greatest stiffness drag values held enough half cosine grips")
GRIP = Fields("left right along kind")  # per gripper and body: slots of the pads, direction, shape
BOX, ROUND, BALL = 0, 1, 2  # kinds of shape
OPENING = hex_double(1.0)
CLEAR = 1e-9  # difference of squared cosines below which the decision is left to Python
ZERO = hex_double(0.0)


def add_world(module: Module) -> None:
    """Add the functions of this file to an LLVM module."""
    add_copy(module)
    module.definitions["brazo_drive"] = _drive()
    module.definitions["brazo_contacts"] = _contacts()
    module.definitions["brazo_grips"] = _grips()
    module.definitions["brazo_lies_well"] = _lies_well()
    module.definitions["brazo_advance"] = _advance()


def _advance() -> str:
    f = Flow("define internal i1 @brazo_advance(ptr %world)")
    model, data = (f"ptr {f.get('ptr', '%world', place)}" for place in (WORLD.model, WORLD.data))
    f.call("void", "@brazo_drive", "ptr %world")
    ring = f.get("ptr", "%world", WORLD.ring)
    with f.when(f.binary("icmp ne ptr", ring, "null")):
        following = f.get("i64", "%world", WORLD.ring_next)
        row = f.binary("urem i64", following, f.get("i64", "%world", WORLD.ring_rows))
        kept = f.item(ring, row, f.get("i64", "%world", WORLD.ring_step))
        kind = f.emit(f"trunc i64 {f.get('i64', '%world', WORLD.state_kind)} to i32")
        get_state = f.get("ptr", "%world", WORLD.mj_getState)
        f.call("void", get_state, model, data, f"ptr {kept}", f"i32 {kind}")
        f.set("i64", f.binary("add i64", following, 1), "%world", WORLD.ring_next)
    now = f.load("double", f.get("ptr", "%world", WORLD.time))
    f.set("double", now, "%world", WORLD.start)
    f.call("void", f.get("ptr", "%world", WORLD.mj_step), model, data)

    number, calm = f.get("ptr", "%world", WORLD.warnings), f.get("ptr", "%world", WORLD.calm)
    size = f.get("i64", "%world", WORLD.warning_size)
    with f.each(f.get("i64", "%world", WORLD.warning_count)) as i:
        count, known = f.load("i32", f.item(number, i, size)), f.load("i32", f.item(calm, i, 4))
        with f.when(f.binary("icmp ne i32", count, known)):
            f.result("i1 false")
    pressed = f.call("i64", "@brazo_contacts", "ptr %world")
    with f.when(f.binary("icmp slt i64", pressed, 0)):
        f.result("i1 false")
    gripped = f.binary("or i64", pressed, f.get("i64", "%world", WORLD.gripped))
    with f.when(f.binary("icmp eq i64", gripped, 0)):
        f.result("i1 true")
    holds = f.call("i64", "@brazo_grips", "ptr %world")
    with f.when(f.binary("icmp slt i64", holds, 0)):
        f.result("i1 false")
    f.set("i64", f.binary("or i64", pressed, holds), "%world", WORLD.gripped)
    f.result("i1 true")
    return f.text()


def _drive() -> str:
    """Return LLVM code that does the same as `WorldGripper.drive`, for all grippers."""
    f = Flow("define internal void @brazo_drive(ptr %world)")
    grippers = f.get("ptr", "%world", WORLD.grippers)
    with f.each(f.get("i64", "%world", WORLD.gripper_count)) as i:
        gripper = f.item(grippers, i, WORD * len(GRIPPER))
        command, q, qd = (
            f.get("ptr", gripper, k) for k in (GRIPPER.command, GRIPPER.q, GRIPPER.qd)
        )
        mode, wanted = f.get("double", command, 0), f.get("double", command, 1)
        greatest = f.get("double", gripper, GRIPPER.greatest)
        opening = f.binary("fadd double", f.get("double", q, 0), f.get("double", q, 1))
        servo = f.binary("fsub double", wanted, opening)
        servo = f.binary("fmul double", servo, f.get("double", gripper, GRIPPER.stiffness))
        servo = _clip(f, servo, greatest)
        opens = f.binary("fcmp oeq double", mode, OPENING)
        push = f.choose(opens, "double", servo, f.emit(f"fneg double {wanted}"))
        rate = f.binary("fadd double", f.get("double", qd, 0), f.get("double", qd, 1))
        drag = f.binary("fmul double", f.get("double", gripper, GRIPPER.drag), rate)
        push = _clip(f, f.binary("fsub double", push, drag), greatest)
        f.store("double", push, f.get("ptr", gripper, GRIPPER.push))
    f.result()
    return f.text()


def _clip(f: Flow, x: str, greatest: str) -> str:
    """Return the LLVM value of `x` clipped to ±`greatest`.

    The result is bit-identical to Python's `min(max(x, -greatest), greatest)`.
    """
    least = f.emit(f"fneg double {greatest}")
    x = f.choose(f.binary("fcmp ogt double", least, x), "double", least, x)
    return f.choose(f.binary("fcmp olt double", greatest, x), "double", greatest, x)


def _contacts() -> str:
    """Return LLVM code that does the same as `PatternReader.read`.

    The generated function returns 1 if a gripper pad presses on a body, 0 if not, and −1 if a
    contact level changed.
    """
    f = Flow("define internal i64 @brazo_contacts(ptr %world)")
    touches, pushes = f.get("ptr", "%world", WORLD.touches), f.get("ptr", "%world", WORLD.pushes)
    with f.each(f.get("i64", "%world", WORLD.slot_count)) as i:
        f.store("i64", 0, f.item(touches, i))
        f.store("double", ZERO, f.item(pushes, i))
    serial = f.binary("add i64", f.get("i64", "%world", WORLD.serial), 1)
    f.set("i64", serial, "%world", WORLD.serial)
    pressed, matched = f.variable("i64", 0), f.variable("i64", 0)
    solids, size = f.get("i64", "%world", WORLD.solids), f.get("i64", "%world", WORLD.contact_size)
    first = f.load("ptr", f.get("ptr", "%world", WORLD.contacts))
    forces = f.load("ptr", f.get("ptr", "%world", WORLD.forces))
    count = f.load("i32", f.get("ptr", "%world", WORLD.contact_count))
    with f.each(f.emit(f"sext i32 {count} to i64")) as i:
        contact = f.item(first, i, size)
        dist = f.load("double", f.at(contact, f.get("i64", "%world", WORLD.dist)))
        geoms = f.at(contact, f.get("i64", "%world", WORLD.geoms))
        a = f.emit(f"sext i32 {f.load('i32', geoms)} to i64")
        b = f.emit(f"sext i32 {f.load('i32', f.at(geoms, 4))} to i64")
        for solid in (a, b):
            with f.unless(f.binary("icmp ult i64", solid, solids)):
                f.result("i64 -1")
        k = f.binary("add i64", f.binary("mul i64", a, solids), b)
        apart = f.binary("fcmp ogt double", dist, ZERO)
        with f.unless(f.binary("fcmp ogt double", dist, f.get("double", "%world", WORLD.reach))):
            pair = _entry(f, "pairs", k)
            with f.when(f.binary("icmp sge i64", pair, 0)):
                _level(f, pair, f.choose(apart, "i64", 1, 2), serial, matched)
        with f.unless(apart):
            slot = _entry(f, "slots", k)
            with f.when(f.binary("icmp sge i64", slot, 0)):
                pressed.set(1)
                at = f.item(touches, slot)
                f.store("i64", f.binary("add i64", f.load("i64", at), 1), at)
                place = f.load("i32", f.at(contact, f.get("i64", "%world", WORLD.force_at)))
                with f.when(f.binary("icmp sge i32", place, 0)):
                    force = f.load("double", f.item(forces, f.emit(f"sext i32 {place} to i64")))
                    at = f.item(pushes, slot)
                    f.store("double", f.binary("fadd double", f.load("double", at), force), at)
    same = f.binary("icmp eq i64", matched.get(), f.get("i64", "%world", WORLD.level_count))
    f.result(f"i64 {f.choose(same, 'i64', pressed.get(), -1)}")
    return f.text()


def _entry(f: Flow, table: str, k: str) -> str:
    """Return the LLVM value of entry `k` of `table`.

    The table has a 32-bit integer for each pair of geoms.
    """
    at = f.item(f.get("ptr", "%world", getattr(WORLD, table)), k, 4)
    return f.emit(f"sext i32 {f.load('i32', at)} to i64")


def _level(f: Flow, pair: str, level: str, serial: str, matched: object) -> None:
    """Emit code that compares the contact level of a pair of parts with that of the last step.

    If the level is higher, the generated function returns −1.  Pairs with an equal level are
    counted in `matched`.  If a level is lower, this count is too small, which is detected at the
    end of the function.
    """
    known = f.load("i8", f.at(f.get("ptr", "%world", WORLD.levels), pair))
    before = f.emit(f"zext i8 {known} to i64")
    with f.when(f.binary("icmp sgt i64", level, before)):
        f.result("i64 -1")
    with f.when(f.binary("icmp eq i64", level, before)):
        stamp = f.item(f.get("ptr", "%world", WORLD.stamps), pair)
        with f.when(f.binary("icmp ne i64", f.load("i64", stamp), serial)):
            f.store("i64", serial, stamp)
            matched.add(1)  # type: ignore[attr-defined]


def _grips() -> str:
    """Return LLVM code that does the same as `GraspReader.grip`, for all grippers.

    The generated function returns 1 if any gripper holds a body, 0 if none does, and −1 if a grasp
    changed.
    """
    f = Flow("define internal i64 @brazo_grips(ptr %world)")
    touches, pushes = f.get("ptr", "%world", WORLD.touches), f.get("ptr", "%world", WORLD.pushes)
    bodies, holds = f.get("i64", "%world", WORLD.body_count), f.variable("i64", 0)
    grippers = f.get("ptr", "%world", WORLD.grippers)
    with f.each(f.get("i64", "%world", WORLD.gripper_count)) as i:
        gripper = f.item(grippers, i, WORD * len(GRIPPER))
        grips = f.get("ptr", gripper, GRIPPER.grips)
        best, force = f.variable("i64", -1), f.variable("double", ZERO)
        with f.each(bodies) as k:
            grip = f.item(grips, k, WORD * len(GRIP))
            left, right = f.get("i64", grip, GRIP.left), f.get("i64", grip, GRIP.right)
            lefts, rights = (f.load("i64", f.item(touches, one)) for one in (left, right))
            one = f.binary("icmp ne i64", lefts, 0)
            other = f.binary("icmp ne i64", rights, 0)
            with f.when(f.binary("and i1", one, other)):
                a, b = (f.load("double", f.item(pushes, one)) for one in (left, right))
                least = f.choose(f.binary("fcmp olt double", a, b), "double", a, b)
                nothing = f.binary("icmp slt i64", best.get(), 0)
                more = f.binary("fcmp ogt double", least, force.get())
                with f.when(f.binary("or i1", nothing, more)):
                    best.set(k)
                    force.set(least)
        f.set("double", force.get(), f.get("ptr", gripper, GRIPPER.values), 1)
        held, found = f.get("i64", gripper, GRIPPER.held), f.variable("i64", -1)
        with f.when(f.binary("icmp sge i64", best.get(), 0)):
            kept = f.binary("icmp eq i64", best.get(), held)
            enough, half = (
                f.get("double", gripper, GRIPPER.enough),
                f.get("double", gripper, GRIPPER.half),
            )
            wanted = f.choose(kept, "double", half, enough)
            with f.unless(f.binary("fcmp olt double", force.get(), wanted)):
                grip = f.item(grips, best.get(), WORD * len(GRIP))
                well = f.call("i64", "@brazo_lies_well", f"ptr {grip}", f"ptr {gripper}")
                with f.when(f.binary("icmp slt i64", well, 0)):
                    f.result("i64 -1")
                with f.when(f.binary("icmp ne i64", well, 0)):
                    found.set(best.get())
        with f.when(f.binary("icmp ne i64", found.get(), held)):
            f.result("i64 -1")
        with f.when(f.binary("icmp sge i64", held, 0)):
            holds.set(1)
    f.result(f"i64 {holds.get()}")
    return f.text()


def _lies_well() -> str:
    """Return LLVM code that does the same as `GraspReader._lies_well`.

    The generated function returns 1 if the angle is within the limit, 0 if not, and −1 if it is too
    close to the limit to decide.
    """
    f = Flow("define internal i64 @brazo_lies_well(ptr %grip, ptr %gripper)")
    kind = f.get("i64", "%grip", GRIP.kind)
    with f.when(f.binary("icmp eq i64", kind, BALL)):
        f.result("i64 1")
    along = f.get("ptr", "%grip", GRIP.along)
    x, y, z = (f.get("double", along, axis) for axis in range(3))
    least = f.get("double", "%gripper", GRIPPER.cosine)
    with f.when(f.binary("icmp eq i64", kind, BOX)):
        for value in (x, y, z):
            for signed in (value, f.emit(f"fneg double {value}")):
                with f.when(f.binary("fcmp oge double", signed, least)):
                    f.result("i64 1")
        f.result("i64 0")
    x2, y2, z2 = (f.binary("fmul double", v, v) for v in (x, y, z))
    radial = f.binary("fadd double", x2, y2)
    best = f.choose(f.binary("fcmp ogt double", radial, z2), "double", radial, z2)
    apart = f.binary("fsub double", best, f.binary("fmul double", least, least))
    with f.when(f.binary("fcmp ogt double", apart, hex_double(CLEAR))):
        f.result("i64 1")
    with f.when(f.binary("fcmp olt double", apart, hex_double(-CLEAR))):
        f.result("i64 0")
    f.result("i64 -1")
    return f.text()
