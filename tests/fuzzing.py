"""Spoilt files for every reader: samples that brazo writes, mutations, and what reads them.

Case `i` of a seed is always the same file.  `tools/fuzz.py` runs many of them in processes of their
own, `tests/test_fuzz.py` a few.
"""

from __future__ import annotations

import copy
import io
import json
import re
import struct
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import trimesh
import yaml
from trimesh.exchange.stl import export_stl_ascii

import brazo
from brazo.body.meshes import stl_bytes
from brazo.body.solids import mesh
from brazo.etree import etree
from brazo.formats.library import robot_directory
from brazo.formats.load import load_source
from brazo.formats.mjcf.writer import write_mjcf
from brazo.formats.urdf.writer import write_urdf
from brazo.lab.app.imported_files import ImportedFiles
from brazo.lab.server.transfers import Upload
from brazo.model.description import TreeModel
from brazo.model.motion import body_poses
from brazo.model.shapes import Mesh
from brazo.program.program_file import load_program, program_directory
from brazo.recording import part_file
from brazo.recording.recording import Recording
from brazo.recording.source import open_source
from brazo.trajectory.files import from_dict, read_via_list, to_dict
from brazo.trajectory.via_points import cubic_via_points
from brazo.world import load_cell
from brazo.world.cell_file import cell_directory
from tests.formats.urdf.sample import SAMPLE

# Values that readers have tripped over, as text.
ODD = (
    *("", " ", "nan", "inf", "-inf", "1e400", "-1e308", "1e308 1e308 1e308", "1 2", "0 0 0"),
    *("0,0,1", "0x10", "1e-320", "½", "1 2 3 4", "..", "${x}", "$(find a)", "true", "base_link"),
    *("upper", "left", "pan", "fixed", "floating", "prismatic", "package://", "file://"),
    *("package://a/../../b.stl", "//", "C:\\a.stl", "a\x85b", "-0", "1e9", "9" * 400),
    *("-1", "0", "1", "2147483648", "4294967295", "1e-12", "1e300", "null", "[]", "{}", "~", "#a"),
)
ODD_BYTES = (0, 1, 0x7F, 0x80, 0xFF)
_WORD = re.compile(rb"[\w.+-]+")
_NUMBER = re.compile(rb"-?\d+\.?\d*(?:e[+-]?\d+)?")


Spoil = Callable[[np.random.Generator, bytes], bytes]


@dataclass(frozen=True)
class Kind:
    """A kind of file: its ending, whole samples and what reads it."""

    name: str
    suffix: str
    samples: tuple[bytes, ...]
    read: Callable[[Path], object]
    spoil: Spoil | None = None  # a mutation that keeps the syntax
    text: bool = True


def case(kinds: list[Kind], seed: int, number: int) -> tuple[Kind, bytes]:
    """The kind and the content of a case."""
    rng = np.random.default_rng((seed, number))
    kind = kinds[number % len(kinds)]
    data = kind.samples[int(rng.integers(len(kind.samples)))]
    if kind.spoil is not None and rng.random() < 0.75:
        return kind, kind.spoil(rng, data)
    for _ in range(int(rng.integers(1, 5))):
        data = _mutated(rng, data, kind.text or rng.random() < 0.2)
    return kind, data


def _mutated(rng: np.random.Generator, data: bytes, text: bool) -> bytes:
    if not data:
        return data
    ways = [_replace_word, _replace_number, _drop_line, _copy_line, _cut, _join] if text else []
    ways += [_replace_bytes, _drop_bytes, _copy_bytes] if not text or rng.random() < 0.2 else []
    return ways[int(rng.integers(len(ways)))](rng, data)


def _odd(rng: np.random.Generator) -> bytes:
    """Of the list, a random double, or any characters."""
    choice = rng.random()
    if choice < 0.1:
        return repr(float(rng.integers(2**64, dtype=np.uint64).view(np.float64))).encode()
    if choice < 0.2:
        codes = rng.integers(0x20, 0xD800, size=int(rng.integers(1, 12)))
        return "".join(chr(code) for code in codes if not 0x7F <= code < 0xA0).encode()
    return ODD[int(rng.integers(len(ODD)))].encode()


def _replace(rng: np.random.Generator, data: bytes, pattern: re.Pattern[bytes]) -> bytes:
    # A window, not the whole file: it is quick, and headings are not lost among the numbers.
    start = int(rng.integers(len(data))) if rng.random() < 0.7 else 0
    found = [m.span() for m in pattern.finditer(data, start, start + 400)]
    if not found:
        return data
    a, b = found[int(rng.integers(len(found)))]
    return data[:a] + _odd(rng) + data[b:]


def _replace_word(rng: np.random.Generator, data: bytes) -> bytes:
    return _replace(rng, data, _WORD)


def _replace_number(rng: np.random.Generator, data: bytes) -> bytes:
    return _replace(rng, data, _NUMBER)


def _drop_line(rng: np.random.Generator, data: bytes) -> bytes:
    lines = data.split(b"\n")
    a = int(rng.integers(len(lines)))
    del lines[a : a + int(rng.integers(1, 4))]
    return b"\n".join(lines)


def _copy_line(rng: np.random.Generator, data: bytes) -> bytes:
    lines = data.split(b"\n")
    a, b = (int(rng.integers(len(lines))) for _ in range(2))
    lines[b:b] = lines[a : a + int(rng.integers(1, 8))] * int(rng.choice([1, 1, 2, 50]))
    return b"\n".join(lines)


def _cut(rng: np.random.Generator, data: bytes) -> bytes:
    return data[: int(rng.integers(len(data)))]


def _join(rng: np.random.Generator, data: bytes) -> bytes:
    """Exchange two words."""
    words = [m.span() for m in _WORD.finditer(data[:20_000])]
    if len(words) < 2:
        return data
    (a, b), (c, d) = sorted(words[int(i)] for i in rng.choice(len(words), 2, replace=False))
    return data[:a] + data[c:d] + data[b:c] + data[a:b] + data[d:]


def _replace_bytes(rng: np.random.Generator, data: bytes) -> bytes:
    # Headers and footers are where a byte matters most.
    span = len(data) if rng.random() < 0.4 else min(len(data), 200)
    at = int(rng.integers(span))
    at = at if rng.random() < 0.6 else len(data) - 1 - at
    count = int(rng.choice([1, 1, 2, 4, 8]))
    new = rng.integers(256, size=count) if rng.random() < 0.5 else rng.choice(ODD_BYTES, count)
    return data[:at] + new.astype(np.uint8).tobytes() + data[at + count :]


def _drop_bytes(rng: np.random.Generator, data: bytes) -> bytes:
    a = int(rng.integers(len(data)))
    return data[:a] + data[a + int(rng.choice([1, 4, 30, 1000])) :]


def _copy_bytes(rng: np.random.Generator, data: bytes) -> bytes:
    a, b = (int(rng.integers(len(data))) for _ in range(2))
    return data[:b] + data[a : a + int(rng.choice([1, 4, 30, 1000]))] + data[b:]


# ---- mutations that keep the syntax ----------------------------------------------------------


def _pick(rng: np.random.Generator, items: Sequence[Any]) -> Any:
    return items[int(rng.integers(len(items)))]


def spoil_xml(rng: np.random.Generator, data: bytes) -> bytes:
    """A document with a few elements, attributes and texts changed, at times a few bytes too."""
    root = etree.fromstring(data)
    for _ in range(int(rng.integers(1, 6))):
        items = list(root.iter("{*}*"))
        one, other = _pick(rng, items), _pick(rng, items)
        odd = _odd(rng).decode()
        odd = "" if "\x85" in odd else odd
        match _pick(rng, ("set", "set", "text", "drop", "cut", "copy", "move", "tag", "more")):
            case "set" if one.attrib:
                one.set(_pick(rng, sorted(one.attrib)), odd)
            case "text" if one.text and one.text.strip():
                one.text = _replace(rng, one.text.encode(), _NUMBER).decode(errors="replace")
            case "drop" if one.attrib:
                del one.attrib[_pick(rng, sorted(one.attrib))]
            case "cut" if one is not root:
                one.getparent().remove(one)
            case "copy":
                other.append(copy.deepcopy(one))
            case "move" if one is not root and one not in [other, *other.iterancestors()]:
                other.append(one)
            case "tag":
                one.tag = _pick(rng, items).tag
            case "more":
                one.set(_pick(rng, ("name", "xyz", "rpy", "type", "link", "file", "count")), odd)
    spoilt = etree.tostring(root)
    if rng.integers(4) == 0:
        spoilt = _mutated(rng, spoilt, False)
    return spoilt


_ODD_VALUES = (
    *(None, True, 0, -1, 1, 2, 3, 10**6, 2**31, 2**32, 10**12, 10**400, 0.5, -1e308, 1e308),
    *(float("nan"), float("inf"), 1e-12, 1e300, "", "nan", "1e9", "..", [], {}, [[]], [0.0] * 3),
)


def _spoil_data(rng: np.random.Generator, root: Any) -> Any:
    """Plain data with a few values changed, dropped, copied or exchanged."""
    holder = [root]
    for _ in range(int(rng.integers(1, 5))):
        places: list[tuple[Any, Any]] = []
        stack: list[Any] = [holder]
        while stack:
            one = stack.pop()
            keys = list(one) if isinstance(one, dict) else list(range(len(one)))
            places += [(one, key) for key in keys]
            stack += [one[key] for key in keys if isinstance(one[key], dict | list)]
        inside, key = _pick(rng, places)
        match _pick(rng, ("odd", "odd", "near", "drop", "copy", "swap", "name")):
            case "odd":
                inside[key] = copy.deepcopy(_pick(rng, _ODD_VALUES))
            case "near" if isinstance(inside[key], int | float) and abs(inside[key]) < 1e300:
                inside[key] = inside[key] * float(_pick(rng, (-1.0, 0.0, 1e3, 1e-3, 1e12)))
            case "drop" if inside is not holder:
                del inside[key]
            case "copy" if isinstance(inside, list) and inside is not holder:
                inside[key:key] = copy.deepcopy(inside[key : key + 3] * int(rng.integers(1, 20)))
            case "name" if isinstance(inside, dict):
                inside[_odd(rng).decode()] = inside.pop(key)
            case "swap":
                there, other = _pick(rng, places)
                if key in _keys(inside) and other in _keys(there):
                    inside[key] = copy.deepcopy(there[other])
    return holder[0]


def _keys(inside: Any) -> Any:
    return inside if isinstance(inside, dict) else range(len(inside))


def _spoil_yaml(rng: np.random.Generator, data: bytes) -> bytes:
    spoilt = _spoil_data(rng, yaml.load(data, yaml.CSafeLoader))
    return yaml.dump(spoilt, Dumper=yaml.CSafeDumper, sort_keys=False).encode()


def _spoil_json(rng: np.random.Generator, data: bytes) -> bytes:
    return json.dumps(_spoil_data(rng, json.loads(data))).encode()


def _spoil_glb(rng: np.random.Generator, data: bytes) -> bytes:
    (length,) = struct.unpack_from("<I", data, 12)
    text = _spoil_json(rng, data[20 : 20 + length])
    text += b" " * (-len(text) % 4)
    body = struct.pack("<I4s", len(text), b"JSON") + text + data[20 + length :]
    return data[:8] + struct.pack("<I", 12 + len(body)) + body


def _spoil_numbers(rng: np.random.Generator, data: bytes) -> bytes:
    for _ in range(int(rng.integers(1, 4))):
        data = _pick(rng, (_replace_number, _replace_number, _drop_line, _copy_line))(rng, data)
    return data


def _spoil_same_length(rng: np.random.Generator, data: bytes) -> bytes:
    for _ in range(int(rng.integers(1, 4))):
        data = _replace_bytes(rng, data)[: len(data)]
    return data


def _spoil_part(rng: np.random.Generator, data: bytes) -> bytes:
    """Frames whose checksums are right and whose content is not."""
    pieces: list[bytes | memoryview] = []
    at = 0
    while at < len(data):
        kind, length = data[at + 4 : at + 5], int.from_bytes(data[at + 8 : at + 12], "little")
        payload = data[at + 20 : at + 20 + length]
        at += 20 + length
        for _ in range(int(rng.choice([0, 1, 1, 1, 2]))):
            if rng.random() < 0.3:
                rows = kind == part_file.ROWS
                payload = (_spoil_same_length if rows else _spoil_json)(rng, payload)
            pieces += part_file.frame(_pick(rng, (kind, kind, kind, b"H", b"R", b"E")), payload)
    return b"".join(pieces)


def _spoil_archive(rng: np.random.Generator, data: bytes) -> bytes:
    """An archive that is whole, of spoilt members under odd names."""
    packed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as given, zipfile.ZipFile(packed, "w") as made:
        for member in given.infolist():
            content = given.read(member)
            if rng.random() < 0.4:
                xml = member.filename.endswith(("urdf", "xml"))
                content = (spoil_xml if xml else _spoil_same_length)(rng, content)
            name = member.filename
            if rng.random() < 0.2:
                name = _replace(rng, name.encode(), _WORD).decode() or "x"
            method = _pick(rng, (0, 8, 8, 8, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA))
            made.writestr(zipfile.ZipInfo(name.replace("\0", "")), content, method)
    return packed.getvalue()


# ---- samples and readers ---------------------------------------------------------------------


def kinds(folder: Path) -> list[Kind]:
    """All kinds of files, with samples made in a folder."""
    robots = tuple(
        (robot_directory() / f"{n}.yaml").read_bytes() for n in ("srm1", "delta", "panda")
    )
    robot = brazo.load("scara2")
    tree = load_source("srm1").model
    assert isinstance(tree, TreeModel)
    urdf = (SAMPLE.encode(), write_urdf(tree).encode())

    def read_trajectory(path: Path) -> None:
        try:
            data = json.loads(path.read_bytes())
        except (ValueError, RecursionError):  # the user's own call, not brazo's
            return
        from_dict(data, robot)

    def spoil_parquet(rng: np.random.Generator, data: bytes) -> bytes:
        """A whole file with spoilt events and a spoilt description."""
        if rng.random() < 0.5:
            return _spoil_same_length(rng, data)
        events = _spoil_data(rng, [{"t": 0.5, "kind": "mark", "text": "here"}])
        events = (
            [one for one in events if isinstance(one, dict)] if isinstance(events, list) else []
        )
        limits = json.dumps(_spoil_data(rng, {"q1": [-1, 1], "q2": [None, 2.0]}))
        about = {"limits": limits, "cell_file": _odd(rng).decode()}
        columns = {"t": (np.linspace(0.0, 1.0, 20), "s"), "q1": (np.zeros(20), "rad")}
        path = Recording(columns, events, about).to_parquet(folder / "spoilt.parquet")
        return path.read_bytes()

    recordings = _recordings(folder)
    box = trimesh.creation.box((0.1, 0.2, 0.3))
    ball = trimesh.creation.icosphere(subdivisions=1, radius=0.1)
    scene = trimesh.Scene([box, ball])

    def export(suffix: str) -> bytes:
        made: Any = scene.export(file_type=suffix)
        return made.encode() if isinstance(made, str) else made

    gltf: Any = scene.export(file_type="gltf")
    for name, content in gltf.items():
        (folder / name).write_bytes(content)  # buffers lie beside the spoilt file
    text_stl, dae = export_stl_ascii(box).encode(), ball.export(file_type="dae")
    ply = ball.export(file_type="ply", encoding="ascii")
    part, parquet = recordings[".part"], recordings[".parquet"]
    stl = stl_bytes(np.array(ball.vertices), np.array(ball.faces))
    return [
        Kind("robot file", ".yaml", robots, _read_robot, _spoil_yaml),
        Kind("URDF", ".urdf", urdf, _read_robot, spoil_xml),
        Kind("xacro", ".xacro", (_XACRO,), _read_robot, spoil_xml),
        Kind("MJCF", ".xml", (write_mjcf(tree).encode(), _MJCF), _read_robot, spoil_xml),
        Kind("cell", ".yaml", _all(cell_directory()), load_cell, _spoil_yaml),
        Kind("program", ".yaml", _all(program_directory()), load_program, _spoil_yaml),
        Kind("via points", ".yaml", (_VIA,), lambda path: read_via_list(path, robot), _spoil_yaml),
        Kind("trajectory", ".json", (_trajectory(robot),), read_trajectory, _spoil_json),
        Kind("Parquet", ".parquet", (parquet,), _read_recording, spoil_parquet, text=False),
        Kind("partial", ".parquet.part", (part,), _read_recording, _spoil_part, text=False),
        Kind("CSV", ".csv", (recordings[".csv"],), _read_recording, _spoil_numbers),
        Kind("STL", ".stl", (stl,), _read_mesh, _spoil_same_length, text=False),
        Kind("STL text", ".stl", (text_stl,), _read_mesh, _spoil_numbers),
        Kind("OBJ", ".obj", (export("obj"),), _read_mesh, _spoil_numbers),
        Kind("PLY", ".ply", (ply, ball.export(file_type="ply")), _read_mesh, _spoil_numbers),
        Kind("OFF", ".off", (box.export(file_type="off").encode(),), _read_mesh, _spoil_numbers),
        Kind("COLLADA", ".dae", (dae, _COLLADA), _read_mesh, spoil_xml),
        Kind("GLB", ".glb", (export("glb"),), _read_mesh, _spoil_glb, text=False),
        Kind("glTF", ".gltf", (gltf["model.gltf"],), _read_mesh, _spoil_json),
        Kind("zip", ".zip", (_archive(urdf[0], stl),), _read_archive, _spoil_archive, text=False),
    ]


def _all(folder: Path) -> tuple[bytes, ...]:
    return tuple(path.read_bytes() for path in sorted(folder.glob("*.yaml")))


def _read_robot(path: Path) -> None:
    try:
        model = load_source(path).model
    except brazo.BrazoError as error:
        assert str(path) in str(error)
        raise
    assert all(str(finding) for finding in model.findings)
    if isinstance(model, TreeModel):
        assert np.isfinite(body_poses(model, np.full(model.n, 0.3))).all()
        assert 0 <= model.tip < len(model.bodies)
        write_urdf(model)


def _read_recording(path: Path) -> None:
    try:
        recording = Recording.open(path)
    except brazo.BrazoError:
        open_source(path, salvage=True).columns()
        return
    recording.between(0.2, 0.6)
    assert np.ndim(recording.t) == 1
    assert all(len(pair) == 2 for pair in recording.limits.values())


def _read_mesh(path: Path) -> None:
    surface = mesh(Mesh(path=path))
    assert np.isfinite(surface.vertices).all() and np.isfinite(surface.normals).all()


def _read_archive(path: Path) -> None:
    imported = ImportedFiles()
    try:
        for name in imported.take(Upload("arm.zip", path.read_bytes())):
            load_source(imported.path(name))
    finally:
        imported.close()


def _recordings(folder: Path) -> dict[str, bytes]:
    t = np.linspace(0.0, 1.0, 300)
    about = {"limits": '{"q1": [-1, 1]}', "cell_file": "cell.yaml"}
    columns = {"t": (t, "s"), "q1": (np.sin(t), "rad"), "q2": (np.cos(t), "rad")}
    recording = Recording(columns, [{"t": 0.5, "kind": "mark", "text": "here"}], about)
    found = {}
    for suffix, write in ((".parquet", recording.to_parquet), (".csv", recording.to_csv)):
        write(folder / f"sample{suffix}")
        found[suffix] = (folder / f"sample{suffix}").read_bytes()
    frames = part_file.frame(part_file.HEAD, b'{"columns": {"t": "s", "q1": "rad"}, "about": {}}')
    rows = np.column_stack([t, np.sin(t)]).astype("<f8").tobytes()
    for piece in (rows[:1600], rows[1600:]):
        frames = [*frames, *part_file.frame(part_file.ROWS, piece)]
    event = part_file.frame(part_file.EVENT, b'{"t": 0.5, "kind": "mark", "text": "here"}')
    found[".part"] = b"".join([*frames, *event])
    return found


def _trajectory(robot: brazo.Robot) -> bytes:
    made = cubic_via_points([0.0, 1.0, 2.0], [[0.0] * robot.n, [0.1] * robot.n, [0.0] * robot.n])
    return json.dumps(to_dict(made, robot)).encode()


def _archive(urdf: bytes, stl: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("arm/urdf/arm.urdf", urdf)
        made.writestr("arm/meshes/a.stl", stl)
        made.writestr(zipfile.ZipInfo("arm/package.xml"), b"<package><name>arm</name></package>")
    return packed.getvalue()


_VIA = b"""curve: cubic
rule: average
orientation: full
points:
  - {t: 0, q: [0, 10deg, 0, 1cm, 0]}
  - {t: 1.5s, q: [30deg, 20deg, 0, 2cm, 0], qd: [0.2, 0, 0, 0, 0]}
  - {t: 3s, q: [10deg, 1, 0, 0.02, 0]}
"""

_XACRO = b"""<?xml version="1.0"?>
<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:property name="length" value="0.4"/>
  <xacro:arg name="mass" default="2"/>
  <xacro:macro name="segment" params="name parent length *origin">
    <link name="${name}">
      <inertial><mass value="$(arg mass)"/><origin xyz="0 0 ${length/2}"/>
        <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial>
      <visual><geometry><cylinder radius="${0.1*length}" length="${length}"/></geometry></visual>
    </link>
    <joint name="${name}_joint" type="revolute">
      <xacro:insert_block name="origin"/>
      <parent link="${parent}"/><child link="${name}"/><axis xyz="0 1 0"/>
      <limit lower="${-pi}" upper="${pi/2}" effort="10" velocity="2"/>
    </joint>
  </xacro:macro>
  <link name="base"/>
  <xacro:segment name="one" parent="base" length="${length}">
    <origin xyz="0 0 ${length}" rpy="0 0 0"/></xacro:segment>
  <xacro:if value="${length > 0.2}">
    <xacro:segment name="two" parent="one" length="${length*0.5}">
      <origin xyz="0 0 ${length}"/></xacro:segment>
  </xacro:if>
</robot>
"""

_MJCF = b"""<mujoco model="arm">
  <compiler angle="radian"/>
  <default><joint damping="0.1"/><geom rgba="0.5 0.5 0.5 1"/></default>
  <asset><mesh name="m" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/>
    <texture name="t" type="2d" builtin="flat" width="4" height="4"/></asset>
  <worldbody>
    <body name="one" pos="0 0 0.1"><joint name="a" axis="0 0 1" range="-2 2" limited="true"/>
      <geom type="capsule" fromto="0 0 0 0 0 0.3" size="0.03"/>
      <body name="two" pos="0 0 0.3"><joint name="b" type="slide" axis="1 0 0"/>
        <inertial pos="0 0 0" mass="1" diaginertia="0.1 0.1 0.1"/>
        <geom type="mesh" mesh="m" mass="1"/><site name="tool" pos="0.1 0 0"/></body></body>
    <replicate count="2" euler="0 0 1"><geom type="box" size="0.1 0.1 0.1"/></replicate>
  </worldbody>
  <equality><joint joint1="a" joint2="b" polycoef="0 1 0 0 0"/></equality>
  <actuator><motor joint="a" gear="10"/></actuator>
  <keyframe><key qpos="0.1 0.2"/></keyframe>
</mujoco>
"""

_COLLADA = b"""<?xml version="1.0" encoding="utf-8"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
  <asset><unit name="inch" meter="0.0254"/><up_axis>Z_UP</up_axis></asset>
  <library_geometries><geometry id="g"><mesh>
    <source id="p"><float_array id="pa" count="12">0 0 0 1 0 0 0 2 0 0 0 3</float_array>
      <technique_common><accessor source="#pa" count="4" stride="3"><param name="X" type="float"/>
      <param name="Y" type="float"/><param name="Z" type="float"/></accessor></technique_common>
    </source>
    <vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
    <polylist count="4"><input semantic="VERTEX" source="#v" offset="0"/>
      <vcount>3 3 3 3</vcount><p>0 2 1 0 1 3 0 3 2 1 2 3</p></polylist>
  </mesh></geometry></library_geometries>
  <library_nodes><node id="k"><instance_geometry url="#g"/></node></library_nodes>
  <library_visual_scenes><visual_scene id="s"><node id="n"><translate>10 0 0</translate>
    <rotate>0 0 1 30</rotate><instance_geometry url="#g"/><instance_node url="#k"/></node>
  </visual_scene></library_visual_scenes>
  <scene><instance_visual_scene url="#s"/></scene>
</COLLADA>
"""
