"""`brazo lab | replay`: open a cell, a robot or a recording in the browser."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import typer

from brazo.cli.drives import DRIVES, source_with_drives
from brazo.cli.robot_options import ARG, TIP, arguments_of

DEFAULT = "cooperative"
HOST = typer.Option("127.0.0.1", help="Address to listen on; other than loopback requires a token.")
PORT = typer.Option(8080, help="Port; the next free port is used if it is busy.")
TOKEN = typer.Option(False, "--token", help="Require a token on this machine too.")
RUNS = typer.Option(
    None,
    "--runs",
    metavar="DIR",
    help="Folder for the lab's recordings; default: that of the project, or $BRAZO_RUNS.",
)
BROWSER = typer.Option(True, help="Open the page in the default browser.")


def register(app: typer.Typer) -> None:
    app.command("lab")(lab)
    app.command("replay")(replay)


def lab(
    source: str = typer.Argument(
        DEFAULT,
        metavar="CELL|ROBOT|FILE|PROJECT",
        help="A shipped cell's or robot's name, a cell or robot file, or a project folder.",
    ),
    tip: str = TIP,
    arg: list[str] = ARG,
    drives: str = DRIVES,
    host: str = HOST,
    port: int = PORT,
    token: bool = TOKEN,
    browser: bool = BROWSER,
    runs: Path = RUNS,
) -> None:
    """Open the lab in the browser; all changes are saved in a project."""
    chosen: Any = source
    if tip is not None or arg:
        import brazo

        chosen = brazo.load(source, tip=tip, arguments=arguments_of(arg))
    if drives is not None:
        chosen = source_with_drives(chosen, drives)
    _serve(chosen, host, port, browser, token, runs)


def replay(
    recording: Path = typer.Argument(
        metavar="FILE", help="A recording: .parquet, .csv, or .parquet.part of an interrupted run."
    ),
    cell: str = typer.Option(
        None, "--cell", help="Cell or robot to show instead of the recording's own."
    ),
    host: str = HOST,
    port: int = PORT,
    token: bool = TOKEN,
    browser: bool = BROWSER,
    runs: Path = RUNS,
) -> None:
    """Open a recording in the lab: 3D view, plots and events on one timeline."""
    from brazo.cli.output import print_line
    from brazo.lab.app.replay import RecordingReplay

    shown = RecordingReplay(recording, cell)
    for note in shown.notes:
        print_line(f"note: {note}")
    _serve(shown, host, port, browser, token, runs)


def reopen(host: str, port: int, browser: bool, token: bool) -> None:
    """Open the project that was opened last.

    If there is none, or it is in use or invalid, open the default cell.
    """
    from brazo.errors import BrazoError
    from brazo.project.folder import Project
    from brazo.project.home import recent

    for one in recent()[:1]:
        try:
            project = Project(one.folder)
            if project.acquire():
                _serve(project, host, port, browser, token, None)
                return
        except BrazoError as error:
            print(f"warning: {one.folder}: cannot be opened: {error}", file=sys.stderr)
    _serve(DEFAULT, host, port, browser, token, None)


def _serve(
    source: Any,
    host: str,
    port: int,
    browser: bool,
    token: bool,
    runs: Path | None,
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
            keep=True,
        )
    except KeyboardInterrupt:
        print("stopped by user", file=sys.stderr)
        exit_now(INTERRUPTED)
    if lab.jobs.busy:
        exit_now(0)
