"""NumPy-style docstrings as this package writes them, for autodoc.

A section `Parameters` has entries `names : text`, where the text gives shape, meaning and unit;
a section `Returns` has text only.  Types are in the signature.  Fields of a class are described by
a comment on their line.
"""

from __future__ import annotations

import re
from itertools import zip_longest
from typing import Any

from sphinx.application import Sphinx
from sphinx.pycode import parser
from sphinx.util.inspect import TypeAliasForwardRef

_ENTRY = re.compile(r"^([*\w][*\w, ]*?)(?: : (.*))?$")
_PRAGMA = re.compile(r"# ?(type:|fmt:|noqa|pyright:|pragma)")


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("autodoc-process-docstring", _process)
    parser.AfterCommentParser = FieldComment
    # Inside other types, an alias is printed by its repr.
    TypeAliasForwardRef.__repr__ = lambda self: self.name
    return {"parallel_read_safe": True, "parallel_write_safe": True}


class FieldComment(parser.AfterCommentParser):
    """Reads a comment after a field as its description; Sphinx wants `#:` for that."""

    def parse(self) -> None:
        super().parse()
        if self.comment and self.comment.startswith("# ") and not _PRAGMA.match(self.comment):
            text = self.comment[2:].strip()
            self.comment = f"#: {text[:1].upper()}{text[1:]}"


def _process(app: Sphinx, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    lines[:] = with_fields(lines)


def with_fields(lines: list[str]) -> list[str]:
    """Return the lines with underlined sections as field lists."""
    result: list[str] = []
    section = ""
    for line, after in zip_longest(lines, lines[1:], fillvalue=""):
        if line.strip() and re.fullmatch(r"-{3,}", after.strip()):
            section = line.strip()
            result += ["", f":{section}:"]
        elif section and re.fullmatch(r"-{3,}", line.strip()):
            continue
        elif section:
            result.append(f"    {_in_section(section, line)}".rstrip())
        else:
            result.append(line)
    return result


def _in_section(section: str, line: str) -> str:
    if section not in ("Parameters", "Attributes"):
        return line
    if entry := _ENTRY.match(line):
        names, text = entry.groups("")
        return "- **" + names.replace("*", r"\*") + f"**: {text}"
    return f"  {line.strip()}"
