"""Options that take several numbers in one quoted argument: `--q '0 90 0 0 0 0'`."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand

from brazo import units
from brazo.errors import BrazoError

OPTIONS = ("--q", "--qd", "--qdd", "--q0", "--qd0", "--tau", "--wrench")


class QuotedValuesCommand(TyperCommand):
    """Command that rejects unquoted values of `OPTIONS`; the error shows the correct syntax.

    Without this check, the error would only report the second value as an unexpected argument.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        check_quoted(args)
        return super().parse_args(ctx, args)


def check_quoted(args: list[str]) -> None:
    """Raise an error if an option of `OPTIONS` is followed by several separate numbers.

    `args` are the arguments of the command.
    """
    for i, arg in enumerate(args):
        option, equals, first = arg.partition("=")
        if option not in OPTIONS:
            continue
        values = [first] if equals else []
        for text in args[i + 1 :]:
            if not _is_number(text):
                break
            values.append(text)
        if len(values) > 1 and _is_number(values[0]):
            raise BrazoError(f"{option}: put the values in quotes: {option} '{' '.join(values)}'")


def _is_number(text: str) -> bool:
    try:
        units.parse(text.rstrip(","))
    except BrazoError:
        return False
    return True
