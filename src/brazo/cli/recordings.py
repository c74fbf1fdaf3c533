"""`brazo signals | convert | plot | report | compare | accuracy`: commands for recordings."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from brazo import units
from brazo.cli.output import print_json, print_line, progress_bar, table
from brazo.cli.overwriting import FORCE, require_replaceable
from brazo.errors import BrazoError
from brazo.text import one_line

if TYPE_CHECKING:
    from brazo.recording.recording import Recording
    from brazo.recording.source import ColumnSource

LARGE = 20_000_000  # bytes; a hint is printed for larger files
_SOURCE = typer.Argument(
    help="A recording: .parquet, .csv, or .parquet.part of an interrupted run."
)
_SIGNALS = typer.Option(
    None, "--signals", "-s", help="Signals to include: a name, prefix or pattern; repeatable."
)
_FROM = typer.Option(None, "--from", help="Start time (s, or with a unit: 1500ms).")
_TO = typer.Option(None, "--to", help="End time.")


def register(app: typer.Typer) -> None:
    app.command("signals")(signals)
    app.command("convert")(convert)
    app.command("plot")(plot)
    app.command("report")(report)
    app.command("compare")(compare)
    app.command("accuracy")(accuracy)


def signals(
    recording: Path = _SOURCE,
    json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """List the signals of a recording with units and ranges, and its events."""
    import numpy as np

    from brazo.recording.origin import SOURCE
    from brazo.recording.recording import Recording

    run = Recording.open(recording)
    _print_notes(run.notes)
    rows = []
    for name in run:
        values = run[name][np.isfinite(run[name])]
        low, high = (values.min(), values.max()) if len(values) else (np.nan, np.nan)
        rows.append((name, run.unit(name), low, high))
    kinds: dict[str, int] = {}
    for event in run.events:
        kinds[str(event.get("kind", ""))] = kinds.get(str(event.get("kind", "")), 0) + 1
    if json:
        about = {key: value for key, value in run.about.items() if key != SOURCE}
        listed = [
            # least and greatest are the deprecated names of min and max.
            {"name": n, "unit": u, "min": low, "max": high, "least": low, "greatest": high}
            for n, u, low, high in rows
        ]
        print_json({"rows": len(run), "signals": listed, "events": kinds, "about": about})
        return
    print_line(f"{recording}: {len(run)} rows, {run.duration:g} s, {len(run.names)} signals")
    texts = [(name, unit, f"{low:.6g}", f"{high:.6g}") for name, unit, low, high in rows]
    table("", ("signal", "unit", "min", "max"), texts, left=2)
    if kinds:
        print_line("events: " + ", ".join(f"{kind} {count}" for kind, count in kinds.items()))


def convert(
    recording: Path = _SOURCE,
    target: Path = typer.Argument(
        help="Output file: .parquet, .csv, .xlsx, .mcap, .html, .mp4, .webm or .gif."
    ),
    chosen: list[str] = _SIGNALS,
    start: str = _FROM,
    stop: str = _TO,
    rate: float = typer.Option(
        None, "--rate", help="Downsample to this many rows per second (Hz)."
    ),
    cell: str = typer.Option(
        None,
        "--cell",
        help="For .html and videos: cell or robot to show instead of the recording's own.",
    ),
    salvage: bool = typer.Option(
        False, "--salvage", help="Write the intact rows of a damaged recording."
    ),
    force: bool = FORCE,
) -> None:
    """Convert a recording to another format; .html is a self-contained 3D replay.

    .mp4, .webm and .gif are videos; `brazo video` has more options for them.

    Converting the `run.parquet.part` of an interrupted run to `run.parquet` removes the .part file.
    """
    from brazo.recording.conversion import DRAWN, chosen_rows
    from brazo.recording.conversion import convert as convert_file

    if target.resolve() != recording.resolve():  # `convert_file` rejects that case
        require_replaceable(target, force=force)
    if rate is not None and not (math.isfinite(rate) and rate > 0.0):
        raise BrazoError(f"--rate {rate:g}: expected rows per second, greater than 0")
    part = {
        "signals": chosen or None,
        "start": _seconds(start),
        "stop": _seconds(stop),
        "rate": rate,
        "salvage": salvage,
    }
    source = chosen_rows(recording, **part)
    _print_notes(source.notes)
    drawn = _drawn(source, recording, target, cell)
    with progress_bar(f"writing {target.name}") as progress:
        convert_file(recording, target, **part, cell=drawn, progress=progress)
    size = target.stat().st_size
    print_line(f"wrote {target} ({_size(size)}, {source.rows} rows)")
    if rate is None and size > LARGE and target.suffix.lower() not in DRAWN:
        print_line(
            "note: for a smaller file, use --rate 100 (100 rows per second) or --signals (only "
            "some signals)"
        )


def plot(
    recording: Path = _SOURCE,
    target: Path = typer.Argument(help="Output file: .png, .svg or .pdf."),
    chosen: list[str] = _SIGNALS,
    start: str = _FROM,
    stop: str = _TO,
    title: str = typer.Option("", help="Title of the figure."),
    rad: bool = typer.Option(False, "--rad", help="Angles in radians."),
    events: bool = typer.Option(True, help="Show events above the signals."),
    scope: str = typer.Option(
        None,
        "--scope",
        help="Plot the path of the tool and its reference in a plane: xy, xz, yz or all.",
    ),
    robot: str = typer.Option(None, help="With --scope: robot; default: the first one."),
    at: str = typer.Option(None, "--at", help="With --scope: time of the cursor."),
    force: bool = FORCE,
) -> None:
    """Plot signals over time, one axis per unit; default: all joint positions.

    --scope plots the path of a tool instead, with error statistics.  The statistics have the
    names of ISO 9283; no conformity is claimed.
    """
    from brazo.recording.canvas import save
    from brazo.recording.plots import figure
    from brazo.recording.robots import robots_of

    if scope is None and (robot is not None or at is not None):
        raise BrazoError("--robot and --at need --scope; add --scope, or omit them")
    if scope is not None and chosen:
        raise BrazoError("--signals and --scope: give only one of them")
    require_replaceable(target, force=force)
    run = _opened(recording, start, stop)
    if scope is not None:
        with progress_bar(f"drawing {target.name}"):
            run.plot_scope(scope, target, robot=robot, time=_seconds(at), title=title)
        print_line(f"wrote {target}")
        return
    names = chosen or [name for robot in robots_of(run) for name in robot.group("q")] or run.names
    with progress_bar(f"drawing {target.name}"):
        save(figure(run, names, title, not rad, events), target)
    print_line(f"wrote {target}")


def report(
    recording: Path = _SOURCE,
    target: Path = typer.Argument(help="Output file: .html."),
    start: str = _FROM,
    stop: str = _TO,
    title: str = typer.Option("", help="Heading; default: the name of the cell."),
    force: bool = FORCE,
) -> None:
    """Write a self-contained HTML report of a run: key figures, plots, events."""
    require_replaceable(target, force=force)
    run = _opened(recording, start, stop)
    with progress_bar(f"writing {target.name}"):
        run.report(target, title)
    print_line(f"wrote {target} ({_size(target.stat().st_size)})")


def compare(
    recordings: list[Path] = typer.Argument(
        help="Recordings to compare: .parquet, .csv or .parquet.part."
    ),
    plot: Path = typer.Option(
        None,
        "--plot",
        "-p",
        help="Write a figure: .png, .svg or .pdf; without --signals or --xy: tool and errors.",
    ),
    table_file: Path = typer.Option(
        None, "--table", "-t", help="Write the metrics of each run and joint as .csv."
    ),
    chosen: list[str] = typer.Option(
        None,
        "--signals",
        "-s",
        help="Signals to plot, without the robot's name, e.g. q.elbow or torque.",
    ),
    xy: tuple[str, str] = typer.Option(
        None, "--xy", help="Plot the second signal over the first: --xy tool.x tool.y."
    ),
    names: list[str] = typer.Option(
        None,
        "--name",
        "-n",
        help="Name of a run in legend and table; repeat for each recording, in order.",
    ),
    robot: str = typer.Option(None, help="Robot to compare; default: the first one."),
    after: float = typer.Option(1.0, help="Time evaluated after the end of a motion (s)."),
    title: str = typer.Option("", help="Title of the figure."),
    json: bool = typer.Option(False, "--json", help="Print JSON."),
    force: bool = FORCE,
) -> None:
    """Compare runs, synchronised at the start of their motion: metrics and an overlaid plot."""
    from brazo.recording.comparison import COLUMNS, HEADINGS, Comparison, name_of_file, unused

    if names and len(names) != len(recordings):
        raise BrazoError(
            f"--name: {len(names)} names for {len(recordings)} recordings; give one per recording"
        )
    if len(set(names or ())) < len(names or ()):
        raise BrazoError("--name: two runs have the same name")
    if plot is None and (chosen or xy or title):
        raise BrazoError("--signals, --xy and --title need a figure file: add --plot FILE")
    if chosen and xy:
        raise BrazoError("--signals and --xy: give only one of them")
    for target in filter(None, (plot, table_file)):
        require_replaceable(target, force=force)
    runs: dict[str, Recording] = {}
    for path, name in zip(recordings, names or map(name_of_file, recordings), strict=True):
        runs[unused(name, runs)] = _opened(path, None, None)
    found = Comparison(runs, robot, after)
    if table_file is not None:
        found.to_csv(table_file)
    if plot is not None:
        with progress_bar(f"drawing {plot.name}"):
            if xy:
                found.plot_xy(*xy, path=plot, title=title)
            else:
                found.plot(chosen or None, plot, title)
    if json:
        print_json([dict(zip(COLUMNS, row, strict=True)) for row in found.rows()])
        return
    table(f"{found.robot}, from the start of the motion", HEADINGS, found.texts(), left=2)
    for target in filter(None, (table_file, plot)):
        print_line(f"wrote {target}")


def accuracy(
    recording: Path = _SOURCE,
    cycles: int = typer.Option(
        None, min=1, help="Number of cycles of the motion; default: repetitions of the reference."
    ),
    robot: str = typer.Option(None, help="Robot; default: the first one."),
    band: str = typer.Option(
        None,
        help="Tolerance band of overshoot and stabilization (m); default: 2 % of the path's range.",
    ),
    after: float = typer.Option(1.0, help="Time evaluated after the end of the motion (s)."),
    json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Compute path accuracy and repeatability of the tool over cycles (terms of ISO 9283)."""
    from brazo.recording.accuracy import path_accuracy

    size = None if band is None else units.quantity(band, units.LENGTH)
    run = _opened(recording, None, None)
    found = path_accuracy(run, cycles, robot=robot, band=size, after=after)
    if json:
        print_json(found.as_dict())
        return
    rows = [
        ("path accuracy AT_p", f"{1000 * found.path_accuracy:.4f} mm"),
        ("path repeatability RT_p", f"{1000 * found.path_repeatability:.4f} mm"),
        ("position overshoot OV", f"{1000 * found.overshoot:.4f} mm"),
        ("stabilization time", f"{found.stabilization_time:.3f} s"),
        ("band", f"{1000 * found.band:.4f} mm"),
    ]
    rows = [(name, "-" if text.startswith("nan") else text) for name, text in rows]
    table(f"{found.robot}, cycles: {found.cycles}", ("", ""), rows)
    print_line("names as in ISO 9283; no conformity is claimed")


def _drawn(source: ColumnSource, recording: Path, target: Path, cell: str | None) -> Any:
    """Return the cell to show in an .html replay or a video; None for other formats.

    `cell` is the option --cell; by default the cell of the recording is shown.  Notes about the
    cell are printed.  Raises BrazoError if --cell is given for another format.
    """
    from brazo.recording.conversion import DRAWN

    if target.suffix.lower() not in DRAWN:
        if cell is not None:
            raise BrazoError(
                f"--cell is only allowed for {', '.join(DRAWN)} files, not for {target.name}"
            )
        return None
    from brazo.simulation.recorded_cell import recorded_cell

    found, notes = recorded_cell(source, recording, cell)
    for note in notes:
        print_line(f"note: {note}", style="yellow")
    return found


def _opened(path: Path, start: str | None, stop: str | None) -> Recording:
    """Return a recording, or only its rows between the times `start` and `stop`.

    The times are texts such as "1.5" (s) or "1500ms"; None means no limit.  Raises BrazoError if
    there are no rows between these times.
    """
    from brazo.recording.recording import Recording

    run = Recording.open(path)
    _print_notes(run.notes)
    first, last = _seconds(start), _seconds(stop)
    if not len(run) or (first is None and last is None):
        return run
    part = run.between(first, last)
    if not len(part):
        low, high = float(run.t[0]), float(run.t[-1])
        raise BrazoError(
            f"{path}: no rows from {low if first is None else first:g} s to "
            f"{high if last is None else last:g} s; the recording covers {low:g} s to {high:g} s"
        )
    return part


def _print_notes(notes: Iterable[str]) -> None:
    for note in notes:
        print(f"note: {one_line(note)}", file=sys.stderr)


def _seconds(text: str | None) -> float | None:
    return None if text is None else units.quantity(text, units.TIME)


def _size(count: int) -> str:
    return f"{count / 1e6:.1f} MB" if count >= 1e6 else f"{count / 1e3:.0f} kB"
