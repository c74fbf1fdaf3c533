"""`brazo video`: render a recording, a cell or a robot to a video file."""

from __future__ import annotations

import time
from pathlib import Path

import typer

from brazo import units
from brazo.cli.output import print_json, print_line, progress_bar
from brazo.cli.overwriting import FORCE, require_replaceable


def register(app: typer.Typer) -> None:
    app.command("video")(video)


def video(
    source: str = typer.Argument(
        help="A recording (.parquet, .csv, .parquet.part), or a cell or robot: name or file."
    ),
    output: Path = typer.Option(
        None, "--output", "-o", help="Output file: .mp4, .webm or .gif; default: NAME.mp4."
    ),
    fps: float = typer.Option(30.0, "--fps", help="Frames per second of the video."),
    size: str = typer.Option("1280x720", "--size", help="WIDTHxHEIGHT in px."),
    camera: str = typer.Option(
        "default",
        "--camera",
        help="View: default, front, back, left, right or top; AZIMUTH,ELEVATION[,DISTANCE] in "
        "degrees and m; or a .yaml or .csv file with keyframes.",
    ),
    turntable: bool = typer.Option(
        False, "--turntable", help="One revolution of the camera during the video."
    ),
    speed: float = typer.Option(1.0, "--speed", help="Playback speed; 2 is twice as fast."),
    start: str = typer.Option(None, "--from", help="Start time (s, or with a unit: 1500ms)."),
    stop: str = typer.Option(None, "--to", help="End time."),
    trail: bool = typer.Option(False, "--trail", help="Draw the path of the tools."),
    shadows: bool = typer.Option(True, help="Draw shadows; without them rendering is faster."),
    cell: str = typer.Option(
        None, "--cell", help="Cell or robot to show instead of the recording's own."
    ),
    json: bool = typer.Option(False, "--json", help="Print JSON."),
    force: bool = FORCE,
) -> None:
    """Render a recording to a video, without a browser or a display.

    A cell or robot is shown at rest; with --turntable the camera moves around it.
    """
    from brazo.video.encoder import video_format
    from brazo.video.rendering import VideoOptions, render

    target = output if output is not None else Path(f"{_stem(source)}.mp4")
    video_format(target)
    options = VideoOptions(
        fps, size, camera, turntable, speed, _seconds(start), _seconds(stop), trail, shadows
    )
    require_replaceable(target, force=force)
    begin: float | None = None
    with progress_bar(f"rendering {target.name}") as progress:

        def show(fraction: float) -> None:
            nonlocal begin
            if fraction > 0.0:
                begin = begin or time.perf_counter()  # the first frame waits for the setup
            progress(fraction)

        done = render(source, target, options, cell=cell, progress=show)
    passed = time.perf_counter() - (begin or 0.0)
    rate = (done.frames - 1) / passed if passed > 0.0 else 0.0
    if json:
        print_json(
            {
                "path": str(done.path),
                "frames": done.frames,
                "duration": done.duration,
                "bytes": done.path.stat().st_size,
                "frames_per_second": rate,
                "notes": list(done.notes),
            }
        )
        return
    for note in done.notes:
        print_line(f"note: {note}", style="yellow")
    width, height = options.size
    print_line(
        f"wrote {done.path} ({_size(done.path.stat().st_size)}, {done.frames} frames, "
        f"{done.duration:.2f} s, {width}x{height}), rendered at {rate:.1f} frames/s"
    )


def _stem(source: str) -> str:
    name = Path(source).name.split(":")[-1]
    for suffix in (".parquet.part", ".parquet", ".csv", ".yaml", ".yml", ".urdf", ".xml"):
        name = name.removesuffix(suffix)
    return name or "video"


def _seconds(text: str | None) -> float | None:
    return None if text is None else units.quantity(text, units.TIME)


def _size(count: int) -> str:
    return f"{count / 1e6:.1f} MB" if count >= 1e6 else f"{count / 1e3:.0f} kB"
