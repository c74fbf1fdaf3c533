"""`brazo lab`: open a cell or a robot in the browser."""

from __future__ import annotations

import typer

DEFAULT = "cooperative"


def register(app: typer.Typer) -> None:
    app.command("lab")(lab)


def lab(
    source: str = typer.Argument(
        DEFAULT,
        metavar="CELL|ROBOT|FILE",
        help="A shipped cell's or robot's name, or a cell or robot file.",
    ),
    host: str = typer.Option("127.0.0.1", help="Address to listen on; others need a token."),
    port: int = typer.Option(8080, help="Port; the next free one is taken when it is busy."),
    browser: bool = typer.Option(True, help="Open the page in the default browser."),
) -> None:
    """Open the lab in the browser."""
    open_lab(source, host=host, port=port, browser=browser)


def open_lab(
    source: str = DEFAULT, host: str = "127.0.0.1", port: int = 8080, browser: bool = True
) -> None:
    """Serve a cell or a robot until Ctrl+C."""
    from brazo.lab.serving import serve

    serve(source, host=host, port=port, open_browser=browser, block=True)
