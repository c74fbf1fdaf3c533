"""`brazo lab | replay`: a cell, a robot or a recording in the browser."""

from __future__ import annotations

from pathlib import Path

import typer

DEFAULT = "cooperative"
HOST = typer.Option("127.0.0.1", help="Address to listen on; others need a token.")
PORT = typer.Option(8080, help="Port; the next free one is taken when it is busy.")
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
    host: str = HOST,
    port: int = PORT,
    browser: bool = BROWSER,
) -> None:
    """Open the lab in the browser."""
    open_lab(source, host=host, port=port, browser=browser)


def replay(
    recording: Path = typer.Argument(
        metavar="FILE", help="A recording: .parquet, .csv, or the .parquet.part of a killed run."
    ),
    cell: str = typer.Option(
        None, "--cell", help="Its cell or robot, where the recording does not say or it is gone."
    ),
    host: str = HOST,
    port: int = PORT,
    browser: bool = BROWSER,
) -> None:
    """Open a recording in the lab: a timeline, plots and 3D view in step, what happened."""
    from brazo.cli.output import say
    from brazo.lab.replay import Replay
    from brazo.lab.serving import serve

    shown = Replay(recording, cell)
    for note in shown.notes:
        say(f"note: {note}")
    serve(shown, host=host, port=port, open_browser=browser, block=True)


def open_lab(
    source: str = DEFAULT, host: str = "127.0.0.1", port: int = 8080, browser: bool = True
) -> None:
    """Serve a cell or a robot until Ctrl+C."""
    from brazo.lab.serving import serve

    serve(source, host=host, port=port, open_browser=browser, block=True)
