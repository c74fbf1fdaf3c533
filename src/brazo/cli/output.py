"""Output of the shell commands: rich tables, or one JSON object with `--json`."""

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


class PipeStream:
    """Output stream that discards text after the reading program, such as `head`, has closed it.

    The brazo command continues to run, so its files are complete and its exit code is valid.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        with self._until_closed():
            self._stream.write(text)
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        with self._until_closed():
            self._stream.flush()

    @contextlib.contextmanager
    def _until_closed(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            # Windows reports EINVAL for a closed pipe.
            closed = (errno.EPIPE, errno.EINVAL) if os.name == "nt" else (errno.EPIPE,)
            if error.errno not in closed:
                raise
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, self._stream.fileno())
            os.close(null)


def print_json(value: Any) -> None:
    """Print one JSON document; arrays become lists, non-finite numbers become null."""
    print(json_text(json.dumps(_plain(value), indent=2, ensure_ascii=False, allow_nan=False)))


def table(
    title: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    left: int = 1,
    wrap: int | None = None,
) -> None:
    """Print a table; the first `left` columns are left-aligned, the others right-aligned.

    `wrap` is the index of a column whose text may be wrapped; other columns are never wrapped.
    Text is never truncated, so lines can be longer than a narrow terminal.
    """
    from rich.box import SIMPLE_HEAD
    from rich.measure import Measurement
    from rich.table import Table
    from rich.text import Text

    # Text objects, because rich would parse names and units in brackets as markup.
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
        print_line(title)
    needed = Measurement.get(out, out.options.update(max_width=10_000), grid).maximum
    out.width = needed if wrap is None or not out.is_terminal else min(needed, out.width)
    out.print(grid)
    out.print()


def print_line(text: str = "", style: str | None = None) -> None:
    """Print a text as one line; only on a terminal, a long line is wrapped to the terminal width.

    Markup is not interpreted, and control characters are escaped.
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
    """Show a progress bar on stderr if stderr is a terminal; yield a function `show(fraction)`.

    The caller calls `show` with the completed fraction, from 0 to 1.
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = TextColumn("{task.description}", markup=False), BarColumn(), TimeRemainingColumn()
    errors = Console(stderr=True)
    with Progress(*columns, console=errors, transient=True, disable=not errors.is_terminal) as bar:
        task = bar.add_task(one_line(text), total=None)
        yield lambda fraction: bar.update(task, completed=fraction, total=1.0)


def number(value: float, digits: int = 4) -> str:
    """Return a number as text with `digits` decimals; zero has no minus sign, infinity is ∞."""
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
