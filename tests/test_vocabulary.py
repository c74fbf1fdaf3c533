"""Docs, messages and docstrings use the standard terms; retired words must not return.

Checked are the prose of the Markdown pages, without code, and the string literals of the package
that contain a space.  Text in backticks is not checked, so that old names can be cited.
"""

from __future__ import annotations

import ast
import inspect
import io
import re
import tokenize
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "brazo"

# Files whose strings are names of fields and of LLVM values, not text.
NAMES_ONLY = {"simulation/native/world_code.py"}
# Pages that explain the papers, whose terms they keep.
PAPERS = {"papers.md"}

# Pattern (case-insensitive) and the term to use instead.
RETIRED = {
    r"\b(tell|tells|told|telling)\b": "report, show, message",
    r"\b(say|says|said|saying)\b": "state, report, show, message",
    r"\bspeaks? of\b|\bin words\b": "describe, report, message",
    r"\bailments?\b": "active faults",
    r"\bmend(s|ed|ing)?\b": "clear, fix",
    r"\bat work\b|\bunder way\b": "active, running",
    r"\bnothing is wrong\b|\ball is well\b|\bsomething is wrong\b": "no active faults, ok, failed",
    r"\bbrought\b|\bbring one's own\b": "imported",
    r"\bdead man\b": "enable (deadman) switch, hold-to-run",
    r"\bclock on the wall\b|\bby the wall\b": "wall clock, real time",
    r"\bthe processor draws\b": "software rendering",
    r"\bpuppets?\b": "name it by what it does",
    r"\bwish(es|ed)?\b": "queued call, request",
    r"\bseats?\b|\bstretch(es)? of steps\b|\bnative stretch": "native batch of steps",
    r"\bnobody wanted\b": "unintended",
    r"\brid(e|es|ing) through\b": "pass through",
    r"\bswings? free\b": "unpowered",
    r"\bgreatest\b": "max, largest",
    r"(?<!at )\bleast\b(?![ -]squares| recently)": "min, smallest",
    r"\b(go|goes|going|went) on\b": "continue, resume",
    r"\banew\b": "again, new",
    r"\bover and over\b": "repeatedly, loop",
    r"\b(ended|stopped) by hand\b": "stopped by user",
    r"\bmeetings?\b": "sync",
    r"\bshould not have happened\b": "internal error",
    r"\b(is|are|was|were) gone\b": "no longer exists",
    r"\b(as|how) (it|they) stands?\b": "current, unchanged",
    r"\bother end\b|\bnever came\b": "peer; missing",
    r"\bheld by two\b": "dual grasp",
    r"\bslips? of units\b": "unit mistake",
    r"\bway of the tool\b|\btool's way\b|\bways? round\b": "path",
    r"\bnews\b|\bfrom afar\b": "message; remote",
    r"(?<!control )(?<!-)\blaws?\b(?! of)": "controller",
}
# The papers' word for a gripper, and the key of cell files.
RETIRED_EXCEPT_PAPERS = {r"\bclamps?\b": "gripper"}

CODE = re.compile(r"^```.*?^```|^ {4}\S[^\n]*|`[^`]*`", re.M | re.S)


@cache
def _combined(patterns: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns), re.I)


def _prose(text: str) -> str:
    """Text without code, with the same number of lines."""
    return CODE.sub(lambda found: "\n" * found[0].count("\n"), text)


def _found(text: str, retired: dict[str, str], first: int = 1) -> list[str]:
    """Line, match and advice of each retired word in a text that starts at line `first`."""
    prose = _prose(text)
    if not _combined(tuple(retired)).search(prose):
        return []
    return [
        f"{first + prose.count(chr(10), 0, match.start())}: '{match[0]}' -> {advice}"
        for pattern, advice in retired.items()
        for match in re.finditer(pattern, prose, re.I)
    ]


def _pages() -> list[Path]:
    names = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "bench/README.md")
    return [*(ROOT / name for name in names), *sorted((ROOT / "docs").glob("*.md"))]


def _newest_section(changelog: str) -> str:
    """Everything before the second release heading."""
    headings = [match.start() for match in re.finditer(r"^## ", changelog, re.M)]
    return changelog[: headings[1]] if len(headings) > 1 else changelog


@pytest.mark.parametrize("page", _pages(), ids=lambda page: page.name)
def test_pages_use_standard_terms(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    if page.name == "CHANGELOG.md":
        text = _newest_section(text)
    retired = RETIRED if page.name in PAPERS else {**RETIRED, **RETIRED_EXCEPT_PAPERS}
    assert not _found(text, retired), f"{page.name}: retired words"


def test_messages_and_docstrings_use_standard_terms() -> None:
    retired = {**RETIRED, **RETIRED_EXCEPT_PAPERS}
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        name = path.relative_to(SOURCE)
        text = path.read_text(encoding="utf-8")
        # Parsing is slow; most files contain none of the words.
        if name.as_posix() in NAMES_ONLY or not _combined(tuple(retired)).search(text):
            continue
        tree = ast.parse(text)
        for node in ast.walk(tree):
            if not isinstance(node, ast.Constant):
                continue
            if isinstance(node.value, str) and " " in node.value:
                # The indentation of a docstring does not make its lines code.
                lines = inspect.cleandoc(node.value)
                found += [f"{name}:{hit}" for hit in _found(lines, retired, node.lineno)]
    assert not found, "\n".join(found)


# Labels of the lab that were replaced, and what they are called now.
RETIRED_LABELS = {
    "Add this pose": "Add current pose",
    "As points": "Convert to waypoints",
    "Clamp": "Gripper",
    "Collision boxes": "Collision geometry",
    "Desired robot": "Reference robot (ghost)",
    "Findings": "Warnings",
    "Film the view": "Record video",
    "Force feedback": "Contact response",
    "Law": "Controller",
    "Letters": "Symbolic",
    "Mend": "Clear",
    "Move straight": "Move linear (MoveL)",
    "Play all": "Run through points",
    "Slow down to fit": "Scale time to limits",
    "Take control": "Request control",
    "What happened": "Events",
}


def test_labels_of_the_lab_use_standard_terms() -> None:
    quoted = re.compile("|".join(f"[\"'>]{re.escape(one)}[\"'<]" for one in RETIRED_LABELS))
    found = [
        f"{path.relative_to(SOURCE)}: {match[0]} -> {RETIRED_LABELS[match[0][1:-1]]}"
        for path in sorted((SOURCE / "lab").rglob("*"))
        if path.suffix in (".py", ".js", ".html")
        for match in quoted.finditer(path.read_text(encoding="utf-8"))
    ]
    assert not found, "\n".join(found)


# Words that no identifier of the package or its tests contains, and what to use instead.
RETIRED_IN_NAMES = {
    "ailment": "fault",
    "anew": "fresh, again",
    "brought": "imported",
    "meanwhile": "poll, while",
    "nobody": "no one page, no client",
    "puppet": "name it by what it does",
    "seat": "native batch of steps",
    "somebody": "a page, a client",
    "told": "reported, received",
    "whoever": "the caller",
    "wish": "queued call, request",
}


def _retired_identifiers(text: str) -> list[str]:
    """Line and name of each identifier that contains a retired word, `_` between words."""
    found = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.NAME:
            for word in re.split(r"_|(?<=[a-z])(?=[A-Z])", token.string):
                if advice := RETIRED_IN_NAMES.get(_singular(word.lower())):
                    found.append(f"{token.start[0]}: '{token.string}' -> {advice}")
    return found


def _singular(word: str) -> str:
    return word.removesuffix("es") if word.endswith("shes") else word.removesuffix("s")


def test_identifiers_use_standard_terms() -> None:
    word = re.compile("|".join(RETIRED_IN_NAMES), re.I)
    found = []
    for folder in (SOURCE, ROOT / "tests", ROOT / "tools"):
        for path in sorted(folder.rglob("*.py")):
            text = path.read_text(encoding="utf-8")
            if word.search(text):
                found += [f"{path.relative_to(ROOT)}:{hit}" for hit in _retired_identifiers(text)]
    assert not found, "\n".join(found)


def test_retired_identifiers_are_found_as_whole_words() -> None:
    text = "def the_wishes(_told, Ailments, seating):\n    renew = 'told'\n"
    assert [hit.split("'")[1] for hit in _retired_identifiers(text)] == [
        "the_wishes", "_told", "Ailments",
    ]  # fmt: skip


def test_retired_words_are_found_outside_code() -> None:
    page = "A law `law: PID`.\n\n    law = PID()\n\n```python\nlaw\n```\nIt goes on."
    assert _found(page, RETIRED) == ["8: 'goes on' -> continue, resume", "1: 'law' -> controller"]
    fine = "At least squares of a control law, damped least squares, the law of cosines: `told`."
    assert not _found(fine, {k: v for k, v in RETIRED.items() if "least" not in k})
