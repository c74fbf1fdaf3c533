"""Run the code of one Markdown page: `python docs_blocks.py PAGE`, in the current folder.

Blocks run in order and in one process.  Python blocks share their names.  Lines of `sh` blocks and
lines after `$` of `console` blocks are commands; the other lines of a console block are expected in
the command's output (`...` stands for any lines).  A comment before a block changes what is done:

    <!-- not run: reason -->      the block only has to be valid: syntax, command and options
    <!-- exit code 1 -->          the commands of the block end with this code
    <!-- before: python code -->  runs first, for example to write a file that the block reads
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import sys
import traceback
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_FENCE = re.compile(r"^```(?:\{code-block\} )?(python|sh|console|text|yaml)?.*$")
_COMMENT = re.compile(r"<!-- (not run|exit code|before):? ?(.*?) ?-->", re.S)


@dataclass(frozen=True)
class Block:
    """A fenced block and the comments before it."""

    line: int  # of its first line of code
    language: str
    code: str
    notes: dict[str, str]


def blocks(text: str) -> Iterator[Block]:
    """Return the fenced Python and shell blocks of a page."""
    lines = text.splitlines()
    k = 0
    before: list[str] = []
    while k < len(lines):
        fence = _FENCE.match(lines[k])
        if not fence:
            before.append(lines[k])
            k += 1
            continue
        start = k + 1
        end = next(i for i in range(start, len(lines)) if lines[i].startswith("```"))
        notes = dict(_COMMENT.findall(_last_comments("\n".join(before))))
        if fence[1] in ("python", "sh", "console"):
            yield Block(start + 1, fence[1], "\n".join(lines[start:end]), notes)
        before, k = [], end + 1


def _last_comments(text: str) -> str:
    """Return the comments at the end of a text."""
    match = re.search(r"(?:<!--(?:(?!-->).)*-->\s*)+\Z", text, re.S)
    return match[0] if match else ""


def commands(block: Block) -> list[tuple[list[str], list[str]]]:
    """Return the commands of a block as words, each with the lines of output that follow it."""
    found: list[tuple[list[str], list[str]]] = []
    for line in block.code.splitlines():
        if block.language == "sh" or line.startswith("$ "):
            words = shlex.split(line.removeprefix("$ "), comments=True)
            if words:
                found.append((words, []))
        elif found:
            found[-1][1].append(line.strip())
    return found


def run_page(path: Path) -> list[str]:
    """Run all blocks and return the failures, one text each."""
    failures: list[str] = []
    names: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks(path.read_text("utf-8")):
        where = f"{path.name}:{block.line}"
        try:
            if code := block.notes.get("before"):
                exec(compile(code.strip(), f"{where} (before)", "exec"), names)
            if block.language == "python":
                code = compile("\n" * (block.line - 1) + block.code, str(path), "exec")
                if "not run" not in block.notes:
                    exec(code, names)
            else:
                _run_commands(block)
        except BaseException:
            failures.append(f"{where}:\n{traceback.format_exc()}")
    return failures


def _run_commands(block: Block) -> None:
    for words, expected in commands(block):
        if words[0] != "brazo":
            assert "not run" in block.notes, f"{words[0]}: say why this command is not run"
            continue
        parse(words[1:])
        if "not run" in block.notes:
            continue
        code, output = run(words)
        wanted = int(block.notes.get("exit code", 0))
        assert code == wanted, f"{shlex.join(words)}: exit code {code}, not {wanted}\n{output}"
        shown = iter(line.strip() for line in output.splitlines())
        for line in expected:
            assert line == "..." or line in shown, f"not printed: {line}\n{output}"


def parse(arguments: list[str]) -> None:
    """Raise if the command or one of its options does not exist."""
    import typer

    from brazo.cli.main import app

    command: Any = typer.main.get_command(app)
    while arguments and arguments[0] in getattr(command, "commands", {}):
        command, arguments = command.commands[arguments[0]], arguments[1:]
    if arguments or not hasattr(command, "commands"):
        command.make_context(command.name, list(arguments))


def run(words: list[str]) -> tuple[int, str]:
    """Run a command in this process; return its exit code and everything it printed."""
    from brazo.cli.main import main

    streams, arguments = (sys.stdout, sys.stderr), sys.argv
    output = io.StringIO()
    sys.argv = words
    try:
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
            main()
    except SystemExit as end:
        return int(end.code or 0), output.getvalue()
    finally:
        sys.argv = arguments
        sys.stdout, sys.stderr = streams
    return 0, output.getvalue()


if __name__ == "__main__":
    warnings.filterwarnings("error", category=DeprecationWarning, module="__main__")
    failed = run_page(Path(sys.argv[1]))
    sys.exit("\n".join(failed) if failed else 0)
