"""The `brazo` command.  Each module of this package registers one group of subcommands.

Exit codes: 0 success, 1 the task failed (e.g. unreachable target), 2 invalid input, 130 stopped by
Ctrl+C.
"""

from __future__ import annotations

import contextlib
import signal
import sys
from typing import Any

import typer
import typer.core

from brazo.cli import (
    bench,
    cad,
    derive,
    doctor,
    dynamics,
    identify,
    kinematics,
    lab,
    recordings,
    robots,
    run,
    strokes,
    study,
    teleop,
    video,
)
from brazo.cli.interruption import end_on_second_press
from brazo.cli.output import PipeStream
from brazo.errors import BrazoError, RunFailed
from brazo.text import printable


class _Commands(typer.core.TyperGroup):
    """Command group of `brazo`; a project folder instead of a command means `brazo lab FOLDER`."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and args[0] not in self.commands:
            from brazo.project.folder import is_project

            if is_project(args[0]):
                args = ["lab", *args]
        return super().resolve_command(ctx, args)


app = typer.Typer(
    name="brazo",
    cls=_Commands,
    help="A robotics lab: describe a manipulator in one file; everything else is derived from it.",
    no_args_is_help=False,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
robots.register(app)
kinematics.register(app)
dynamics.register(app)
identify.register(app)
derive.register(app)
doctor.register(app)
bench.register(app)
cad.register(app)
run.register(app)
strokes.register(app)
recordings.register(app)
study.register(app)
teleop.register(app)
lab.register(app)
video.register(app)


@app.callback(invoke_without_command=True)
def _default(
    context: typer.Context,
    version: bool = typer.Option(False, "--version", help="Print the version and exit."),
    host: str = lab.HOST,
    port: int = lab.PORT,
    token: bool = lab.TOKEN,
    browser: bool = lab.BROWSER,
) -> None:
    """Open the lab when no command is given: the last project, or the cooperative cell.

    brazo FOLDER opens a project.
    """
    if version:
        from importlib.metadata import version as installed

        print(f"brazo {installed('brazo')}")
        raise typer.Exit()
    if context.invoked_subcommand is None:
        lab.reopen(host, port, browser, token)


def _terminate(*_: object) -> None:
    """Handle SIGTERM: raise SystemExit, so that recordings and temporary files are closed."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # a second signal ends the process immediately
    raise SystemExit(128 + signal.SIGTERM)


def main() -> None:
    """Run the console script `brazo`; print a BrazoError without a traceback.

    The exit code is 1 for a failed run (`RunFailed`) and 2 for any other BrazoError.
    """
    if sys.stdout is not None:
        sys.stdout = PipeStream(sys.stdout)
    if sys.stderr is not None:
        sys.stderr = PipeStream(sys.stderr)
    with contextlib.suppress(ValueError):  # not in the main thread
        signal.signal(signal.SIGTERM, _terminate)
        end_on_second_press()
    try:
        app()
    except BrazoError as error:
        print("error: " + printable(error).replace("\n", "\nerror: "), file=sys.stderr)
        sys.exit(1 if isinstance(error, RunFailed) else 2)


if __name__ == "__main__":
    main()
