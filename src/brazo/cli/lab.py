"""`brazo lab | replay`: open a cell, a robot or a recording in the browser."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from brazo.robot import Robot

DEFAULT = "cooperative"
HOST = typer.Option("127.0.0.1", help="Address to listen on; other than loopback requires a token.")
PORT = typer.Option(8080, help="Port; the next free port is used if it is busy.")
TOKEN = typer.Option(False, "--token", help="Require a token on this machine too.")
RUNS = typer.Option(
    None, "--runs", metavar="DIR", help="Folder for the lab's recordings; default $BRAZO_RUNS."
)
BROWSER = typer.Option(True, help="Open the page in the default browser.")


def register(app: typer.Typer) -> None:
    app.command("lab")(lab)
    app.command("replay")(replay)


def lab(
    source: str = typer.Argument(
        DEFAULT,
        metavar="CELL|ROBOT|FILE",
        help="A shipped cell's or robot's name, or a cell or robot file.",
    ),
    tip: str = typer.Option(None, help="URDF/MJCF: the link that carries the tool."),
    host: str = HOST,
    port: int = PORT,
    token: bool = TOKEN,
    browser: bool = BROWSER,
    runs: Path = RUNS,
) -> None:
    """Open the lab in the browser."""
    if tip is None:
        open_lab(source, host=host, port=port, browser=browser, token=token, runs=runs)
        return
    import brazo

    robot = brazo.load(source, tip=tip)
    open_lab(robot, host=host, port=port, browser=browser, token=token, runs=runs)


def replay(
    recording: Path = typer.Argument(
        metavar="FILE", help="A recording: .parquet, .csv, or .parquet.part of an interrupted run."
    ),
    cell: str = typer.Option(
        None, "--cell", help="Cell or robot to show if the recording does not contain it."
    ),
    host: str = HOST,
    port: int = PORT,
    token: bool = TOKEN,
    browser: bool = BROWSER,
    runs: Path = RUNS,
) -> None:
    """Open a recording in the lab: 3D view, plots and events on one timeline."""
    from brazo.cli.output import print_line
    from brazo.lab.app.replay import Replay

    shown = Replay(recording, cell)
    for note in shown.notes:
        print_line(f"note: {note}")
    _serve(shown, host, port, browser, token, runs)


def open_lab(
    source: str | Robot = DEFAULT,
    host: str = "127.0.0.1",
    port: int = 8080,
    browser: bool = True,
    token: bool = False,
    runs: Path | None = None,
) -> None:
    """Serve a cell or a robot until Ctrl+C."""
    _serve(source, host, port, browser, token, runs)


def _serve(
    source: Any, host: str, port: int, browser: bool, token: bool, runs: Path | None
) -> None:
    from brazo.cli.interruption import INTERRUPTED, exit_now
    from brazo.lab.serving import serve

    try:
        lab = serve(
            source,
            host=host,
            port=port,
            open_browser=browser,
            block=True,
            token=token,
            runs=runs,
        )
    except KeyboardInterrupt:
        print("stopped by user", file=sys.stderr)
        exit_now(INTERRUPTED)
    if lab.jobs.busy:
        exit_now(0)
