"""How numbers leave the shell: rich tables for people, one JSON object for programs."""

from __future__ import annotations

import contextlib
import errno
import json
import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TextIO

import numpy as np

from brazo.text import json_text, one_line


class Unread:
    """A stream whose reader may leave early, as `head` does: from then on nobody is told.

    The work goes on without a word, so its files are whole and its exit code tells how it went.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        with self._until_left():
            self._stream.write(text)
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        with self._until_left():
            self._stream.flush()

    @contextlib.contextmanager
    def _until_left(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            # Windows says EINVAL of a pipe nobody reads.
            left = (errno.EPIPE, errno.EINVAL) if os.name == "nt" else (errno.EPIPE,)
            if error.errno not in left:
                raise
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stream.fileno())
            os.close(nowhere)


def print_json(value: Any) -> None:
    """Print one JSON document; arrays as lists, infinite numbers as null."""
    print(json_text(json.dumps(_plain(value), indent=2, ensure_ascii=False, allow_nan=False)))


def table(
    title: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    left: int = 1,
    wrap: int | None = None,
) -> None:
    """Print a table whose first `left` columns are text and the others numbers.

    Only column `wrap` may be broken over lines: a number or a name is never cut, and where the
    terminal is too narrow the lines run on instead.
    """
    from rich.box import SIMPLE_HEAD
    from rich.measure import Measurement
    from rich.table import Table
    from rich.text import Text

    # Text objects: names and units in brackets must not be read as markup.
    grid = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for i, column in enumerate(columns):
        justify = "right" if i >= left else "left"
        grid.add_column(
            Text(one_line(column).replace(" ", "\n")), justify=justify, no_wrap=i != wrap
        )
    for row in rows:
        grid.add_row(*(Text(one_line(cell)) for cell in row))
    out = console()
    if title:
        say(title)
    needed = Measurement.get(out, out.options.update(max_width=10_000), grid).maximum
    out.width = needed if wrap is None or not out.is_terminal else min(needed, out.width)
    out.print(grid)
    out.print()


def say(text: str = "", style: str | None = None) -> None:
    """Print one line of text, wrapped to the terminal.

    Names in it are never read as markup, and their control characters are escaped.
    """
    out = console()
    out.print(
        one_line(text), style=style, markup=False, highlight=False, soft_wrap=not out.is_terminal
    )


def console():
    from rich.console import Console

    return Console()


@contextlib.contextmanager
def progress_bar(text: str) -> Iterator[Callable[[float], None]]:
    """A progress bar on the error stream where that is a terminal; gives `show(fraction)`."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = TextColumn("{task.description}", markup=False), BarColumn(), TimeRemainingColumn()
    errors = Console(stderr=True)
    with Progress(*columns, console=errors, transient=True, disable=not errors.is_terminal) as bar:
        task = bar.add_task(one_line(text), total=None)
        yield lambda fraction: bar.update(task, completed=fraction, total=1.0)


def number(value: float, digits: int = 4) -> str:
    """A fixed-point number without a minus sign on zero; ∞ where there is no limit."""
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    text = f"{value:.{digits}f}"
    return text[1:] if text.startswith("-") and float(text) == 0.0 else text


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (float, np.floating)):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, np.integer):
        return int(value)
    return value
