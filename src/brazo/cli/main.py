"""The `brazo` command: verbs are registered here, one file a verb group does the work.

Exit codes: 0 done, 1 the task failed (an unreachable target, a dropped bar), 2 bad input.
"""

from __future__ import annotations

import contextlib
import signal
import sys

import typer

from brazo.cli import (
    bench,
    derive,
    doctor,
    dynamics,
    kinematics,
    lab,
    recordings,
    robots,
    run,
    teleop,
)
from brazo.cli.interruption import end_on_second_press
from brazo.cli.output import Unread
from brazo.errors import BrazoError, RunFailed
from brazo.text import printable

app = typer.Typer(
    name="brazo",
    help="A robotics lab: one file describes a manipulator, everything else follows.",
    no_args_is_help=False,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
robots.register(app)
kinematics.register(app)
dynamics.register(app)
derive.register(app)
doctor.register(app)
bench.register(app)
run.register(app)
recordings.register(app)
teleop.register(app)
lab.register(app)


@app.callback(invoke_without_command=True)
def _default(
    context: typer.Context,
    version: bool = typer.Option(False, "--version", help="Print the version and leave."),
) -> None:
    """Without a command the lab opens."""
    if version:
        from importlib.metadata import version as installed

        print(f"brazo {installed('brazo')}")
        raise typer.Exit()
    if context.invoked_subcommand is None:
        lab.open_lab()


def _terminate(*_: object) -> None:
    """End as after an error: temporary files are removed and recordings closed on the way out."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # a second one ends the process at once
    raise SystemExit(128 + signal.SIGTERM)


def main() -> None:
    """Entry of the console script: an error is one line; exit code 2, or 1 for a failed run."""
    if sys.stdout is not None:
        sys.stdout = Unread(sys.stdout)
    if sys.stderr is not None:
        sys.stderr = Unread(sys.stderr)
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
