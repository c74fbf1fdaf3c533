"""Where packages and files are looked for."""

from __future__ import annotations

import os

import pytest

from brazo.formats.urdf.packages import Packages


@pytest.fixture
def workspace(tmp_path, monkeypatch):
    for variable in ("ROS_PACKAGE_PATH", "AMENT_PREFIX_PATH"):
        monkeypatch.delenv(variable, raising=False)
    robot = tmp_path / "src" / "arm_description" / "urdf" / "arm.urdf"
    mesh = tmp_path / "src" / "arm_description" / "meshes" / "Link 1.STL"
    for path in (robot, mesh):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return robot, mesh


@pytest.mark.parametrize(
    "uri",
    [
        "package://arm_description/meshes/Link 1.STL",
        "package://arm_description/meshes/link 1.stl",
        "package://arm_support/meshes/Link 1.STL",
        "package://arm/meshes/Link 1.STL",
        "model://arm_description/meshes/Link 1.STL",
        "../meshes/Link 1.STL",
        "meshes/Link 1.STL",
        "file://../meshes/Link 1.STL",
        " meshes/Link 1.STL ",
    ],
)
def test_uri_forms_of_one_file_are_equivalent(workspace, uri):
    robot, mesh = workspace
    found = Packages(robot).resolve(uri)
    assert found is not None
    assert found.resolve() == mesh


def test_absolute_uris(workspace):
    robot, mesh = workspace
    assert Packages(robot).resolve(mesh.as_uri()) == mesh
    assert Packages(robot).resolve(str(mesh)) == mesh


@pytest.mark.parametrize(
    "uri",
    ["package://other/a.stl", "package://", "package:///a", "https://x.org/a.stl", "a\0b", ""]
    + ["package://../a", "model://arm_description", "x" * 5000, "meshes"],
)
def test_missing_file_is_none(workspace, uri):
    assert Packages(workspace[0]).resolve(uri) is None


def test_a_package_is_known_by_its_package_xml(workspace, tmp_path):
    folder = tmp_path / "src" / "checkout-7"
    folder.mkdir()
    (folder / "package.xml").write_text("<package><name>gripper_description</name></package>")
    packages = Packages(workspace[0])
    assert packages.find("gripper_description") == folder
    assert packages.aliases == {}


def test_an_alias_is_remembered(workspace):
    packages = Packages(workspace[0])
    assert packages.find("arm_support") == workspace[0].parents[1]
    assert list(packages.aliases) == ["arm_support"]
    assert packages.find("leg_support") is None


def test_given_folders_have_priority(workspace, tmp_path, monkeypatch):
    elsewhere = tmp_path / "elsewhere" / "arm_description"
    elsewhere.mkdir(parents=True)
    robot = workspace[0]
    assert Packages(robot, {"arm_description": elsewhere}).find("arm_description") == elsewhere
    assert Packages(robot, [elsewhere.parent]).find("arm_description") == elsewhere


@pytest.mark.parametrize(
    ("variable", "below"), [("ROS_PACKAGE_PATH", ""), ("AMENT_PREFIX_PATH", "share")]
)
def test_ros_paths_are_searched(workspace, tmp_path, monkeypatch, variable, below):
    package = tmp_path / "ros" / below / "leg_description"
    package.mkdir(parents=True)
    monkeypatch.setenv(variable, os.pathsep.join(["/nowhere", str(tmp_path / "ros")]))
    assert Packages(workspace[0]).find("leg_description") == package
