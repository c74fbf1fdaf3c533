"""`brazo doctor`: check that generated code runs on this machine and returns correct results."""

from __future__ import annotations

import typer

from brazo.cli.output import print_json, print_line, table


def register(app: typer.Typer) -> None:
    app.command("doctor")(doctor)


def doctor(json: bool = typer.Option(False, "--json", help="Print JSON.")) -> None:
    """Check the generated code on this machine.  Exit code 1 if a check fails."""
    from brazo.codegen.diagnose import diagnose
    from brazo.dynamics.self_check import robot_checks
    from brazo.simulation.native import native_steps_check

    checks = [*diagnose(), *robot_checks(), native_steps_check()]
    healthy = all(check.ok for check in checks)
    if json:
        found = [{"name": one.name, "found": one.found, "ok": one.ok} for one in checks]
        print_json({"healthy": healthy, "checks": found})
    else:
        rows = [("ok" if c.ok else "FAILED", c.name, c.found) for c in checks]
        table("Generated code on this machine", ("", "check", "result"), rows, left=3)
        print_line(
            "all checks passed" if healthy else "some checks failed",
            style=None if healthy else "bold red",
        )
    raise typer.Exit(0 if healthy else 1)
