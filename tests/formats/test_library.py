"""Names and paths of robots, cells and programs: one search for all three."""

from __future__ import annotations

import pytest

import brazo
from brazo.errors import BrazoError
from brazo.lab.app.opening import as_cell

LOADERS = {"robot": brazo.load, "cell": brazo.load_cell, "program": brazo.load_program}


@pytest.mark.parametrize("kind", LOADERS)
@pytest.mark.parametrize("name", ["a" * 300, "x" * 5000, "a\0b", "~nobody-of-that-name", "", "."])
def test_invalid_name_is_rejected_with_the_shipped_names(kind, name):
    with pytest.raises(BrazoError, match=f"no {kind} named .*; shipped: .*") as refused:
        LOADERS[kind](name)
    assert len(str(refused.value)) < 500


@pytest.mark.parametrize("kind", LOADERS)
@pytest.mark.parametrize(
    "path", ["a" * 300, "b/" * 3000 + "b", "a\0b", "~nobody-of-that-name/x", "none"]
)
def test_invalid_path_is_rejected(kind, path):
    with pytest.raises(BrazoError, match=": no such file") as refused:
        LOADERS[kind](path + ".yaml")
    assert len(str(refused.value)) < 500


@pytest.mark.parametrize("kind", LOADERS)
def test_a_file_of_another_kind_and_a_folder_are_refused(kind, tmp_path):
    (tmp_path / "notes.txt").write_text("x")
    with pytest.raises(BrazoError, match=f"not a {kind} file; allowed file types: .yaml"):
        LOADERS[kind](tmp_path / "notes.txt")
    (tmp_path / "folder.yaml").mkdir()
    with pytest.raises(BrazoError, match="it is a folder"):
        LOADERS[kind](tmp_path / "folder.yaml")


@pytest.mark.parametrize("kind", LOADERS)
def test_the_nearest_name_is_proposed(kind):
    nearest = {"robot": "puma560", "cell": "cooperative", "program": "cooperative"}[kind]
    with pytest.raises(BrazoError, match=f"did you mean '{nearest}'"):
        LOADERS[kind](nearest[:-1].upper())


@pytest.mark.parametrize("name", ["a" * 300, "a" * 300 + ".yaml", "~nobody-of-that-name", "a\0b"])
def test_the_lab_refuses_them_too(name):
    with pytest.raises(BrazoError, match=r"no cell and no robot named|no such file"):
        as_cell(name)
