"""`brazo signals | convert | plot | report`: what is in a recording, and what can be made of it."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from brazo import units
from brazo.cli.output import print_json, progress_bar, say, table
from brazo.cli.overwriting import FORCE, require_replaceable
from brazo.errors import BrazoError
from brazo.text import one_line

if TYPE_CHECKING:
    from brazo.recording.recording import Recording
    from brazo.recording.source import Source

LARGE = 20_000_000  # bytes; a file of more gets a hint
_SOURCE = typer.Argument(help="A recording: .parquet, .csv, or the .parquet.part of a killed run.")
_SIGNALS = typer.Option(
    None, "--signals", "-s", help="Only these: a name, a start of names or a pattern; repeatable."
)
_FROM = typer.Option(None, "--from", help="Start here (s, or with a unit: 1500ms).")
_TO = typer.Option(None, "--to", help="End here.")


def register(app: typer.Typer) -> None:
    app.command("signals")(signals)
    app.command("convert")(convert)
    app.command("plot")(plot)
    app.command("report")(report)


def signals(
    recording: Path = _SOURCE,
    json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """List what a recording holds: signals, units, ranges, events."""
    import numpy as np

    from brazo.recording.origin import SOURCE
    from brazo.recording.recording import Recording

    run = Recording.open(recording)
    _say_notes(run.notes)
    rows = []
    for name in run:
        values = run[name][np.isfinite(run[name])]
        low, high = (values.min(), values.max()) if len(values) else (np.nan, np.nan)
        rows.append((name, run.unit(name), low, high))
    kinds: dict[str, int] = {}
    for event in run.events:
        kinds[str(event.get("kind", ""))] = kinds.get(str(event.get("kind", "")), 0) + 1
    if json:
        keys = ("name", "unit", "least", "greatest")
        about = {key: value for key, value in run.about.items() if key != SOURCE}
        listed = [dict(zip(keys, row, strict=True)) for row in rows]
        print_json({"rows": len(run), "signals": listed, "events": kinds, "about": about})
        return
    say(f"{recording}: {len(run)} rows, {run.duration:g} s, {len(run.names)} signals")
    texts = [(name, unit, f"{low:.6g}", f"{high:.6g}") for name, unit, low, high in rows]
    table("", ("signal", "unit", "least", "greatest"), texts, left=2)
    if kinds:
        say("events: " + ", ".join(f"{kind} {count}" for kind, count in kinds.items()))


def convert(
    recording: Path = _SOURCE,
    target: Path = typer.Argument(help="What to write: .parquet, .csv, .xlsx, .mcap or .html."),
    chosen: list[str] = _SIGNALS,
    start: str = _FROM,
    stop: str = _TO,
    rate: float = typer.Option(
        None, "--rate", help="So many rows a second (Hz), taken from those recorded."
    ),
    cell: str = typer.Option(
        None, "--cell", help="For .html: its cell or robot, instead of the recording's own."
    ),
    salvage: bool = typer.Option(
        False, "--salvage", help="Of a damaged recording write the rows that are intact."
    ),
    force: bool = FORCE,
) -> None:
    """Write a recording in another format; .html is a 3D replay in one page.

    The `run.parquet.part` of an interrupted run converted to `run.parquet` is finished and removed.
    """
    from brazo.recording.conversion import chosen_rows
    from brazo.recording.conversion import convert as convert_file

    if target.resolve() != recording.resolve():  # which has a message of its own
        require_replaceable(target, force=force)
    if rate is not None and not (math.isfinite(rate) and rate > 0.0):
        raise BrazoError(f"--rate {rate:g}: wanted rows a second, greater than 0")
    part = {
        "signals": chosen or None,
        "start": _seconds(start),
        "stop": _seconds(stop),
        "rate": rate,
        "salvage": salvage,
    }
    source = chosen_rows(recording, **part)
    _say_notes(source.notes)
    drawn = _drawn(source, recording, target, cell)
    with progress_bar(f"writing {target.name}") as progress:
        convert_file(recording, target, **part, cell=drawn, progress=progress)
    size = target.stat().st_size
    say(f"wrote {target} ({_size(size)}, {source.rows} rows)")
    if rate is None and size > LARGE and target.suffix.lower() != ".html":
        say("note: --rate 100 writes a hundred rows a second, --signals some signals alone")


def plot(
    recording: Path = _SOURCE,
    target: Path = typer.Argument(help="The figure: .png, .svg or .pdf."),
    chosen: list[str] = _SIGNALS,
    start: str = _FROM,
    stop: str = _TO,
    title: str = typer.Option("", help="A title over the figure."),
    rad: bool = typer.Option(False, "--rad", help="Angles in radians."),
    events: bool = typer.Option(True, help="Show what happened above the signals."),
    force: bool = FORCE,
) -> None:
    """Draw signals over time, an axis a unit; without --signals the positions of all joints."""
    from brazo.recording.canvas import save
    from brazo.recording.plots import figure
    from brazo.recording.robots import robots_of

    require_replaceable(target, force=force)
    run = _opened(recording, start, stop)
    names = chosen or [name for robot in robots_of(run) for name in robot.group("q")] or run.names
    with progress_bar(f"drawing {target.name}"):
        save(figure(run, names, title, not rad, events), target)
    say(f"wrote {target}")


def report(
    recording: Path = _SOURCE,
    target: Path = typer.Argument(help="The page: .html."),
    start: str = _FROM,
    stop: str = _TO,
    title: str = typer.Option("", help="Its heading; default: the name of the cell."),
    force: bool = FORCE,
) -> None:
    """Write a run as one page: key numbers, figures, events; it needs nothing else to be read."""
    require_replaceable(target, force=force)
    run = _opened(recording, start, stop)
    with progress_bar(f"writing {target.name}"):
        run.report(target, title)
    say(f"wrote {target} ({_size(target.stat().st_size)})")


def _drawn(source: Source, recording: Path, target: Path, cell: str | None) -> Any:
    """The cell of an .html replay; its notes are printed."""
    if target.suffix.lower() != ".html":
        if cell is not None:
            raise BrazoError(f"--cell: {target.name} has no picture; an .html replay has")
        return None
    from brazo.lab.app.recorded_cell import recorded_cell

    found, notes = recorded_cell(source, recording, cell)
    for note in notes:
        say(f"note: {note}", style="yellow")
    return found


def _opened(path: Path, start: str | None, stop: str | None) -> Recording:
    """A recording, or the part of it from one moment to another, which must hold something."""
    from brazo.recording.recording import Recording

    run = Recording.open(path)
    _say_notes(run.notes)
    first, last = _seconds(start), _seconds(stop)
    if not len(run) or (first is None and last is None):
        return run
    part = run.between(first, last)
    if not len(part):
        low, high = float(run.t[0]), float(run.t[-1])
        raise BrazoError(
            f"{path}: nothing was recorded from {low if first is None else first:g} s to "
            f"{high if last is None else last:g} s; it goes from {low:g} s to {high:g} s"
        )
    return part


def _say_notes(notes: Iterable[str]) -> None:
    for note in notes:
        print(f"note: {one_line(note)}", file=sys.stderr)


def _seconds(text: str | None) -> float | None:
    return None if text is None else units.quantity(text, units.TIME)


def _size(count: int) -> str:
    return f"{count / 1e6:.1f} MB" if count >= 1e6 else f"{count / 1e3:.0f} kB"
