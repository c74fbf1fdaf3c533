"""`brazo teleop`: masters, followers, and bad networks on purpose."""

from __future__ import annotations

import time
from pathlib import Path

import typer

from brazo.cli.output import number, print_json, say, table


def register(app: typer.Typer) -> None:
    group = typer.Typer(
        help="Drive a robot from afar; stations and a bad network to try them in.",
        no_args_is_help=True,
        rich_markup_mode=None,
    )
    group.command("proxy")(proxy)
    group.command("measure")(measure)
    app.add_typer(group, name="teleop")


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

    from brazo.teleop.proxy import FaultProxy, Script, load_script
    from brazo.teleop.proxy.proxy import address

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

    from brazo.teleop import measure as module

    with Progress(transient=True, disable=as_json) as bar:
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
