"""`brazo strokes`: track a coloured marker in a video and write its path as a trajectory file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from brazo import units
from brazo.cli.output import print_json, print_line
from brazo.cli.overwriting import FORCE, require_replaceable
from brazo.cli.robot_options import JSON
from brazo.errors import BrazoError
from brazo.files import replacing

if TYPE_CHECKING:
    from brazo.trajectory import MarkerTrack


def register(app: typer.Typer) -> None:
    app.command("strokes", context_settings={"ignore_unknown_options": True})(strokes)


def strokes(
    video: Path = typer.Argument(help="A video: .webm, .mp4, .mov, .mkv, .avi, .gif …"),
    color: str = typer.Option(
        ..., "--color", help="Colour of the marker: #RRGGBB, or red, green, blue, yellow, white …"
    ),
    centre: tuple[str, str, str] = typer.Option(
        ..., "--centre", help="Centre of the picture in the base frame (m, or 30cm …)."
    ),
    output: Path = typer.Option(
        None, "--output", "-o", help="Trajectory file to write; default: NAME.yaml."
    ),
    width: str = typer.Option("80mm", "--width", help="Width of the picture (m, or 80mm …)."),
    mirror: bool = typer.Option(False, "--mirror", help="Mirror the picture horizontally."),
    tolerance: str = typer.Option("20deg", "--tolerance", help="Tolerance of the marker's hue."),
    smoothing: str = typer.Option(
        "0.2s", "--smoothing", help="Window of the smoothing filter; 0: none."
    ),
    time: str = typer.Option(
        None, "--time", help="Duration of the motion; default: the duration in the video."
    ),
    json: bool = JSON,
    force: bool = FORCE,
) -> None:
    """Track a coloured marker in a video; write its path as a trajectory file.

    To follow the path with a robot: brazo simulate ROBOT --trajectory FILE.
    """
    from brazo.trajectory import track_video

    target = output if output is not None else Path(f"{video.stem}.yaml")
    if target.suffix.lower() not in (".yaml", ".yml"):
        raise BrazoError(f"{target}: the name of a trajectory file must end in .yaml")
    place = [units.quantity(one, units.LENGTH) for one in centre]
    duration = None if time is None else units.quantity(time, units.TIME)
    if duration is not None and duration <= 0.0:
        raise BrazoError(f"--time {time}: must be positive")
    require_replaceable(target, force=force)
    track = track_video(
        video,
        color,
        units.quantity(width, units.LENGTH),
        mirror,
        units.quantity(tolerance, units.ANGLE),
        units.quantity(smoothing, units.TIME),
    )
    with replacing(target) as temporary:
        temporary.write_text(
            _file(video.name, color, track, place, duration or track.duration), encoding="utf-8"
        )
    if json:
        print_json(
            {
                "path": str(target),
                "strokes": len(track.strokes),
                "points": sum(map(len, track.strokes)),
                "frames": len(track.t),
                "frames_with_marker": track.seen,
                "duration": track.duration,
                "size": track.size,
            }
        )
        return
    print_line(
        f"wrote {target} ({len(track.strokes)} strokes of {sum(map(len, track.strokes))} points, "
        f"{track.duration:.2f} s), marker seen in {track.seen} of {len(track.t)} frames"
    )


def _file(
    video: str, color: str, track: MarkerTrack, centre: Sequence[float], duration: float
) -> str:
    shown = video if video.isprintable() else "a video"
    lines = [
        f"# Marker of colour {color} in {shown}",
        "path:",
        "  strokes:",
        f"    centre: [{', '.join(f'{v:g}' for v in centre)}]  # m",
        "    points:",
    ]
    for stroke in track.strokes:
        points = ", ".join(f"[{x:.6f}, {y:.6f}]" for x, y in stroke)
        lines.append(f"      - [{points}]")
    return "\n".join([*lines, f"time: {duration:.3f}", ""])
