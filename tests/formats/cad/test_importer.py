"""A CAD assembly becomes a robot file: same kinematics, estimated masses, meshes in their place."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import trimesh
from typer.testing import CliRunner

import brazo
from brazo.body.drawable import undrawable
from brazo.body.meshes import load_triangles
from brazo.body.solids import triangles
from brazo.cli.main import app
from brazo.errors import BrazoError
from brazo.formats.cad import import_cad
from brazo.formats.cad.importer import CadImport
from brazo.formats.library import mesh_directory
from brazo.model.inertia import broken_rules, shape_tensor
from brazo.world.collision import primitives

STEP = mesh_directory() / "rv2aj" / "rv2aj.step"
# A post of 0.3 m, a link of 0.4 m along x and a tool block behind it, in the zero pose.
ARM = """\
name: two
joints:
  - {name: turn, d: 0.3}
  - {name: lift, a: 0.4, alpha: 90deg, limits: [-90deg, 90deg]}
poses: {zero: [0, 0], up: [0, 90deg]}
"""


@pytest.fixture(scope="module")
def arm(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("arm") / "two.yaml"
    path.write_text(ARM)
    return path


@pytest.fixture(scope="module")
def rv2aj(tmp_path_factory) -> CadImport:
    folder = tmp_path_factory.mktemp("cad")
    return import_cad(STEP, "rv2aj", folder / "arm.yaml", mass=17.0)


def box(low, high) -> trimesh.Trimesh:
    return trimesh.creation.box(bounds=[low, high])


def parts() -> dict[str, trimesh.Trimesh]:
    return {
        "pedestal": box((-0.05, -0.05, 0.0), (0.05, 0.05, 0.25)),
        "link 1": box((-0.04, -0.04, 0.25), (0.04, 0.04, 0.3)),
        "Forearm_gripper": box((0.0, -0.03, 0.27), (0.4, 0.03, 0.33)),
    }


def test_the_assembly_of_the_paper_is_recognised_part_by_part(rv2aj):
    links = {row.part: row.joint or row.link for row in rv2aj.rows}
    assert links == {
        "base": "base",
        "shoulder": "J1",
        "1 arm": "J2",
        "2 arm": "J3",
        "3 arm": "J4",
        "flange": "J5",
        "end-effector": "J5",
    }
    assert rv2aj.mass == pytest.approx(17.0, rel=1e-12)
    assert not any(row.notes for row in rv2aj.rows)  # closed surfaces
    assert "ESTIMATED" in rv2aj.report and rv2aj.report_path.read_text() == rv2aj.report


def test_the_kinematics_are_those_of_the_table(rv2aj):
    arm, original = brazo.load(rv2aj.path), brazo.load("rv2aj")
    q = np.random.default_rng(0).uniform(*original.limits.T, (100, 5))
    assert np.array_equal(arm.fk(q), original.fk(q))
    assert np.array_equal(arm.limits, original.limits)
    assert "ESTIMATED" in arm.about


def test_the_file_passes_the_check_and_moves(rv2aj):
    result = CliRunner().invoke(app, ["check", str(rv2aj.path)])
    assert result.exit_code == 0, result.output
    arm = brazo.load(rv2aj.path)
    assert not undrawable(arm.model) and arm.has_dynamics and not arm.findings
    sim = brazo.Simulation(arm)
    sim.step(20)
    assert np.abs(sim.robots["rv2aj"].q - arm.poses["home"]).max() < 1e-3


def test_inertias_agree_with_the_finer_meshes_of_the_shipped_robot(rv2aj):
    """Circles of 16 and of 48 sides differ by 2 % in area."""
    arm, shipped = brazo.load(rv2aj.path), brazo.load("rv2aj")
    for (_, one), (_, other) in zip(arm.model.inertias, shipped.model.inertias, strict=True):
        assert not broken_rules(one)
        assert one.mass == pytest.approx(other.mass, rel=0.03)
        np.testing.assert_allclose(one.com, other.com, atol=2e-3)
        np.testing.assert_allclose(one.tensor, other.tensor, atol=0.03 * other.tensor.max())


def test_parts_stay_where_the_assembly_has_them(rv2aj):
    arm = brazo.load(rv2aj.path)
    frames = arm.frames(arm.poses["zero"])
    high = -np.inf
    for T, some in zip(frames, arm.parts, strict=True):
        for part in some:
            points = triangles(part.shape)[0] @ T[:3, :3].T + T[:3, 3]
            high = max(high, points[:, 2].max())
            hulls = [p for one in primitives(part) for p in one.vertices @ T[:3, :3].T + T[:3, 3]]
            np.testing.assert_allclose(np.min(hulls, axis=0), points.min(axis=0), atol=1e-6)
            np.testing.assert_allclose(np.max(hulls, axis=0), points.max(axis=0), atol=1e-6)
    assert high == pytest.approx(arm.fk(arm.poses["zero"])[2, 3], abs=1e-6)  # fingers at the tip


@pytest.mark.parametrize(
    ("suffix", "scale"), [("stl", 1.0), ("obj", 1e-3), ("glb", 1.0), ("wrl", 1e-3)]
)
def test_a_folder_of_boxes_has_their_masses_and_inertias(tmp_path, arm, suffix, scale):
    folder = tmp_path / "parts"
    folder.mkdir()
    for name, mesh in parts().items():
        mesh.apply_scale(1.0 / scale)
        if suffix == "wrl":
            size, at = (" ".join(map(str, x)) for x in (mesh.extents, mesh.bounds.mean(axis=0)))
            (folder / f"{name}.wrl").write_text(
                f"#VRML V2.0 utf8\nTransform {{ translation {at} children Shape {{ geometry "
                f"Box {{ size {size} }} }} }}"
            )
        else:
            mesh.export(folder / f"{name}.{suffix}")
    done = import_cad(folder, arm, tmp_path / "out.yaml", scale=scale, density=2000.0)
    robot = brazo.load(done.path)
    first, last = (inertia for _, inertia in robot.model.inertias)
    assert first.mass == pytest.approx(2000.0 * 0.08 * 0.08 * 0.05, rel=1e-5)
    np.testing.assert_allclose(first.com, [0, 0, -0.025], atol=1e-7)
    expected = shape_tensor("box", last.mass, (0.4, 0.06, 0.06))
    np.testing.assert_allclose(np.sort(np.diag(last.tensor)), np.sort(np.diag(expected)), rtol=1e-5)
    np.testing.assert_allclose(last.com, [-0.2, 0, 0], atol=1e-7)
    assert robot.fk([0, 0])[0, 3] == pytest.approx(0.4)


def test_another_reference_pose_and_another_up_axis(tmp_path, arm):
    """The same link drawn upright, in a file whose y axis points up."""
    upright = box((-0.03, -0.03, 0.3), (0.03, 0.03, 0.7))
    upright.apply_transform(trimesh.transformations.rotation_matrix(-np.pi / 2, [1, 0, 0]))
    upright.export(tmp_path / "link 2.stl")
    done = import_cad(tmp_path / "link 2.stl", arm, tmp_path / "a.yaml", up="y", pose=[0, 0])
    T = brazo.load(done.path).frames([0, 0])[2]
    vertices = trimesh.load_mesh(done.meshes[0]).vertices @ T[:3, :3].T + T[:3, 3]
    np.testing.assert_allclose(np.ptp(vertices, axis=0), [0.06, 0.06, 0.4], atol=1e-6)
    np.testing.assert_allclose(vertices.min(axis=0)[2], 0.3, atol=1e-6)


def test_links_without_a_part_keep_body_and_masses(tmp_path, arm):
    parts()["pedestal"].export(tmp_path / "base.stl")
    done = import_cad(tmp_path / "base.stl", arm, tmp_path / "out.yaml")
    robot = brazo.load(done.path)
    assert not robot.has_dynamics  # as in its file
    assert "Without a part: link 1 (turn), link 2 (lift)" in done.report
    assert len(robot.parts[1]) > 0


def test_parts_with_other_names_are_mapped_or_left_out(tmp_path, arm):
    for name in ("bracket", "screw 1", "screw 2"):
        parts()["link 1"].export(tmp_path / f"{name}.stl")
    with pytest.raises(BrazoError, match=r"no link found for parts 'bracket'.*--map"):
        import_cad(tmp_path, arm, tmp_path / "out.yaml")
    mapping = {"bracket": "lift", "screw*": "none"}
    done = import_cad(tmp_path, arm, tmp_path / "out.yaml", mapping=mapping)
    assert [(row.part, row.link, row.reason) for row in done.rows] == [
        ("bracket", "link 2", "as in the map")
    ]
    assert "screw 1" in done.report and "left out" in done.report
    for wrong, said in (({"brackets": "lift"}, "no part is"), ({"bracket": "J9"}, "not a link")):
        with pytest.raises(BrazoError, match=said):
            import_cad(tmp_path, arm, tmp_path / "x.yaml", mapping=wrong)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"density": 0.0}, "density: 0 kg"),
        ({"density": float("nan")}, "density"),
        ({"density": {"arm": 7850.0}}, "no part is named 'arm'"),
        ({"mass": -1.0}, "the total mass must be above 0"),
        ({"scale": 0.0}, "scale: 0"),
        ({"up": "w"}, "one of z, y, x"),
        ({"pose": "down"}, "no pose 'down'; it has: zero, up"),
        ({"pose": [1.0]}, "expected 2 finite joint values"),
    ],
)
def test_wrong_options_are_named(tmp_path, arm, options, said):
    parts()["pedestal"].export(tmp_path / "base.stl")
    with pytest.raises(BrazoError, match=said):
        import_cad(tmp_path / "base.stl", arm, tmp_path / "out.yaml", **options)
    assert not (tmp_path / "out.yaml").exists()


def test_only_a_serial_robot_file_takes_parts(tmp_path, arm):
    parts()["pedestal"].export(tmp_path / "base.stl")
    (tmp_path / "a.urdf").write_text("<robot name='a'><link name='b'/></robot>")
    for robot, output, said in (
        ("delta", "out.yaml", "closed loops"),
        (tmp_path / "a.urdf", "out.yaml", r"robot file \(.yaml\)"),
        (arm, "out.urdf", "must end in .yaml"),
        (arm, arm, "is the robot's source file"),
    ):
        with pytest.raises(BrazoError, match=said):
            import_cad(tmp_path / "base.stl", robot, tmp_path / output)


def test_an_exception_of_the_progress_ends_the_import(tmp_path, arm):
    class Cancelled(Exception):
        pass

    seen: list[float] = []

    def progress(fraction: float | None, text: str) -> None:
        seen.append(fraction or 0.0)
        if text.startswith("collision"):
            raise Cancelled

    parts()["pedestal"].export(tmp_path / "base.stl")
    with pytest.raises(Cancelled):
        import_cad(tmp_path / "base.stl", arm, tmp_path / "out.yaml", progress=progress)
    assert seen == sorted(seen)
    assert not (tmp_path / "out.yaml").exists()


def test_the_shell_imports_and_asks_before_it_replaces(tmp_path, arm):
    parts()["pedestal"].export(tmp_path / "base.stl")
    output = tmp_path / "out.yaml"
    command = [
        "cad", "import", str(tmp_path / "base.stl"), "--robot", str(arm), "-o", str(output),
        "--density", "base=7850", "--pose", "0,0", "--json",
    ]  # fmt: skip
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    found = json.loads(result.output)
    assert found["parts"][0]["mass"] == pytest.approx(7850 * 0.0025)
    again = CliRunner().invoke(app, command)
    assert isinstance(again.exception, BrazoError) and "--force" in str(again.exception)
    assert CliRunner().invoke(app, [*command, "--force"]).exit_code == 0
    for wrong, said in (
        (["--map", "x"], "PART=LINK"),
        (["--density", "a=b"], "kg/m"),
        (["--pose", "0,0,0"], "3 values for 2 joints"),
    ):
        bad = CliRunner().invoke(app, [*command, "--force", *wrong])
        assert said in str(bad.exception)


def test_meshes_of_links_without_parts_are_copied(tmp_path):
    source = tmp_path / "robot"
    (source / "out_cad").mkdir(parents=True)
    box((0, 0, 0), (0.1, 0.1, 0.1)).export(source / "out_cad" / "base.stl")  # the name of the new
    box((0, 0, 0), (0.1, 0.2, 0.1)).export(source / "hull.stl")
    scene = trimesh.Scene(box((0, 0, 0), (0.3, 0.2, 0.1)))
    for name, data in trimesh.exchange.gltf.export_gltf(scene).items():  # model.gltf and a .bin
        (source / name).write_bytes(data)
    (source / "two.yaml").write_text(
        "name: two\njoints:\n"
        "  - {name: turn, d: 0.3, parts: [{mesh: out_cad/base.stl, collision: [hull.stl]}]}\n"
        "  - {a: 0.4, parts: [{mesh: model.gltf}, {mesh: 'library:rv2aj/flange.stl'}]}\n"
    )
    box((-0.1, -0.1, 0), (0.1, 0.1, 0.25)).export(tmp_path / "base.stl")
    done = import_cad(tmp_path / "base.stl", source / "two.yaml", tmp_path / "new" / "out.yaml")
    base, turn, lift = brazo.load(done.path).model.bodies
    extents = [
        np.ptp(load_triangles(path)[0], axis=0)
        for path in (
            base.parts[0].shape.path,
            turn.parts[0].shape.path,
            *turn.parts[0].shape.pieces,
            lift.parts[0].shape.path,
        )
    ]
    expected = [(0.2, 0.2, 0.25), (0.1, 0.1, 0.1), (0.1, 0.2, 0.1), (0.3, 0.2, 0.1)]
    np.testing.assert_allclose(extents, expected, rtol=1e-6)
    assert lift.parts[1].shape.path == mesh_directory() / "rv2aj" / "flange.stl"
    assert all(path.parent == tmp_path / "new" / "out_cad" for path in done.meshes)
