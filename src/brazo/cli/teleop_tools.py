"""`brazo teleop report | proxy | measure`: session reports, network faults, link quality."""

from __future__ import annotations

import time
from pathlib import Path

import typer

from brazo.cli.output import number, print_json, print_line, table
from brazo.cli.overwriting import FORCE, require_replaceable

SECONDS = typer.Option(None, min=0.0, help="Exit after this time, s.")
COUNTS = typer.Option(False, "--json", help="Print the counts as JSON at the end.")
FOLLOWER = typer.Option(..., help="Address of the follower, host:port.")


def report(
    follower: Path = typer.Argument(help="Recording of the follower, .parquet."),
    master: Path = typer.Option(None, help="Recording of the master in the same session."),
    output: Path = typer.Option(Path("session.html"), "-o", "--output", help="Output file, .html."),
    force: bool = FORCE,
    as_json: bool = typer.Option(False, "--json", help="Print the key figures as JSON."),
) -> None:
    """Write a report of a teleoperation session from the recording of one or both stations."""
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
    to: str = FOLLOWER,
    listen: str = typer.Option("127.0.0.1:9001", help="Address masters connect to, host:port."),
    script: Path | None = typer.Option(None, help="YAML file with the faults and their times."),
    seed: int | None = typer.Option(None, min=0, help="Random seed, instead of the script's."),
    seconds: float | None = SECONDS,
    as_json: bool = COUNTS,
) -> None:
    """Inject network faults between a master and a follower; reproducible for a given seed."""
    from dataclasses import replace

    from brazo.hosts import address
    from brazo.teleop.proxy import FaultProxy, FaultScript, load_script

    plan = FaultScript() if script is None else load_script(script)
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
