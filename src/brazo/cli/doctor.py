"""`brazo doctor`: does generated code work here, which way does it run, are its numbers right?"""

from __future__ import annotations

import typer

from brazo.cli.output import print_json, say, table


def register(app: typer.Typer) -> None:
    app.command("doctor")(doctor)


def doctor(json: bool = typer.Option(False, "--json", help="Print JSON.")) -> None:
    """Check the generated code on this machine.  Exit code 1 when something is wrong."""
    from brazo.codegen.diagnose import diagnose
    from brazo.dynamics.self_check import robot_checks
    from brazo.simulation.native import native_steps_check

    checks = [*diagnose(), *robot_checks(), native_steps_check()]
    healthy = all(check.ok for check in checks)
    if json:
        print_json({"healthy": healthy, "checks": [_plain(check) for check in checks]})
    else:
        rows = [("ok" if c.ok else "WRONG", c.name, c.found) for c in checks]
        table("Generated code on this machine", ("", "", "found"), rows, left=3)
        say(
            "all is well" if healthy else "something is wrong",
            style=None if healthy else "bold red",
        )
    raise typer.Exit(0 if healthy else 1)


def _plain(check) -> dict:
    return {"name": check.name, "found": check.found, "ok": check.ok}
