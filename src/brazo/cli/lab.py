"""`brazo lab`: open a robot in the browser."""

from __future__ import annotations

import typer


def register(app: typer.Typer) -> None:
    app.command("lab")(lab)


def lab(
    robot: str = typer.Argument("puma560", help="A shipped robot's name or a robot file."),
    host: str = typer.Option("127.0.0.1", help="Address to listen on; others need a token."),
    port: int = typer.Option(8080, help="Port; the next free one is taken when it is busy."),
    browser: bool = typer.Option(True, help="Open the page in the default browser."),
) -> None:
    """Open the lab in the browser."""
    open_lab(robot, host=host, port=port, browser=browser)


def open_lab(robot: str, host: str = "127.0.0.1", port: int = 8080, browser: bool = True) -> None:
    """Serve a robot until Ctrl+C."""
    import brazo
    from brazo.lab.app import serve

    serve(brazo.load(robot), host=host, port=port, open_browser=browser, block=True)
