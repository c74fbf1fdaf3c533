"""Command-line options shared by the commands that read a robot."""

from __future__ import annotations

from collections.abc import Sequence

import typer

from brazo.errors import BrazoError

ROBOT = typer.Argument(help="A shipped robot's name or a robot file.")
RAD = typer.Option(False, "--rad", help="Angles without a unit are radians.")
RAD_IN_AND_OUT = typer.Option(
    False, "--rad", help="Angles without a unit are radians, in input and output."
)
JSON = typer.Option(False, "--json", help="Print JSON (SI, radians).")
TIP = typer.Option(None, metavar="LINK", help="URDF/MJCF: the link that carries the tool.")
ARG = typer.Option(
    None, "--arg", metavar="NAME=VALUE", help="Argument of a xacro file; may be repeated."
)


def arguments_of(given: Sequence[str] | None) -> dict[str, str]:
    """Return the arguments of a xacro file by name; `given` are texts of the form `name=value`."""
    arguments: dict[str, str] = {}
    for text in given or ():
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise BrazoError(f"--arg {text}: expected NAME=VALUE, as in --arg ur_type=ur5e")
        name = name.strip().removesuffix(":")  # name:=value, as roslaunch writes it
        if name in arguments:
            raise BrazoError(f"--arg {name} is given twice")
        arguments[name] = value
    return arguments
