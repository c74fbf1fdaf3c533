"""A short form of tools/ik_census.py: no branch is missing, at random and at special poses."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import brazo

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
from ik_census import Census  # pyright: ignore[reportMissingImports]


@pytest.mark.parametrize("name", ["puma560", "ur5e", "iiwa14", "scara2", "delta"])
def test_no_branch_is_missing(name):
    count = Census(brazo.load(name)).run(poses=300, searched=3, edges=24)
    assert count.good, f"\n{count}"
    assert count.searched == 3 and count.branches >= 2 and count.edges["limits"] == (0, 24)
