"""The files that five common operations pass through, in the order in which they are entered.

    python tools/walks.py            all walks; or names of some: load tick jog teleop derive
    python tools/walks.py --markdown the lists of `docs/architecture.md`

A walk is executed once to import and compile what it needs, then once more with a profile function
that records each function call into the package.  Calls during an import are left out.
"""

from __future__ import annotations

import contextlib
import io
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from inspect import CO_OPTIMIZED
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import brazo

PACKAGE = Path(brazo.__file__).parent


def trace(walk: Callable[[], object]) -> list[str]:
    """Paths of the files that a call enters, relative to the package, in order of first entry."""
    files: dict[str, None] = {}
    root = str(PACKAGE) + "/"

    def enter(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code  # of a module or a class body it is not optimized
        if event == "call" and code.co_flags & CO_OPTIMIZED and code.co_filename.startswith(root):
            files.setdefault(code.co_filename[len(root) :])

    sys.setprofile(enter)
    try:
        walk()
    finally:
        sys.setprofile(None)
    return list(files)


def folder_of(file: str) -> str:
    """The folder of a file in the package; in `lab` and `teleop` with the folder below it."""
    parts = file.split("/")[:-1]
    return "/".join(parts[:2] if parts[:1] in (["lab"], ["teleop"]) else parts[:1]) or file


def folder_changes(files: list[str]) -> int:
    """How often the folder changes along a list of files."""
    folders = [folder_of(file) for file in files]
    return sum(a != b for a, b in pairwise(folders))


# ---- the walks: each returns the call to trace ---------------------------------------------------


def load() -> Callable[[], object]:
    """`brazo.load("puma560").fk(q)`."""
    brazo.load("puma560").fk(np.zeros(6))
    return lambda: brazo.load("puma560").fk(np.zeros(6))


def tick() -> Callable[[], object]:
    """One step of the cooperative cell while its program runs and every signal is recorded."""
    sim = brazo.Simulation("cooperative")
    sim.recording.start()
    sim.tasks.add(brazo.load_program("cooperative").start(sim))
    sim.step(400)
    for _ in range(5):  # to the middle between two updates of the program's monitor
        sim.step()
    return sim.step


def jog() -> Callable[[], object]:
    """A jog key is pressed until the joint moves."""
    from brazo.operate import JogKeys, Mover

    sim = brazo.Simulation("solo-puma560")
    keys = JogKeys(Mover(lambda: sim, lambda: None))
    robot = next(iter(sim.robots.values()))

    def press() -> None:
        before = robot.q[0]
        keys.begin(robot, "joint", keys.press(0, 1))
        while robot.q[0] == before:
            keys.renew(0, 1)
            sim.step()

    press()
    keys.release()
    while robot.moving:
        sim.step()
    keys.settle()
    return press


def teleop() -> Callable[[], object]:
    """One command of a master, from its bytes to the reference of the follower's joints."""
    from brazo.teleop.follow.follower import Follower
    from brazo.teleop.link.clock import ClockFilter
    from brazo.teleop.link.inbox import Inbox
    from brazo.teleop.link.views import LinkView
    from brazo.teleop.link.wire_format import RUN, Command, encode, read_from_master
    from brazo.teleop.mapping.joint_map import JointMap
    from brazo.trajectory import limits_of

    arm = brazo.load("scara1")
    limits = limits_of(arm)
    follower = Follower(limits, JointMap(limits), arm.poses["home"])
    clock = ClockFilter()
    clock.add(0, 0, 0, 0)
    inbox = Inbox(1, clock, Counter())
    hand = np.array(arm.poses["home"], dtype=float)
    count = 0

    def command(flags: int, engagement: int) -> None:
        nonlocal count
        count += 1
        now = 1_000_000 + 2_000 * count  # us
        message = encode(
            Command(1, count, now, 0, 100_000, flags, engagement, tuple(hand.tolist()))
        )
        frame = read_from_master(message)
        assert isinstance(frame, Command)
        if inbox.admit(frame):
            inbox.command(frame, now)
        follower.step(1e-6 * now, LinkView(1, inbox.latest))

    command(0, 0)
    command(0, 0)
    for _ in range(20):
        command(RUN, 1)
    hand += 1e-5
    command(RUN, 1)
    assert follower.acted
    hand += 1e-5
    return lambda: command(RUN, 1)


def derive() -> Callable[[], object]:
    """`brazo derive scara1 --to c`."""
    from brazo.cli.main import app

    def run() -> None:
        quiet = contextlib.redirect_stdout(io.StringIO())
        with tempfile.TemporaryDirectory() as folder, quiet:
            app(["derive", "scara1", "--to", "c", "-o", folder], standalone_mode=False)

    run()
    return run


WALKS: dict[str, Callable[[], Callable[[], object]]] = {
    one.__name__: one for one in (load, tick, jog, teleop, derive)
}


def main(*names: str) -> None:
    for name in [name for name in names if name in WALKS] or WALKS:
        files = trace(WALKS[name]())
        heading = f"{len(files)} files, {folder_changes(files)} changes of folder"
        if "--markdown" in names:
            print(f"*{heading}*\n")
            print(" → ".join(f"`{file}`" for file in files) + "\n")
        else:
            print(f"{name}: {heading}", *files, sep="\n  ")


if __name__ == "__main__":
    main(*sys.argv[1:])
