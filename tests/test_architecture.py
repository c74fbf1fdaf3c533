"""The page on the architecture names files that exist, in the order in which they are entered."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from walks import PACKAGE, WALKS, folder_changes, trace

PAGE = (Path(__file__).parents[1] / "docs" / "architecture.md").read_text(encoding="utf-8")


def written(walk: str) -> tuple[list[str], str]:
    """The files that the page lists for an operation, and its line of counts."""
    section = PAGE.partition(f"(walk-{walk})=")[2].partition("(walk-")[0]
    counts, _, files = section.partition(" changes of folder*")
    return re.findall(r"`([\w/.]+\.py)`", files), counts.rpartition("*")[2]


@pytest.mark.parametrize("walk", WALKS)
def test_documentation_lists_the_files_of_an_operation_in_order(walk):
    files, counts = written(walk)
    assert files == trace(WALKS[walk]())
    assert counts == f"{len(files)} files, {folder_changes(files)}"


def test_a_step_changes_folders_at_most_ten_times():
    assert folder_changes(written("tick")[0]) <= 10


def test_every_file_that_the_page_names_exists():
    named = set(re.findall(r"`((?:\w+/)+\w+\.(?:py|js))`", PAGE)) - {"tools/walks.py"}
    assert named and not [name for name in named if not (PACKAGE / name).is_file()]
