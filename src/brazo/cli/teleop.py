"""`brazo teleop`: masters, followers, and bad networks on purpose."""

from __future__ import annotations

import time
from pathlib import Path

import typer

from brazo.cli.output import print_json, say


def register(app: typer.Typer) -> None:
    group = typer.Typer(
        help="Drive a robot from afar; stations and a bad network to try them in.",
        no_args_is_help=True,
        rich_markup_mode=None,
    )
    group.command("proxy")(proxy)
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
