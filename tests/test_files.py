"""All readers reject pipes, sockets and devices without blocking."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

import brazo
from brazo.body.meshes import load_triangles
from brazo.errors import BrazoError
from brazo.files import is_regular, require_file, require_regular
from brazo.formats.document import read_document
from brazo.formats.urdf.packages import Packages
from brazo.lab.app.session import as_shown
from brazo.program.program_file import load_program
from brazo.recording.origin import digest_of
from brazo.recording.part_file import claimed, writer_of
from brazo.recording.recording import Recording
from brazo.recording.source import open_source
from brazo.simulation.dump import replay_dump
from brazo.trajectory.files import read_via_points
from brazo.world import load_cell

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes are POSIX")


def pipe(path: Path) -> Path:
    os.mkfifo(path)
    return path


def claim(path: Path) -> None:
    with claimed(path):
        pass


@pytest.mark.parametrize(
    ("read", "name"),
    [
        (brazo.load, "robot.yaml"),
        (brazo.load, "robot.urdf"),
        (brazo.load, "robot.xacro"),
        (brazo.load, "robot.xml"),
        (load_cell, "cell.yaml"),
        (load_program, "program.yaml"),
        (read_document, "any.yaml"),
        (as_shown, "lab.yaml"),
        (Recording.open, "run.parquet"),
        (Recording.open, "run.parquet.part"),
        (Recording.open, "run.csv"),
        (lambda path: open_source(path, salvage=True), "run.parquet"),
        (claim, "run.parquet.part"),
        (replay_dump, "run.npz"),
        (load_triangles, "part.stl"),
    ],
)
def test_every_reader_rejects_a_pipe(tmp_path, read, name):
    path = pipe(tmp_path / name)
    with pytest.raises(BrazoError, match=r"named pipe \(FIFO\); give a regular file") as caught:
        read(path)
    assert str(path) in str(caught.value)


def test_via_point_reader_rejects_a_pipe(tmp_path):
    with pytest.raises(BrazoError, match="named pipe"):
        read_via_points(pipe(tmp_path / "points.yaml"), brazo.load("scara2"))


def test_sockets_devices_and_folders_are_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # socket addresses are limited to about 100 characters
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("end")
        with pytest.raises(BrazoError, match="it is a socket"):
            require_regular(Path("end"))
    with pytest.raises(BrazoError, match="it is a device"):
        require_regular(Path(os.devnull))
    with pytest.raises(BrazoError, match="it is a folder"):
        require_file(tmp_path)
    with pytest.raises(BrazoError, match="no such file"):
        require_file(tmp_path / "none")


def test_pipe_referenced_by_a_file_is_ignored(tmp_path):
    """A recording may name any cell file; a package's folder may contain any package.xml."""
    assert digest_of(pipe(tmp_path / "cell.yaml")) == ""
    assert digest_of(Path("/dev/zero")) == ""
    assert writer_of(pipe(tmp_path / "run.parquet.part")) is None
    (tmp_path / "arm").mkdir()
    pipe(tmp_path / "arm" / "package.xml")
    assert Packages(tmp_path / "arm" / "arm.urdf", None).find("other") is None


@pytest.mark.parametrize(
    "body",
    [
        '<include file="part.xml"/>',
        '<asset><mesh name="m" file="part.stl"/></asset>'
        '<worldbody><geom type="mesh" mesh="m"/></worldbody>',
        '<compiler meshdir="sub"/><asset><mesh name="m" file="deep.stl"/></asset>'
        '<worldbody><geom type="mesh" mesh="m"/></worldbody>',
        '<asset><texture type="2d" name="t" file="part.png"/></asset>',
        '<asset><hfield name="h" file="part.png" size="1 1 1 1"/></asset>',
    ],
)
def test_pipe_referenced_by_mjcf_is_rejected(tmp_path, body):
    (tmp_path / "sub").mkdir()
    for name in ("part.xml", "part.stl", "part.png", "sub/deep.stl"):
        pipe(tmp_path / name)
    path = tmp_path / "robot.xml"
    path.write_text(f"<mujoco>{body}</mujoco>")
    with pytest.raises(BrazoError, match=r"named pipe"):
        brazo.load(path)


@pytest.mark.parametrize("name", ["9" * 400 + ".xml", "a/" * 3000 + "b.xml", "a\0b.xml"])
def test_invalid_file_name_is_not_a_regular_file(tmp_path, name):
    assert not is_regular(tmp_path / name)
    with pytest.raises(BrazoError):
        brazo.load(tmp_path / name)


def test_mjcf_and_robot_files_with_invalid_file_names_are_rejected(tmp_path):
    long = "9" * 290
    (tmp_path / "a.xml").write_text(f'<mujoco><include file="{long}"/></mujoco>')
    with pytest.raises(BrazoError, match=r"a\.xml"):
        brazo.load(tmp_path / "a.xml")
    parts = f"parts: [{{name: a, mesh: {long}.stl}}]"
    (tmp_path / "a.yaml").write_text(
        f"name: a\nconvention: standard\njoints:\n  - {{name: a, kind: revolute, {parts}}}\n"
    )
    with pytest.raises(BrazoError, match=r"a\.yaml"):
        brazo.load(tmp_path / "a.yaml")
