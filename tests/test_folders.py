"""User folders of brazo and their permissions."""

from __future__ import annotations

import os
import stat
import sys

import pytest

from brazo.errors import BrazoError
from brazo.folders import runs_folder
from brazo.permissions import check_private, make_private

POSIX = pytest.mark.skipif(os.name == "nt", reason="owners and modes of POSIX")


@pytest.mark.parametrize(
    ("platform", "environment", "end"),
    [
        ("linux", {"XDG_DATA_HOME": "/somewhere"}, "/somewhere/brazo/runs"),
        ("linux", {}, ".local/share/brazo/runs"),
        ("darwin", {}, "Library/Application Support/brazo/runs"),
        ("win32", {"LOCALAPPDATA": "/data"}, "/data/brazo/runs"),
        ("linux", {"BRAZO_RUNS": "/mine", "XDG_DATA_HOME": "/somewhere"}, "/mine"),
    ],
)
def test_recordings_are_in_the_data_folder_of_the_platform(monkeypatch, platform, environment, end):
    for key in ("BRAZO_RUNS", "XDG_DATA_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(key, raising=False)
    for key, value in environment.items():
        monkeypatch.setenv(key, value)
    monkeypatch.setattr(sys, "platform", platform)
    assert runs_folder().as_posix().endswith(end)


@POSIX
def test_new_folder_is_private_and_existing_folder_is_checked(tmp_path):
    folder = tmp_path / "a" / "b"
    make_private(folder)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    make_private(folder)
    folder.chmod(0o755)
    check_private(folder)  # read access for others is allowed
    folder.chmod(0o770)
    with pytest.raises(BrazoError, match=r"mode 0770.*chmod 700"):
        make_private(folder)


def test_error_for_a_folder_that_cannot_be_created_names_its_path(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(BrazoError, match=r"file.below: cannot be created: "):
        make_private(tmp_path / "file" / "below")
