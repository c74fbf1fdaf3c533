"""`brazo signals | convert | plot | report`: what is in a recording, and what can be made of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from brazo import units
from brazo.cli.output import print_json, say, table
from brazo.errors import BrazoError

if TYPE_CHECKING:
    from brazo.recording.recording import Recording
    from brazo.recording.source import Progress

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

    from brazo.recording.recording import Recording

    run = Recording.open(recording)
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
        listed = [dict(zip(keys, row, strict=True)) for row in rows]
        print_json({"rows": len(run), "signals": listed, "events": kinds, "about": dict(run.about)})
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
) -> None:
    """Write a recording in another format; .html is a 3D replay in one page.

    A killed run's `run.parquet.part` converted to `run.parquet` is finished and removed.
    """
    from brazo.recording.conversion import convert as convert_file

    with _bar(f"writing {target.name}") as progress:
        convert_file(
            recording,
            target,
            signals=chosen or None,
            start=_seconds(start),
            stop=_seconds(stop),
            progress=progress,
        )
    say(f"wrote {target} ({_size(target.stat().st_size)})")


def plot(
    recording: Path = _SOURCE,
    target: Path = typer.Argument(help="The figure: .png, .svg or .pdf."),
    chosen: list[str] = _SIGNALS,
    start: str = _FROM,
    stop: str = _TO,
    title: str = typer.Option("", help="A title over the figure."),
    rad: bool = typer.Option(False, "--rad", help="Angles in radians."),
    events: bool = typer.Option(True, help="Show what happened above the signals."),
) -> None:
    """Draw signals over time, an axis a unit; without --signals the positions of all joints."""
    from brazo.recording.canvas import save
    from brazo.recording.plots import figure
    from brazo.recording.robots import robots_of

    run = _opened(recording, start, stop)
    names = chosen or [name for robot in robots_of(run) for name in robot.group("q")] or run.names
    with _bar(f"drawing {target.name}"):
        save(figure(run, names, title, not rad, events), target)
    say(f"wrote {target}")


def report(
    recording: Path = _SOURCE,
    target: Path = typer.Argument(help="The page: .html."),
    start: str = _FROM,
    stop: str = _TO,
    title: str = typer.Option("", help="Its heading; default: the name of the cell."),
) -> None:
    """Write a run as one page: key numbers, figures, events; it needs nothing else to be read."""
    run = _opened(recording, start, stop)
    with _bar(f"writing {target.name}"):
        run.report(target, title)
    say(f"wrote {target} ({_size(target.stat().st_size)})")


def _opened(path: Path, start: str | None, stop: str | None) -> Recording:
    """A recording, or the part of it from one moment to another, which must hold something."""
    from brazo.recording.recording import Recording

    run = Recording.open(path)
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


@contextmanager
def _bar(text: str) -> Iterator[Progress]:
    """A progress bar on the error stream, where somebody is there to see it."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn()
    errors = Console(stderr=True)
    with Progress(*columns, console=errors, transient=True, disable=not errors.is_terminal) as bar:
        task = bar.add_task(text, total=None)
        yield lambda fraction: bar.update(task, completed=fraction, total=1.0)


def _seconds(text: str | None) -> float | None:
    return None if text is None else units.quantity(text, units.TIME)


def _size(count: int) -> str:
    return f"{count / 1e6:.1f} MB" if count >= 1e6 else f"{count / 1e3:.0f} kB"
