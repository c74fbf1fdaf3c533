"""`brazo teleop`: master and follower stations, session reports and a network fault proxy."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer

from brazo.cli.interruption import print_recorded
from brazo.cli.output import number, print_json, print_line, table
from brazo.cli.overwriting import FORCE, require_replaceable
from brazo.cli.unit_warnings import load_robot, warn_cell
from brazo.errors import BrazoError, RunFailed

PAGE: str = typer.Option(
    "127.0.0.1:8080", help="Address of the page, host:port; the next free port is used if busy."
)
TOKEN_FILE: Path = typer.Option(
    None, help="File with the token, readable only by you; or set BRAZO_TOKEN."
)
BROWSER: bool = typer.Option(
    True, "--browser/--no-browser", help="Open the page in the default browser."
)


def register(app: typer.Typer) -> None:
    group = typer.Typer(
        help="Teleoperate a robot: master and follower stations, and a network fault proxy.",
        no_args_is_help=True,
        rich_markup_mode=None,
    )
    for command in (follower, master, report, proxy, measure):
        group.command(command.__name__)(command)
    app.add_typer(group, name="teleop")


def follower(
    robot: str = typer.Option(None, help="A shipped robot's name or a robot file."),
    cell: str = typer.Option(None, help="Instead: a shipped cell's name or a cell file."),
    of: str = typer.Option(None, help="With --cell: name of the robot that follows."),
    listen: str = typer.Option(
        "127.0.0.1:9000", help="Address host:port; other than loopback requires a token."
    ),
    token: bool = typer.Option(
        False, "--token", help="Require a token on this machine too: BRAZO_TOKEN, or a new one."
    ),
    token_file: Path = TOKEN_FILE,
    certificate: Path = typer.Option(None, help="TLS certificate, a PEM file; requires --key."),
    key: Path = typer.Option(None, help="Private key of the certificate, a PEM file."),
    master: str = typer.Option(
        None, help="The master's robot, needed if it sends joint values but no pose."
    ),
    mapping: str = typer.Option("pose", "--map", help="pose, or joint for identical robots."),
    scale: float = typer.Option(1.0, help="Motion scale k: the follower moves 1/k of the master."),
    directions: str = typer.Option("crossed", help="crossed (X to Y, Y to -Z, Z to -X) or same."),
    bilateral: str = typer.Option(
        None, help="Force feedback scheme: waves (stable for any delay) or position-force."
    ),
    delay: float = typer.Option(
        0.0, min=0.0, help="Max one-way delay of the link, s; delays HOLD by the same time."
    ),
    box: str = typer.Option(
        None, help="Workspace in the base frame, m: xmin,xmax,ymin,ymax,zmin,zmax."
    ),
    headless: bool = typer.Option(False, "--headless", help="Run without a page."),
    page: str = PAGE,
    browser: bool = BROWSER,
    record: Path = typer.Option(None, help="Record the session to this .parquet file."),
    force: bool = FORCE,
    seconds: float = typer.Option(None, min=0.0, help="Exit after this time, s."),
    as_json: bool = typer.Option(False, "--json", help="Print the counts as JSON at the end."),
) -> None:
    """Run a follower station: a simulated robot that a master drives.  Ctrl+C ends it."""
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
        raise BrazoError("give either --robot NAME or --cell NAME")
    if (certificate is None) != (key is None):
        raise BrazoError("TLS needs both --certificate and --key")
    replace = require_replaceable(record, force=force)
    sim = Simulation(as_cell(f"robot:{robot}" if cell is None else cell))
    warn_cell(sim.cell)
    names = list(sim.robots)
    if of is None and len(names) > 1:
        raise BrazoError(f"the cell has several robots; choose one: --of {' or '.join(names)}")
    chosen = sim.robot(of or names[0])
    rules = Rules.over(delay)
    limits = limits_of(chosen.arm)
    increments = _increments(directions, scale)
    coupled = bilateral is not None
    scheme = scheme_named(bilateral) if coupled else None
    if coupled and (box is not None or mapping != "pose"):
        raise BrazoError("--bilateral couples tool positions: omit --box and --map")
    pose_map = _mapping(mapping, chosen.arm, limits, master, increments, box)
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
            sim,
            link,
            chosen.name,
            pose_map,
            limits=limits,
            rules=rules,
            record=record,
            replace=replace,
        )
    # Ctrl+C is the normal way to end, at any time from here.
    with contextlib.suppress(KeyboardInterrupt), contextlib.ExitStack() as stack:
        stack.enter_context(station)
        stopped = _until_signal(stack)
        if not as_json:
            print_line(f"{chosen.name}: follower at {link.url}")
            print_line(in_words(station.mapping.settings()))
            if link.token is not None:
                print_line(f"token {link.token}")
        if page_at is not None:
            from brazo.lab.stations import FollowerLab

            _open(stack, FollowerLab(station, *page_at, token=token), browser, as_json)
        printed = 0
        end = time.monotonic() + (float("inf") if seconds is None else seconds)
        while time.monotonic() < end and not stopped.is_set():
            printed, lines = station.log.after(printed)
            for line in lines if not as_json else ():
                print_line(line)
            if sim.player.error is not None:
                raise BrazoError(f"the simulation stopped: {sim.player.error}")
            time.sleep(0.05)
    counts, unused = dict(link.counts), station.follower.unused
    if record is not None and not as_json:
        print_recorded(record)
    if as_json:
        print_json({"counts": counts, "unused": unused, "overruns": sim.player.overruns})
    else:
        print_line(_counted(counts) or "no connections")


def _token(file: Path | None) -> str | None:
    """Read the token from a file or the environment, which process lists do not show."""
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
    """Serve a station's page until the stack is closed."""
    from brazo.lab.serving import show

    stack.callback(lab.stop)
    if not quiet:
        print_line(f"page: {lab.url}  (Ctrl+C to stop)")
    if browser:
        show(lab)


def _increments(directions: str, scale: float) -> Any:
    """Return the increment map of --directions and --scale."""
    import numpy as np

    from brazo.teleop import IncrementMap
    from brazo.teleop.mapping.base import DIRECTIONS

    if directions not in ("crossed", "same"):
        raise BrazoError(f"--directions {directions}: expected crossed or same")
    return IncrementMap(DIRECTIONS if directions == "crossed" else np.eye(3), scale)


def _mapping(kind, arm, limits, master, increments, box):
    """Return the mapping described by the options."""
    import numpy as np

    from brazo.teleop import Box, JointMap, PoseMap

    if kind == "joint":
        return JointMap(limits)
    if kind != "pose":
        raise BrazoError(f"--map {kind}: expected pose or joint")
    workspace = None
    if box is not None:
        try:
            edges = np.array([float(part) for part in box.split(",")]).reshape(3, 2)
        except ValueError:
            raise BrazoError(f"--box {box}: expected xmin,xmax,ymin,ymax,zmin,zmax in m") from None
        workspace = Box(edges[:, 0], edges[:, 1])
    held = None if master is None else load_robot(master)
    return PoseMap(arm, limits, held, increments, workspace=workspace)


def master(
    connect: str = typer.Option(..., help="Address of the follower, host:port."),
    device: str = typer.Option(
        None,
        help="Input device: browser or delta (both on the page), script, keyboard or joystick; "
        "default script with --script, otherwise browser.",
    ),
    script: Path = typer.Option(None, help="YAML file with the motion of the hand."),
    joystick: Path = typer.Option(Path("/dev/input/js0"), help="Device file of the joystick."),
    robot: str = typer.Option(
        None, help="Master robot whose joint values are sent too; default on the page: delta."
    ),
    token_file: Path = TOKEN_FILE,
    tls: bool = typer.Option(False, help="Connect with TLS."),
    authority: Path = typer.Option(
        None, help="Certificate authority (PEM file) instead of the system's."
    ),
    rate: float = typer.Option(250.0, help="Commands per second."),
    bilateral: str = typer.Option(
        None, help="Force feedback scheme, the same as the follower's: waves or position-force."
    ),
    delay: float = typer.Option(
        0.0, min=0.0, help="Max one-way delay of the link, s; extends the validity of commands."
    ),
    deadman: float = typer.Option(
        None,
        min=0.1,
        max=1.0,
        help="Timeout of the enable (deadman) switch on the page, s; default 0.25. "
        "Increase it for software rendering of a large page.",
    ),
    headless: bool = typer.Option(False, "--headless", help="Run without a page."),
    page: str = PAGE,
    browser: bool = BROWSER,
    record: Path = typer.Option(None, help="Record the session to this .parquet file."),
    force: bool = FORCE,
    seconds: float = typer.Option(None, min=0.0, help="Exit after this time, s."),
    quiet: bool = typer.Option(False, "--quiet", help="Print nothing."),
) -> None:
    """Run a master station: drive a follower with an input device."""
    from brazo.hosts import address
    from brazo.teleop import MasterLink, client_tls
    from brazo.teleop.devices import Joystick, Keyboard, Pointed, load_script
    from brazo.teleop.link.master_link import VALID
    from brazo.teleop.stations import MasterStation, ReflectingMaster, scheme_named

    if device is None:
        device = "browser" if script is None else "script"
    if device == "delta":  # the Delta robot on the page
        device, robot = "browser", robot or "delta"
    if device == "script" and script is None:
        raise BrazoError("--device script needs --script FILE")
    if device == "browser" and headless:
        raise BrazoError("--device browser needs the page: omit --headless or choose another")
    if deadman is not None and device != "browser":
        raise BrazoError(f"--deadman applies to --device browser, not to {device}")
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
            print_line(line)
    elif device == "joystick":
        chosen = Joystick(joystick)
    elif device == "browser":
        chosen = Pointed() if deadman is None else Pointed(deadman=deadman)
    else:
        raise BrazoError(
            f"--device {device}: expected script, keyboard, joystick, browser or delta"
        )
    context = client_tls(authority) if tls or authority is not None else None
    with MasterLink(connect, token=_token(token_file), tls=context, name=device) as link:
        try:
            if page_at is None:  # a page shows the state of the link itself
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
                station.run(seconds, None if quiet else print_line)
            if not quiet:
                print_line(_counted(link.counts))
                if record is not None:
                    print_recorded(record)
            return
        from brazo.lab.stations import MasterLab

        with contextlib.ExitStack() as stack:
            stopped = _until_signal(stack)
            _open(stack, MasterLab(station, *page_at), browser, quiet)
            end = time.monotonic() + (float("inf") if seconds is None else seconds)
            printed = 0
            while time.monotonic() < end and not (stopped.is_set() or station.hand.done):
                printed, lines = station.log.after(printed)
                for line in lines if not quiet else ():
                    print_line(line)
                if station.failure is not None:
                    raise BrazoError(f"the station stopped: {station.failure}")
                time.sleep(0.05)
        if not quiet:
            print_line(_counted(link.counts) or "no commands sent")
            if record is not None:
                print_recorded(record)
        if device == "script" and not (stopped.is_set() or link.ever_connected):
            reason = link.refusal or "no answer"
            raise RunFailed(f"the script ran without a link to {link.url}: {reason}")


def _arm_alone(robot: Any) -> Any:
    """Return a simulation of a robot alone, moved by forces."""
    from brazo.lab.app.opening import as_cell
    from brazo.simulation import Simulation

    return Simulation(as_cell(robot))


def report(
    follower: Path = typer.Argument(help="Recording of the follower, .parquet."),
    master: Path = typer.Option(None, help="Recording of the master in the same session."),
    output: Path = typer.Option(Path("session.html"), "-o", "--output", help="Output file, .html."),
    force: bool = FORCE,
    as_json: bool = typer.Option(False, "--json", help="Print the key figures as JSON."),
) -> None:
    """Write a report of a session from the recordings of both stations."""
    from brazo.teleop.stations import session_report

    require_replaceable(output, force=force)
    numbers = session_report(follower, output, master)
    if as_json:
        print_json(numbers)
        return
    for name, value in numbers.items():
        print_line(f"{name}: {value}")
    print_line(str(output))


def proxy(
    to: str = typer.Option(..., help="Address of the follower, host:port."),
    listen: str = typer.Option("127.0.0.1:9001", help="Address masters connect to, host:port."),
    script: Path | None = typer.Option(None, help="YAML file with the faults and their times."),
    seed: int | None = typer.Option(None, min=0, help="Random seed, instead of the script's."),
    seconds: float | None = typer.Option(None, min=0.0, help="Exit after this time, s."),
    as_json: bool = typer.Option(False, "--json", help="Print the counts as JSON at the end."),
) -> None:
    """Inject network faults between a master and a follower; reproducible for a given seed."""
    from dataclasses import replace

    from brazo.hosts import address
    from brazo.teleop.proxy import FaultProxy, Script, load_script

    plan = Script() if script is None else load_script(script)
    if seed is not None:
        plan = replace(plan, seed=seed)
    host, port = address(listen)
    with FaultProxy(to, plan, host, port) as running:
        if not as_json:
            print_line(
                f"ws://{host}:{running.port} to {to}, {len(plan.steps)} steps, seed {plan.seed}"
            )
        printed, end = 0, time.monotonic() + (float("inf") if seconds is None else seconds)
        try:
            while time.monotonic() < end:
                while not as_json and printed < len(running.events):
                    t, text = running.events[printed]
                    print_line(f"{t:8.3f} s  {text}")
                    printed += 1
                time.sleep(0.05)
        except KeyboardInterrupt:
            pass
        counts = {direction: dict(count) for direction, count in running.counts.items()}
        if as_json:
            events = [{"t": t, "text": text} for t, text in running.events]
            print_json({"counts": counts, "events": events})
        else:
            for direction, count in counts.items():
                listed = ", ".join(f"{n} {why}" for why, n in count.items())
                print_line(f"{direction}: {listed or 'no messages'}")


def measure(
    seconds: float = typer.Option(10.0, help="Duration, s."),
    rate: float = typer.Option(500.0, help="Commands per second."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object."),
) -> None:
    """Measure the link between two processes: loss, reordering, latency, age of commands."""
    from dataclasses import asdict

    from rich.progress import Progress

    from brazo.teleop.link import measure as module

    with Progress(transient=True, disable=as_json, refresh_per_second=2) as bar:
        task = bar.add_task("commands", total=1.0)
        found = module.measure(seconds, rate, lambda part: bar.update(task, completed=part))
    if as_json:
        print_json(asdict(found))
        return
    print_line(f"{found.sent} commands in {found.seconds:.1f} s, {found.rate:.1f} per second")
    print_line(
        f"received {found.received}, lost {found.lost}, out of order {found.disordered}, "
        f"expired {found.late}, replaced before sending {found.replaced}"
    )
    rows = [
        (name, *(number(getattr(spread, part), 3) for part in ("p50", "p99", "p999", "most")))
        for name, spread in (
            ("one-way latency, ms", found.latency),
            ("jitter, ms", found.jitter),
            ("age when read, ms", found.age),
        )
    ]
    table("", ("", "median", "99 %", "99.9 %", "max"), rows)
    print_line(f"min round trip {found.round_trip:.3f} ms, clock offset {found.offset:.3f} ms")
