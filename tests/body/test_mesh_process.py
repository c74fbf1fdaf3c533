"""Hostile mesh files are refused with a reason and never take the process that asks with them."""

from __future__ import annotations

import json
import os
import struct
import sys
import threading

import numpy as np
import pytest
import trimesh

from brazo.body import mesh_process
from brazo.body.mesh_process import MeshReader, reader
from brazo.body.meshes import load_triangles, mesh_triangles
from brazo.errors import BrazoError
from brazo.model.shapes import Mesh
from tests.body.test_meshes import COLLADA

DAE = COLLADA.format(up="Z_UP")
GLTF = {
    "asset": {"version": "2.0"},
    "scene": 0,
    "scenes": [{"nodes": [0]}],
    "nodes": [{"mesh": 0}],
    "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}],
    "accessors": [{"componentType": 5126, "count": 3, "type": "VEC3", "bufferView": 0}],
    "bufferViews": [{"buffer": 0, "byteLength": 36}],
    "buffers": [{"byteLength": 36, "uri": "part.bin"}],
}


def nested_dae(levels: int) -> str:
    nodes = "".join(
        f'<node id="n{i}"><instance_node url="#n{i + 1}"/><instance_node url="#n{i + 1}"/></node>'
        for i in range(levels)
    )
    library = f'<library_nodes>{nodes}<node id="n{levels}"><instance_geometry url="#g"/></node>'
    return DAE.replace(
        "<library_visual_scenes>", f"{library}</library_nodes><library_visual_scenes>"
    ).replace(
        '<instance_geometry url="#g"/></node></visual', '<instance_node url="#n0"/></node></visual'
    )


def nested_gltf(levels: int) -> str:
    nodes = [{"children": [i + 1, i + 1]} for i in range(levels)]
    return json.dumps({**GLTF, "nodes": [*nodes, {"mesh": 0}]})


def empty_accessor(count: int) -> str:
    return json.dumps(
        {**GLTF, "accessors": [{"componentType": 5126, "count": count, "type": "VEC3"}]}
    )


def greedy_accessor(count: int) -> str:
    accessor = {"componentType": 5126, "count": count, "type": "VEC3", "bufferView": 0}
    return json.dumps({**GLTF, "accessors": [accessor]})


def loop_dae() -> str:
    return (
        nested_dae(1)
        .replace('<instance_geometry url="#g"/></node>', "</node>")
        .replace('<node id="n1">', '<node id="n1"><instance_node url="#n0"/>')
    )


PLY = """ply
format ascii 1.0
element vertex 4000000000
property float x
property float y
property float z
end_header
0 0 0
"""


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.dae", nested_dae(22), r"declares \d+ instances"),
        ("a.dae", loop_dae(), "a node contains itself"),
        ("a.dae", DAE.replace('"0.0254"', '"0"'), r'line 3: <unit meter="0">: expected the length'),
        ("a.dae", DAE.replace('"0.0254"', '"nan"'), r'<unit meter="nan">'),
        ("a.dae", f'<!DOCTYPE x [<!ENTITY e "x">]>{DAE[38:]}', "entities"),
        ("a.gltf", nested_gltf(24), r"declares \d+ instances"),
        ("a.gltf", empty_accessor(100_000_000), "accessor 0 has no data"),
        ("a.gltf", greedy_accessor(100_000_000), "accessor 0 declares 1200000000 bytes"),
        ("a.gltf", "[]", "not valid glTF"),
        ("a.gltf", '{"accessors": [{"count": -1}]}', "not valid glTF"),
        ("a.glb", "glTF", "no glTF header"),
        ("a.ply", PLY, "declares 4000000000 elements, which do not fit"),
        ("a.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 9\n", "out of bounds|vertex"),
        (
            "a.obj",
            "v 0 0\nv 1 0\nv 0 1\nf 1 2 3\n",
            "a face refers to vertex 2; the vertices are 0 to 1",
        ),
        ("a.off", "OFF\n300000000 9 0\n0 0 0\n", "as a mesh"),
    ],
)
def test_hostile_files_are_refused_before_they_are_built(tmp_path, name, text, said):
    path = tmp_path / name
    path.write_text(text)
    (tmp_path / "part.bin").write_bytes(np.eye(3, dtype="<f4").tobytes())
    with pytest.raises(BrazoError, match=said) as caught:
        load_triangles(path)
    assert str(path) in str(caught.value)


def test_instances_below_the_cap_are_read(tmp_path):
    (tmp_path / "part.bin").write_bytes(np.eye(3, dtype="<f4").tobytes())
    for name, text, count in (
        ("a.dae", nested_dae(3), 4 * 8),
        ("a.gltf", json.dumps(GLTF), 1),
    ):
        (tmp_path / name).write_text(text)
        assert len(load_triangles(tmp_path / name)[1]) == count


@pytest.mark.parametrize(
    ("mesh", "said"),
    [
        (
            Mesh(vertices=np.eye(3), faces=np.array([[0, 1, 7]])),
            "vertex 7; the vertices are 0 to 2",
        ),
        (Mesh(vertices=np.eye(3), faces=np.array([[0, 1, -1]])), "vertex -1"),
        (Mesh(vertices=np.zeros((3, 2)), faces=np.array([[0, 1, 2]])), r"expected \(v, 3\)"),
        (Mesh(vertices=np.eye(3), faces=np.array([[0, 1]])), r"expected integers \(f, 3\)"),
        (Mesh(vertices=np.eye(3), faces=np.array([[0, 1, 2.5]])), "expected int"),
        (Mesh(vertices=np.eye(3) * np.nan, faces=np.array([[0, 1, 2]])), "finite"),
        (Mesh(vertices=np.eye(3), faces=np.array([[0, 1, 2]]), scale=(1, 1, 1e300)), "1e\\+06 m"),
        (Mesh(vertices=np.eye(3), faces=np.array([[0, 1, 2]]), scale=(1, 1, np.nan)), "finite"),
    ],
)
def test_given_triangles_are_checked(mesh, said):
    with pytest.raises(BrazoError, match=said):
        mesh_triangles(mesh)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes are POSIX")
def test_a_pipe_is_refused_as_a_mesh_and_inside_one(tmp_path):
    os.mkfifo(tmp_path / "part.stl")
    os.mkfifo(tmp_path / "part.bin")
    (tmp_path / "a.gltf").write_text(json.dumps({**GLTF, "accessors": [], "bufferViews": []}))
    with pytest.raises(BrazoError, match=r"named pipe \(FIFO\)"):
        load_triangles(tmp_path / "part.stl")
    with pytest.raises(BrazoError, match=r"named pipe \(FIFO\)"):
        load_triangles(tmp_path / "a.gltf")


@pytest.fixture
def own_reader():
    own = MeshReader()
    yield own
    own.close()


def box(path, size: float = 1.0):
    trimesh.creation.box((size,) * 3).export(path)
    return path


def spoil(monkeypatch, code: str) -> None:
    """Run code in the process before it serves."""
    spoilt = f"import brazo.body.mesh_worker as w\n{code}\nserve()\n"
    monkeypatch.setattr(mesh_process, "_WORKER", mesh_process._WORKER.replace("serve()\n", spoilt))


@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited on Linux")
@pytest.mark.parametrize("name", ["large.stl", "large.obj"])
def test_a_file_that_takes_too_much_memory_is_refused_and_the_next_is_read(
    tmp_path, own_reader, monkeypatch, name
):
    spoil(monkeypatch, "w.MEMORY = 20_000_000")
    large = tmp_path / name
    count = 400_000
    if large.suffix == ".stl":
        large.write_bytes(bytes(80) + struct.pack("<I", count) + bytes(50 * count))
    else:  # read by trimesh, whose own memory is not counted
        large.write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\n" + "f 1 2 3\n" * count)
    with pytest.raises(BrazoError, match="memory"):
        own_reader.read(large, 10**6)
    assert len(own_reader.read(box(tmp_path / "box.stl"), 100)[1]) == 12


@pytest.mark.parametrize(
    ("code", "wall"),
    [
        pytest.param("import time; time.sleep(600)", 0.3, id="waits"),
        pytest.param(
            "def busy(*_):\n    while True: pass\nw.read_parts = busy",
            100.0,
            id="computes",
            marks=pytest.mark.skipif(os.name == "nt", reason="processor time is limited on POSIX"),
        ),
    ],
)
def test_a_file_that_takes_too_long_is_refused_and_the_next_is_read(
    tmp_path, own_reader, monkeypatch, code, wall
):
    path = box(tmp_path / "box.stl")
    with monkeypatch.context() as patched:
        patched.setattr(mesh_process, "TIME", wall)
        patched.setattr(mesh_process, "CPU_TIME", 0.0)
        spoil(patched, code)
        with pytest.raises(BrazoError, match=r"box\.stl: takes too long to read"):
            own_reader.read(path, 100)
    assert len(own_reader.read(path, 100)[1]) == 12


def test_a_reader_that_crashes_is_replaced(tmp_path, own_reader):
    path = box(tmp_path / "box.stl")
    own_reader.read(path, 100)
    own_reader._process.kill()
    own_reader._process.wait()
    assert len(own_reader.read(path, 100)[1]) == 12


def test_one_process_reads_all_meshes_from_all_threads(tmp_path, own_reader):
    paths = [box(tmp_path / f"{k}.stl", 1.0 + k) for k in range(8)]
    sizes = [0.0] * len(paths)
    seen = set()

    def read(k: int) -> None:
        sizes[k] = float(np.ptp(own_reader.read(paths[k], 100)[0]))
        seen.add(own_reader._process.pid)

    threads = [threading.Thread(target=read, args=(k,)) for k in range(len(paths))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sizes == pytest.approx([1.0 + k for k in range(8)])
    assert len(seen) == 1


def test_the_process_stops_when_it_is_idle(tmp_path, own_reader, monkeypatch):
    monkeypatch.setattr(mesh_process, "IDLE", 0.01)
    own_reader.read(box(tmp_path / "box.stl"), 100)
    own_reader._idle.join(10.0)
    assert own_reader._process is None


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks are POSIX")
def test_a_fork_has_a_process_of_its_own(tmp_path):
    path = box(tmp_path / "box.obj")
    load_triangles(path)
    before = reader._process.pid
    child = os.fork()
    if child == 0:
        count = len(load_triangles(path)[1])
        other = reader._process.pid
        reader.close()
        os._exit(0 if count == 12 and other != before else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert len(load_triangles(path)[1]) == 12


def test_a_check_that_raises_ends_the_reading_at_once(tmp_path, own_reader, monkeypatch):
    class Cancelled(Exception):
        pass

    calls = []

    def check() -> None:
        calls.append(1)
        if len(calls) == 3:
            raise Cancelled

    path = box(tmp_path / "box.stl")
    with monkeypatch.context() as patched:
        spoil(patched, "import time; time.sleep(600)")
        with pytest.raises(Cancelled):
            own_reader.read_parts(path, 100, check=check)
    assert len(own_reader.read_parts(path, 100)) == 1


def test_parts_have_the_names_and_places_of_the_file(tmp_path, own_reader):
    scene = trimesh.Scene()
    for k, name in enumerate(("arm", "base")):
        at = trimesh.transformations.translation_matrix((k, 0, 0))
        scene.add_geometry(trimesh.creation.box(), node_name=name, geom_name="box", transform=at)
    scene.export(tmp_path / "robot.glb")
    parts = own_reader.read_parts(tmp_path / "robot.glb", 100)
    assert [part.names[-1] for part in parts] == ["arm", "base"]
    assert [part.vertices[:, 0].mean() for part in parts] == [0.0, 1.0]
    assert all(part.sized for part in parts)
