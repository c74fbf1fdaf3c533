"""`brazo bench`: measure the speed of brazo on this machine, optionally also of other libraries."""

from __future__ import annotations

from pathlib import Path

import typer

from brazo.cli.output import console, print_json, print_line, table
from brazo.cli.overwriting import FORCE, require_replaceable
from brazo.errors import BrazoError


def register(app: typer.Typer) -> None:
    app.command("bench")(bench)


def bench(
    peers: bool = typer.Option(
        False, "--peers", help="Also measure other robotics libraries if installed."
    ),
    quick: bool = typer.Option(
        False, "--quick", help="Short run of all sections; ratios are unreliable."
    ),
    only: str = typer.Option(None, help="Comma-separated sections to measure."),
    json: Path = typer.Option(
        None, help="Write all results as JSON to this file ('-': print them)."
    ),
    force: bool = FORCE,
) -> None:
    """Measure the speed of calls, batches, closed loops, compilation and start-up.

    Each measurement is repeated many times; the fastest result is printed.
    """
    try:
        from brazo.bench import SECTIONS, Settings, run
    except ModuleNotFoundError as error:
        if error.name != "brazo.bench":
            raise
        raise BrazoError(
            "the benchmarks are not part of the installed package; run them in a checkout of the "
            "repository: make bench, or make run ARGS=bench"
        ) from None
    if str(json) != "-":
        require_replaceable(json, force=force)
    chosen = tuple(only.split(",")) if only else SECTIONS
    if unknown := [name for name in chosen if name not in SECTIONS]:
        raise BrazoError(
            f"--only: no section named {', '.join(unknown)}; sections: {', '.join(SECTIONS)}"
        )
    with console().status("measuring") as status:
        report = run(
            Settings(peers, quick), chosen, lambda name: status.update(f"measuring: {name}")
        )
    if json is not None and str(json) == "-":
        print_json(report.plain())
        return
    machine = [f"{key} {value}" for key, value in report.machine.items() if value is not None]
    print_line(", ".join(machine))
    for section in report.sections:
        print_line()
        rows = [[_cell(row.get(column)) for column in section.columns] for row in section.rows]
        if rows:
            table(section.title, section.columns, rows)
        for note in section.notes:
            print_line(f"note: {note}")
    if json is not None:
        import msgspec

        from brazo.files import replacing

        text = msgspec.json.format(msgspec.json.encode(report.plain()), indent=2)
        with replacing(json) as temporary:
            temporary.write_bytes(text + b"\n")


def _cell(value) -> str:
    """Return a table cell: a float with three significant digits, other values as text.

    A float of 100 or more is rounded to an integer.  The cell for None is empty.
    """
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return str(value)
