"""`brazo teleop`: masters, followers, and bad networks on purpose."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer

from brazo.cli.interruption import say_recorded
from brazo.cli.output import number, print_json, say, table
from brazo.cli.overwriting import FORCE, require_replaceable
from brazo.cli.slips import load_robot, warn_cell
from brazo.errors import BrazoError, RunFailed

PAGE: str = typer.Option(
    "127.0.0.1:8080", help="Where the page is, host:port; the next free port is taken."
)
TOKEN_FILE: Path = typer.Option(
    None, help="A file with the token, readable by you alone; or set BRAZO_TOKEN."
)
BROWSER: bool = typer.Option(
    True, "--browser/--no-browser", help="Open the page in the default browser."
)


def register(app: typer.Typer) -> None:
    group = typer.Typer(
        help="Drive a robot from afar; stations and a bad network to try them in.",
        no_args_is_help=True,
        rich_markup_mode=None,
    )
    for command in (follower, master, report, proxy, measure):
        group.command(command.__name__)(command)
    app.add_typer(group, name="teleop")


def follower(
    robot: str = typer.Option(None, help="A shipped robot's name or a robot file."),
    cell: str = typer.Option(None, help="Instead: a shipped cell's name or a cell file."),
    of: str = typer.Option(None, help="The robot of the cell that follows."),
    listen: str = typer.Option("127.0.0.1:9000", help="host:port; beyond the loopback a token."),
    token: bool = typer.Option(
        False, "--token", help="Ask for a token on this machine, too: BRAZO_TOKEN, or a new one."
    ),
    token_file: Path = TOKEN_FILE,
    certificate: Path = typer.Option(None, help="To encrypt: a PEM file, with --key."),
    key: Path = typer.Option(None, help="The certificate's key, a PEM file."),
    master: str = typer.Option(None, help="The master's robot, where it sends joints and no pose."),
    mapping: str = typer.Option("pose", "--map", help="pose, or joint for equal robots."),
    scale: float = typer.Option(1.0, help="k: above 1 finer, below 1 wider."),
    directions: str = typer.Option("crossed", help="crossed (X to Y, Y to -Z, Z to -X) or same."),
    bilateral: str = typer.Option(
        None, help="Forces come back: waves (safe for every delay) or position-force."
    ),
    delay: float = typer.Option(
        0.0, min=0.0, help="The longest the link may take one way, s; HOLD comes so much later."
    ),
    box: str = typer.Option(
        None, help="Workspace in the base frame, m: xmin,xmax,ymin,ymax,zmin,zmax."
    ),
    headless: bool = typer.Option(False, "--headless", help="Without a page."),
    page: str = PAGE,
    browser: bool = BROWSER,
    record: Path = typer.Option(None, help="Write down what happens, a .parquet file."),
    force: bool = FORCE,
    seconds: float = typer.Option(None, min=0.0, help="Leave after so long."),
    as_json: bool = typer.Option(False, "--json", help="Print the counts as JSON at the end."),
) -> None:
    """A simulated robot that follows whoever connects, with a page of its own; Ctrl+C ends it."""
    from brazo.hosts import address
    from brazo.lab.app.opening import as_cell
    from brazo.simulation import Simulation
    from brazo.teleop import FollowerLink, LinkRules, Rules, server_tls
    from brazo.teleop.mapping.base import in_words
    from brazo.teleop.stations import CoupledMap, FollowerStation, ReflectingFollower, scheme_named
    from brazo.teleop.stations.reflecting import STATUS_RATE
    from brazo.trajectory import limits_of

    host, port = address(listen)
    page_at = None if headless else address(page)
    if (robot is None) == (cell is None):
        raise BrazoError("which robot? give --robot NAME or --cell NAME, one of the two")
    if (certificate is None) != (key is None):
        raise BrazoError("encryption needs both --certificate and --key")
    replace = require_replaceable(record, force=force)
    sim = Simulation(as_cell(f"robot:{robot}" if cell is None else cell))
    warn_cell(sim.cell)
    names = list(sim.robots)
    if of is None and len(names) > 1:
        raise BrazoError(f"which robot follows? --of {' or '.join(names)}")
    chosen = sim.robot(of or names[0])
    rules = Rules.over(delay)
    limits = limits_of(chosen.arm)
    increments = _increments(directions, scale)
    coupled = bilateral is not None
    scheme = scheme_named(bilateral) if coupled else None
    if coupled and (box is not None or mapping != "pose"):
        raise BrazoError("--bilateral couples the tools' places: leave out --box and --map")
    law = _mapping(mapping, chosen.arm, limits, master, increments, box)
    link = FollowerLink(
        host,
        port,
        token=_token(token_file) or token,
        tls=None if certificate is None else server_tls(certificate, key),
        name=chosen.name,
        joints=chosen.n if mapping == "joint" else 0,
        rules=LinkRules(status_rate=STATUS_RATE) if coupled else None,
    )
    if scheme is not None:
        station = ReflectingFollower(
            sim, link, chosen.name, CoupledMap(increments),
            scheme=scheme, rules=rules, record=record, replace=replace,
        )  # fmt: skip
    else:
        station = FollowerStation(
            sim, link, chosen.name, law, limits=limits, rules=rules, record=record, replace=replace
        )
    # Ctrl+C is the usual end, from the first moment on.
    with contextlib.suppress(KeyboardInterrupt), contextlib.ExitStack() as stack:
        stack.enter_context(station)
        stopped = _until_signal(stack)
        if not as_json:
            say(f"{chosen.name} follows at {link.url}")
            say(in_words(station.mapping.settings()))
            if link.token is not None:
                say(f"token {link.token}")
        if page_at is not None:
            from brazo.lab.stations import FollowerLab

            _open(stack, FollowerLab(station, *page_at, token=token), browser, as_json)
        told = 0
        end = time.monotonic() + (float("inf") if seconds is None else seconds)
        while time.monotonic() < end and not stopped.is_set():
            told, lines = station.log.after(told)
            for line in lines if not as_json else ():
                say(line)
            if sim.player.error is not None:
                raise BrazoError(f"the simulation stopped: {sim.player.error}")
            time.sleep(0.05)
    counts, unused = dict(link.counts), station.follower.unused
    if record is not None and not as_json:
        say_recorded(record)
    if as_json:
        print_json({"counts": counts, "unused": unused, "overruns": sim.player.overruns})
    else:
        say(_counted(counts) or "nobody came")


def _token(file: Path | None) -> str | None:
    """The token of a file or of the environment: the list of processes shows neither."""
    from brazo.private import read_secret

    return os.environ.get("BRAZO_TOKEN") if file is None else read_secret(file)


def _counted(counts: Mapping[str, int]) -> str:
    one = ("connections", "commands", "attempts", "clock jumps")
    return ", ".join(
        f"{n} {why.removesuffix('s') if n == 1 and why in one else why}"
        for why, n in counts.items()
    )


def _until_signal(stack: contextlib.ExitStack) -> threading.Event:
    from brazo.lab.serving import until_signal

    return stack.enter_context(until_signal())


def _open(stack: contextlib.ExitStack, lab: Any, browser: bool, quiet: bool) -> None:
    """Show a station's page until the stack ends."""
    from brazo.lab.serving import show

    stack.callback(lab.stop)
    if not quiet:
        say(f"its page: {lab.url}  (Ctrl+C ends)")
    if browser:
        show(lab)


def _increments(directions: str, scale: float) -> Any:
    """Directions and scale as the options have them."""
    import numpy as np

    from brazo.teleop import IncrementMap
    from brazo.teleop.mapping.base import DIRECTIONS

    if directions not in ("crossed", "same"):
        raise BrazoError(f"--directions {directions}; wanted crossed or same")
    return IncrementMap(DIRECTIONS if directions == "crossed" else np.eye(3), scale)


def _mapping(kind, arm, limits, master, increments, box):
    """The mapping the options describe."""
    import numpy as np

    from brazo.teleop import Box, JointMap, PoseMap

    if kind == "joint":
        return JointMap(limits)
    if kind != "pose":
        raise BrazoError(f"--map {kind}; wanted pose or joint")
    workspace = None
    if box is not None:
        try:
            edges = np.array([float(part) for part in box.split(",")]).reshape(3, 2)
        except ValueError:
            raise BrazoError(f"--box {box}; wanted xmin,xmax,ymin,ymax,zmin,zmax in m") from None
        workspace = Box(edges[:, 0], edges[:, 1])
    held = None if master is None else load_robot(master)
    return PoseMap(arm, limits, held, increments, workspace=workspace)


def master(
    connect: str = typer.Option(..., help="The follower's address, host:port."),
    device: str = typer.Option(
        None, help="browser or delta (on the page; without --script), script, keyboard, joystick."
    ),
    script: Path = typer.Option(None, help="YAML file with what the hand does."),
    joystick: Path = typer.Option(Path("/dev/input/js0"), help="The joystick's device file."),
    robot: str = typer.Option(
        None, help="A robot the hand holds, its joints are sent, too; a page has the Delta."
    ),
    token_file: Path = TOKEN_FILE,
    tls: bool = typer.Option(False, help="The follower encrypts."),
    authority: Path = typer.Option(None, help="PEM file to trust instead of the system's."),
    rate: float = typer.Option(250.0, help="Commands a second."),
    bilateral: str = typer.Option(
        None, help="Forces are felt: waves or position-force, the same as at the follower."
    ),
    delay: float = typer.Option(
        0.0, min=0.0, help="The longest the link may take one way, s; commands are valid longer."
    ),
    deadman: float = typer.Option(
        None,
        min=0.1,
        max=1.0,
        help="What is held on the page is let go after so long without news of it, s; 0.25. "
        "More helps where the processor draws a large page.",
    ),
    headless: bool = typer.Option(False, "--headless", help="Without a page."),
    page: str = PAGE,
    browser: bool = BROWSER,
    record: Path = typer.Option(None, help="Write down what happens, a .parquet file."),
    force: bool = FORCE,
    seconds: float = typer.Option(None, min=0.0, help="Leave after so long."),
    quiet: bool = typer.Option(False, "--quiet", help="Say nothing."),
) -> None:
    """Drive a follower with a device until it is done, with a page of its own."""
    from brazo.hosts import address
    from brazo.teleop import MasterLink, client_tls
    from brazo.teleop.devices import Joystick, Keyboard, Pointed, load_script
    from brazo.teleop.link.master_link import VALID
    from brazo.teleop.stations import MasterStation, ReflectingMaster, scheme_named

    if device is None:
        device = "browser" if script is None else "script"
    if device == "delta":  # the one on the page
        device, robot = "browser", robot or "delta"
    if device == "script" and script is None:
        raise BrazoError("--device script needs --script FILE")
    if device == "browser" and headless:
        raise BrazoError("--device browser is the page: leave out --headless, or choose another")
    if deadman is not None and device != "browser":
        raise BrazoError(f"--deadman is the page's; --device {device} has its own")
    replace = require_replaceable(record, force=force)
    page_at = None if headless else address(page)
    scheme = None if bilateral is None else scheme_named(bilateral)
    if robot is None and (scheme is not None or not headless):
        robot = "delta"
    held = None if robot is None else load_robot(robot)
    if device == "script":
        chosen = load_script(script)
    elif device == "keyboard":
        from brazo.teleop.devices import keyboard

        chosen = Keyboard()
        for line in (keyboard.__doc__ or "").split("\n\n")[1].splitlines():
            say(line)
    elif device == "joystick":
        chosen = Joystick(joystick)
    elif device == "browser":
        chosen = Pointed() if deadman is None else Pointed(deadman=deadman)
    else:
        raise BrazoError(f"--device {device}; wanted script, keyboard, joystick or browser")
    context = client_tls(authority) if tls or authority is not None else None
    with MasterLink(connect, token=_token(token_file), tls=context, name=device) as link:
        try:
            if page_at is None:  # a page tells by itself how the link is
                link.wait()
            valid = VALID + delay
            if scheme is not None:
                sim = _arm_alone(held)
                station = ReflectingMaster(
                    link,
                    chosen,
                    sim,
                    scheme=scheme,
                    rate=rate,
                    valid=valid,
                    record=record,
                    replace=replace,
                )
            else:
                station = MasterStation(
                    link, chosen, held, rate=rate, valid=valid, record=record, replace=replace
                )
        except BaseException:
            chosen.close()
            raise
        if page_at is None:
            with contextlib.suppress(KeyboardInterrupt):
                station.run(seconds, None if quiet else say)
            if not quiet:
                say(_counted(link.counts))
                if record is not None:
                    say_recorded(record)
            return
        from brazo.lab.stations import MasterLab

        with contextlib.ExitStack() as stack:
            stopped = _until_signal(stack)
            _open(stack, MasterLab(station, *page_at), browser, quiet)
            end = time.monotonic() + (float("inf") if seconds is None else seconds)
            told = 0
            while time.monotonic() < end and not (stopped.is_set() or station.hand.done):
                told, lines = station.log.after(told)
                for line in lines if not quiet else ():
                    say(line)
                if station.failure is not None:
                    raise BrazoError(f"the station stopped: {station.failure}")
                time.sleep(0.05)
        if not quiet:
            say(_counted(link.counts) or "nothing was sent")
            if record is not None:
                say_recorded(record)
        if device == "script" and not (stopped.is_set() or link.ever_connected):
            why = link.refusal or "no answer"
            raise RunFailed(f"the script ran without a link to {link.url}: {why}")


def _arm_alone(robot: Any) -> Any:
    """A simulation of an arm that is moved by forces."""
    from brazo.lab.app.opening import as_cell
    from brazo.simulation import Simulation

    return Simulation(as_cell(robot))


def report(
    follower: Path = typer.Argument(help="The follower's recording, .parquet."),
    master: Path = typer.Option(None, help="The master's recording of the same session."),
    output: Path = typer.Option(Path("session.html"), "-o", "--output", help="The page."),
    force: bool = FORCE,
    as_json: bool = typer.Option(False, "--json", help="Print the key numbers as JSON."),
) -> None:
    """A page of a session from what both ends wrote down."""
    from brazo.teleop.stations import session_report

    require_replaceable(output, force=force)
    numbers = session_report(follower, output, master)
    if as_json:
        print_json(numbers)
        return
    for name, value in numbers.items():
        say(f"{name}: {value}")
    say(str(output))


def proxy(
    to: str = typer.Option(..., help="The follower's address, host:port."),
    listen: str = typer.Option("127.0.0.1:9001", help="Where masters connect, host:port."),
    script: Path | None = typer.Option(None, help="YAML file that says what goes wrong when."),
    seed: int | None = typer.Option(None, min=0, help="Instead of the script's own."),
    seconds: float | None = typer.Option(None, min=0.0, help="Leave after so long."),
    as_json: bool = typer.Option(False, "--json", help="Print the counts as JSON at the end."),
) -> None:
    """Stand between a master and a follower and disturb by a script, the same for the same seed."""
    from dataclasses import replace

    from brazo.hosts import address
    from brazo.teleop.proxy import FaultProxy, Script, load_script

    plan = Script() if script is None else load_script(script)
    if seed is not None:
        plan = replace(plan, seed=seed)
    host, port = address(listen)
    with FaultProxy(to, plan, host, port) as running:
        if not as_json:
            say(f"ws://{host}:{running.port} to {to}, {len(plan.steps)} steps, seed {plan.seed}")
        told, end = 0, time.monotonic() + (float("inf") if seconds is None else seconds)
        try:
            while time.monotonic() < end:
                while not as_json and told < len(running.events):
                    t, text = running.events[told]
                    say(f"{t:8.3f} s  {text}")
                    told += 1
                time.sleep(0.05)
        except KeyboardInterrupt:
            pass
        counts = {way: dict(count) for way, count in running.counts.items()}
        if as_json:
            events = [{"t": t, "text": text} for t, text in running.events]
            print_json({"counts": counts, "events": events})
        else:
            for way, count in counts.items():
                say(f"{way}: " + (", ".join(f"{n} {why}" for why, n in count.items()) or "nothing"))


def measure(
    seconds: float = typer.Option(10.0, help="How long."),
    rate: float = typer.Option(500.0, help="Commands a second."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object."),
) -> None:
    """Measure the link on this machine: two processes, loss, order, latency, age of commands."""
    from dataclasses import asdict

    from rich.progress import Progress

    from brazo.teleop.link import measure as module

    with Progress(transient=True, disable=as_json, refresh_per_second=2) as bar:
        task = bar.add_task("commands", total=1.0)
        found = module.measure(seconds, rate, lambda part: bar.update(task, completed=part))
    if as_json:
        print_json(asdict(found))
        return
    say(f"{found.sent} commands in {found.seconds:.1f} s, {found.rate:.1f} a second")
    say(
        f"received {found.received}, lost {found.lost}, out of order {found.disordered}, "
        f"too old {found.late}, replaced before leaving {found.replaced}"
    )
    rows = [
        (name, *(number(getattr(spread, part), 3) for part in ("p50", "p99", "p999", "most")))
        for name, spread in (
            ("one-way latency, ms", found.latency),
            ("jitter, ms", found.jitter),
            ("age when looked at, ms", found.age),
        )
    ]
    table("", ("", "median", "99 %", "99.9 %", "most"), rows)
    say(f"least round trip {found.round_trip:.3f} ms, clock off by {found.offset:.3f} ms")
