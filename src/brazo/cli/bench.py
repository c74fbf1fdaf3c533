"""`brazo bench`: brazo's speed on this machine, alone or beside its peers."""

from __future__ import annotations

from pathlib import Path

import typer

from brazo.cli.output import console, print_json, say, table
from brazo.cli.overwriting import FORCE, require_replaceable
from brazo.errors import BrazoError


def register(app: typer.Typer) -> None:
    app.command("bench")(bench)


def bench(
    peers: bool = typer.Option(False, "--peers", help="Time the peers that are installed, too."),
    quick: bool = typer.Option(False, "--quick", help="Everything, too short to trust ratios."),
    only: str = typer.Option(None, help="Sections to measure, separated by commas."),
    json: Path = typer.Option(None, help="Write all figures to this file ('-': print them)."),
    force: bool = FORCE,
) -> None:
    """Measure calls, batches, closed loops, compilation and start-up; best round of many."""
    from brazo.bench import SECTIONS, Settings, run

    if str(json) != "-":
        require_replaceable(json, force=force)
    chosen = tuple(only.split(",")) if only else SECTIONS
    if unknown := [name for name in chosen if name not in SECTIONS]:
        raise BrazoError(f"no section {', '.join(unknown)}; sections: {', '.join(SECTIONS)}")
    with console().status("measuring") as status:
        report = run(
            Settings(peers, quick), chosen, lambda name: status.update(f"measuring: {name}")
        )
    if json is not None and str(json) == "-":
        print_json(report.plain())
        return
    words = [f"{key} {value}" for key, value in report.machine.items() if value is not None]
    say(", ".join(words))
    for section in report.sections:
        say()
        rows = [[_cell(row.get(column)) for column in section.columns] for row in section.rows]
        if rows:
            table(section.title, section.columns, rows)
        for note in section.notes:
            say(f"note: {note}")
    if json is not None:
        import msgspec

        from brazo.files import replacing

        text = msgspec.json.format(msgspec.json.encode(report.plain()), indent=2)
        with replacing(json) as temporary:
            temporary.write_bytes(text + b"\n")


def _cell(value) -> str:
    """Three significant digits, in plain notation."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return str(value)
