"""CAD files that are broken, hostile or of the wrong size are refused with a reason."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import trimesh

from brazo.body.meshes import stl_bytes
from brazo.errors import BrazoError
from brazo.formats.cad import import_cad
from brazo.formats.library import mesh_directory

ARM = """\
name: two
joints:
  - {name: J1, d: 0.3, alpha: -90deg}
  - {name: J2, a: 0.3}
poses: {zero: [0, 0]}
"""
STEP = (mesh_directory() / "rv2aj" / "rv2aj.step").read_text()
EMPTY_STEP = "ISO-10303-21;\nHEADER;\nENDSEC;\nDATA;\nENDSEC;\nEND-ISO-10303-21;\n"
VRML = "#VRML V2.0 utf8\n"
BOX = trimesh.creation.box((0.2, 0.2, 0.2))


def stl(vertices: np.ndarray, faces: np.ndarray) -> bytes:
    return stl_bytes(np.asarray(vertices), np.asarray(faces))


def flat() -> bytes:
    return stl(np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]]) * 0.1, [[0, 1, 2], [0, 2, 3]])


def nan_box() -> bytes:
    vertices = np.array(BOX.vertices)
    vertices[3] = np.nan
    return stl(vertices, BOX.faces)


def step_usages(pairs: list[tuple[int, int]]) -> str:
    lines = [
        f"#{i}=NEXT_ASSEMBLY_USAGE_OCCURRENCE('{i}','part','',#{a},#{b},$);"
        for i, (a, b) in enumerate(pairs, start=10_000)
    ]
    return EMPTY_STEP.replace("DATA;", "DATA;\n" + "\n".join(lines))


def deep_glb(levels: int) -> bytes:
    nodes = [{"name": f"n{i}", "children": [i + 1]} for i in range(levels)]
    root = {
        "asset": {"version": "2.0"},
        "scenes": [{"nodes": [0]}],
        "scene": 0,
        "nodes": [*nodes, {"mesh": 0}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}],
        "accessors": [{"componentType": 5126, "count": 3, "type": "VEC3", "bufferView": 0}],
        "bufferViews": [{"buffer": 0, "byteLength": 36}],
        "buffers": [{"byteLength": 36}],
    }
    text = json.dumps(root).encode()
    text += b" " * (-len(text) % 4)
    data = np.eye(3, dtype="<f4").tobytes()
    body = struct.pack("<I4s", len(text), b"JSON") + text
    body += struct.pack("<I4s", len(data), b"BIN\0") + data
    return struct.pack("<4sII", b"glTF", 2, 12 + len(body)) + body


DEEP_VRML = VRML + "Group { children [" * 250 + "Shape { geometry Box {} }" + "]}" * 250
MANY_VRML = (
    VRML
    + "DEF a0 Shape { geometry Sphere {} }\n"
    + "".join(f"DEF a{i + 1} Group {{ children [ {f'USE a{i} ' * 14} ] }}\n" for i in range(7))
)

CASES: list[tuple[str, str | bytes | Callable[[], bytes], str]] = [
    ("base.step", b"", "the file is empty"),
    ("base.step", "hello", "not a STEP file"),
    ("base.step", STEP[: len(STEP) // 2], "the file is incomplete"),
    ("base.step", EMPTY_STEP, "no solids were found"),
    ("base.step", step_usages([(i, i + 1) for i in range(300)]), "nested more than 200"),
    ("base.step", step_usages([(i, i + 1) for i in range(30)] * 2), r"declares \d+ instances"),
    ("base.step", step_usages([(1, 2), (2, 1)]), "an assembly contains itself"),
    ("base.stl", b"", "the file is empty"),
    ("base.stl", stl(BOX.vertices, BOX.faces)[:-60], "incomplete: 12 triangles need"),
    ("base.stl", nan_box, "part 'base': a coordinate of a vertex is not"),
    ("base.stl", flat, r"part 'base': the surface encloses no volume|the mesh is flat"),
    ("base.stl", stl(np.zeros((3, 3)), [[0, 1, 2]]), "only triangles of zero area"),
    ("base.stl", stl(BOX.vertices * 1000.0, BOX.faces), r"no unit\), but .*e.g. 0.001 if"),
    ("base.stl", stl(BOX.vertices * 1e-3, BOX.faces), "0.0002 m long .*but robot 'two'"),
    ("base.stl", stl(BOX.vertices * 1e8, BOX.faces), "coordinate of .* m; at most 1e"),
    ("base.stl", bytes(80) + struct.pack("<I", 4_000_000_000), "incomplete: 4000000000 tri"),
    ("base.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 9\n", "out of bounds|vertex"),
    ("base.glb", b"glTF" + bytes(40), "as a mesh|not valid glTF"),
    ("base.glb", deep_glb(300), "nested more than 200"),
    ("base.wrl", "#VRML V1.0 ascii\nSeparator {}", "VRML 1.0 is not supported"),
    ("base.wrl", "solid", "no '#VRML V2.0'"),
    ("base.wrl", VRML + "Shape { geometry Box { size 1", "the file ends within a node"),
    ("base.wrl", VRML + "Shape { geometry Box { size 1 2 } }", "size must have 3 numbers"),
    ("base.wrl", VRML + "Inline { url \"other.wrl\" }", "line 2: other files"),
    ("base.wrl", DEEP_VRML, "nested more than 200"),
    ("base.wrl", MANY_VRML, "more than"),
    ("base.dae", "<COLLADA><unclosed></COLLADA>", "as a mesh"),
    ("base.docx", "words", "'.docx' files are not supported; supported: .stl"),
    ("base.sldprt", "words", "Export the assembly as STEP"),
]  # fmt: skip


@pytest.fixture(scope="module")
def robot(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("robot") / "two.yaml"
    path.write_text(ARM)
    return path


@pytest.mark.parametrize(
    ("name", "content", "said"), CASES, ids=[f"{i}-{case[0]}" for i, case in enumerate(CASES)]
)
def test_a_broken_file_is_refused_and_writes_nothing(tmp_path, robot, name, content, said):
    data = content() if callable(content) else content
    path = tmp_path / name
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    with pytest.raises(BrazoError, match=said) as caught:
        import_cad(path, robot, tmp_path / "out" / "arm.yaml")
    assert name in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_a_wrong_extension_is_refused(tmp_path, robot):
    path = tmp_path / "base.step"
    path.write_bytes(stl(BOX.vertices, BOX.faces))
    with pytest.raises(BrazoError, match="not a STEP file"):
        import_cad(path, robot, tmp_path / "arm.yaml")


def test_a_folder_needs_cad_files(tmp_path, robot):
    (tmp_path / "readme.txt").write_text("nothing")
    with pytest.raises(BrazoError, match="the folder has no CAD file"):
        import_cad(tmp_path, robot, tmp_path / "arm.yaml")
    with pytest.raises(BrazoError, match="no such file or folder"):
        import_cad(tmp_path / "none.step", robot, tmp_path / "arm.yaml")


def test_a_surface_with_holes_counts_as_its_hull_and_says_so(tmp_path, robot):
    open_box = trimesh.Trimesh(BOX.vertices, BOX.faces[:-2], process=False)
    (tmp_path / "base.stl").write_bytes(stl(open_box.vertices, open_box.faces))
    done = import_cad(tmp_path / "base.stl", robot, tmp_path / "arm.yaml", density=1000.0)
    (row,) = done.rows
    assert row.mass == pytest.approx(8.0, rel=1e-6)
    assert "not closed (4 open edges)" in row.notes[0]
    assert "upper bound" in done.report


def test_a_surface_of_which_two_share_an_edge_is_not_closed(tmp_path, robot):
    fin = np.array([[-0.1, -0.1, -0.1], [-0.1, -0.1, 0.1], [-0.2, -0.2, 0.0]])
    vertices = np.concatenate([BOX.vertices, fin])
    faces = np.concatenate([BOX.faces, [[8, 9, 10]]])
    (tmp_path / "base.stl").write_bytes(stl(vertices, faces))
    done = import_cad(tmp_path / "base.stl", robot, tmp_path / "arm.yaml")
    assert "not closed" in done.rows[0].notes[0]


def test_a_surface_inside_out_is_turned(tmp_path, robot):
    (tmp_path / "base.stl").write_bytes(stl(BOX.vertices, BOX.faces[:, ::-1]))
    done = import_cad(tmp_path / "base.stl", robot, tmp_path / "arm.yaml", density=1000.0)
    assert done.rows[0].mass == pytest.approx(8.0, rel=1e-6)
    assert "inside out" in done.rows[0].notes[0]
    assert trimesh.load_mesh(done.meshes[0]).volume == pytest.approx(0.008, rel=1e-6)
