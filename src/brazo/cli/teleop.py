"""`brazo teleop follower | master`: run a teleoperation station.

The other teleop commands are in `teleop_tools`.
"""

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
from brazo.cli.output import print_json, print_line
from brazo.cli.overwriting import FORCE, require_replaceable
from brazo.cli.teleop_tools import COUNTS, FOLLOWER, SECONDS, measure, proxy, report
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
_HEADLESS = typer.Option(False, "--headless", help="Run without a page.")
_RECORD = typer.Option(None, help="Record the session to this .parquet file.")


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
    cell: str = typer.Option(None, help="Instead of --robot: a shipped cell or a cell file."),
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
        None, help="Robot of the master; needed if the master sends joint values but no pose."
    ),
    mapping: str = typer.Option(
        "pose", "--map", help="Mapping: pose, or joint (for identical robots)."
    ),
    scale: float = typer.Option(1.0, help="Motion scale k: the follower moves 1/k of the master."),
    directions: str = typer.Option(
        "crossed", help="Axes: crossed (X to Y, Y to -Z, Z to -X) or same."
    ),
    bilateral: str = typer.Option(
        None, help="Force feedback scheme: waves (stable for any delay) or position-force."
    ),
    delay: float = typer.Option(
        0.0, min=0.0, help="Max one-way delay of the link, s; added to the time until HOLD."
    ),
    box: str = typer.Option(
        None, help="Workspace in the base frame, m: xmin,xmax,ymin,ymax,zmin,zmax."
    ),
    headless: bool = _HEADLESS,
    page: str = PAGE,
    browser: bool = BROWSER,
    record: Path = _RECORD,
    force: bool = FORCE,
    seconds: float = SECONDS,
    as_json: bool = COUNTS,
) -> None:
    """Run a follower station: a simulated robot that a master station drives.  Ctrl+C ends it."""
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
        raise BrazoError("give exactly one of --robot NAME and --cell NAME")
    if (certificate is None) != (key is None):
        raise BrazoError("TLS needs both --certificate and --key")
    replace = require_replaceable(record, force=force)
    sim = Simulation(as_cell(f"robot:{robot}" if cell is None else cell))
    warn_cell(sim.cell)
    names = list(sim.robots)
    if not names:
        raise BrazoError(f"--cell {cell}: the cell has no robots; a follower needs one")
    if of is None and len(names) > 1:
        raise BrazoError(f"the cell has several robots; choose one: --of {' or '.join(names)}")
    chosen = sim.robots[of or names[0]]
    rules = Rules.over(delay)
    limits = limits_of(chosen.arm)
    increments = _increments(directions, scale)
    coupled = bilateral is not None
    scheme = scheme_named(bilateral) if coupled else None
    if coupled and (box is not None or mapping != "pose"):
        raise BrazoError(
            "--bilateral couples the tool positions directly and cannot be used with --box or "
            "--map; omit --box and --map"
        )
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
        # First: a start that is interrupted would leave the station and its recording open.
        stopped = _until_signal(stack)
        stack.enter_context(station)
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
    """Return the access token from a file, or else from the environment variable BRAZO_TOKEN.

    There is no option for the token itself, because process lists show command-line arguments.
    """
    from brazo.permissions import read_secret

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
    """Print the address of the station's page, and open it in a browser if requested.

    The page is served until `stack` is closed.
    """
    from brazo.lab.serving import show

    stack.callback(lab.stop)
    if not quiet:
        print_line(f"page: {lab.url}  (Ctrl+C to stop)")
    if browser:
        show(lab)


def _increments(directions: str, scale: float) -> Any:
    """Return the map from motion increments of the master to those of the follower.

    `directions` and `scale` are the options --directions and --scale.
    """
    import numpy as np

    from brazo.teleop import IncrementMap
    from brazo.teleop.mapping.base import DIRECTIONS

    if directions not in ("crossed", "same"):
        raise BrazoError(f"--directions {directions}: expected crossed or same")
    return IncrementMap(DIRECTIONS if directions == "crossed" else np.eye(3), scale)


def _mapping(kind, arm, limits, master, increments, box):
    """Return the mapping from commands of the master to the follower `arm`.

    `kind`, `master` and `box` are the options --map, --master and --box; `limits` are the motion
    limits of the arm, and `increments` is the result of `_increments`.
    """
    import numpy as np

    from brazo.teleop import BoxWall, JointMap, PoseMap

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
        workspace = BoxWall(edges[:, 0], edges[:, 1])
    held = None if master is None else load_robot(master)
    return PoseMap(arm, limits, held, increments, workspace=workspace)


def master(
    connect: str = FOLLOWER,
    device: str = typer.Option(
        None,
        help="Input device: browser or delta (both on the page), script, keyboard or joystick; "
        "default script with --script, otherwise browser.",
    ),
    script: Path = typer.Option(None, help="YAML file with the motion of the operator's hand."),
    joystick: Path = typer.Option(Path("/dev/input/js0"), help="Device file of the joystick."),
    robot: str = typer.Option(
        None,
        help="Robot of the master, whose joint values are sent too; default on the page: delta.",
    ),
    follower: str = typer.Option(
        None,
        help="Cell or robot of the follower, to draw it on the page; name or file. Default: the "
        "shipped cell or robot that the follower reports.",
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
    headless: bool = _HEADLESS,
    page: str = PAGE,
    browser: bool = BROWSER,
    record: Path = _RECORD,
    force: bool = FORCE,
    seconds: float = SECONDS,
    quiet: bool = typer.Option(False, "--quiet", help="Print nothing."),
) -> None:
    """Run a master station: drive a follower with an input device."""
    from brazo.hosts import address
    from brazo.teleop import MasterLink, client_tls
    from brazo.teleop.devices import Joystick, Keyboard, PageHandle, load_script
    from brazo.teleop.link.master_link import VALID
    from brazo.teleop.stations import MasterStation, ReflectingMaster, scheme_named

    if device is None:
        device = "browser" if script is None else "script"
    if device == "delta":  # the Delta robot on the page
        device, robot = "browser", robot or "delta"
    if device == "script" and script is None:
        raise BrazoError("--device script needs --script FILE")
    if device == "browser" and headless:
        raise BrazoError(
            "--device browser needs the page: omit --headless, or choose another device"
        )
    if deadman is not None and device != "browser":
        raise BrazoError(f"--deadman is only allowed with --device browser, not with {device}")
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
        keys = (keyboard.__doc__ or "").split("\n\n")[1].splitlines()
        for line in keys if not quiet else ():
            print_line(line)
    elif device == "joystick":
        chosen = Joystick(joystick)
    elif device == "browser":
        chosen = PageHandle() if deadman is None else PageHandle(deadman=deadman)
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
            _open(stack, MasterLab(station, *page_at, follower=follower), browser, quiet)
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
            raise RunFailed(
                f"the script ended, but the follower at {link.url} was never connected: {reason}"
            )


def _arm_alone(robot: Any) -> Any:
    """Return a simulation of a single robot without other objects."""
    from brazo.lab.app.opening import as_cell
    from brazo.simulation import Simulation

    return Simulation(as_cell(robot))
