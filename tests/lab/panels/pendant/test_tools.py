"""Tools, user frames and ghosts of the pendant, without a browser."""

from __future__ import annotations

import time

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import brazo
from brazo.world import parse_cell

CELL = """\
name: bench
robots:
  - {name: arm, robot: puma560, base: {xyz: [0, 0, 0.5], rpy: [0, 0, 90deg]}}
frames:
  - {name: work, xyz: [0.5, 0.2, 0.1], rpy: [0, 0, 180deg]}
"""
TIP = np.array([0.02, -0.03, 0.15])


@pytest.fixture(scope="module")
def lab(running):
    with running(parse_cell(CELL)) as lab:
        yield lab


@pytest.fixture
def page(lab, line):
    with line(lab) as page:
        page.send(["panels-shown", ["pendant", "inspector"]], ["pendant/mode", "joint"])
        yield page


def shown(lab) -> dict:
    found: dict = {}
    lab.do(lambda: found.update(lab.panels["pendant"].values()))
    return found


def until(condition, what: str) -> None:
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.01)


def given(lab):
    return lab.sim.cell.robots[0]


def test_touches_with_a_known_tool_give_that_tool(lab, page):
    arm, q0 = brazo.load("puma560"), lab.robot.q
    tool = arm.with_tool(TIP)
    start = tool.fk(arm.poses["nominal"])
    for turn in ([0, 0, 0], [25, 0, 0], [0, 25, 0], [-15, -15, 60]):
        T = start.copy()
        T[:3, :3] = Rotation.from_euler("xyz", turn, degrees=True).as_matrix() @ start[:3, :3]
        found = tool.ik(T, q0=arm.poses["nominal"])
        assert found.success, found.reason
        lab.do(lambda q=found.q: lab.session.place(lab.robot, q))
        page.send(["pendant/tcp-touch"])
    assert shown(lab)["touches"] == "4 touches" and shown(lab)["touched"]
    page.send(["pendant/tcp-compute"])
    until(lambda: given(lab).tcp == "tool 1", "computed")
    assert given(lab).tcps[0].pose[:3, 3] == pytest.approx(TIP, abs=1e-9)
    until(lambda: "RMS 0.00 mm, max 0.00 mm" in shown(lab)["touches"], "residual")
    T = lab.robot.base @ tool.fk(lab.robot.q)
    assert lab.robot.tool() == pytest.approx(T, abs=1e-9)
    page.send(["undo"])
    until(lambda: not given(lab).tcps, "undone")
    page.send(["redo"])
    until(lambda: given(lab).tcp == "tool 1", "done again")
    lab.do(lambda: lab.session.place(lab.robot, q0))


def test_a_tool_is_added_typed_renamed_selected_and_deleted(lab, page):
    page.send(["pendant/tcp-use", 0])
    until(lambda: given(lab).tcp == "", "own tool")
    count = len(given(lab).tcps)
    page.send(["pendant/tcp-new"])
    until(lambda: len(given(lab).tcps) == count + 1, "added")
    page.send(["pendant/tcp-length", 2, "12cm"])
    until(lambda: given(lab).tcps[-1].pose[2, 3] == pytest.approx(0.12), "typed")
    page.send(["pendant/tcp-turn", 1, 90])
    until(lambda: given(lab).tcps[-1].pose[0, 2] == pytest.approx(1.0), "turned")
    page.send(["pendant/tcp-name", count + 1, "pointer"])
    until(lambda: given(lab).tcp == "pointer", "renamed")
    assert shown(lab)["tcp/2"] == pytest.approx(120.0) and shown(lab)["tcp/4"] == pytest.approx(90)
    rows = shown(lab)["tcps"]
    assert [row["name"] for row in rows if row["mark"]] == ["pointer"]
    page.send(["pendant/tcp-name", 0, "mine"])
    page.until_said("tool frame cannot be changed")
    page.send(["pendant/tcp-delete", count + 1])
    until(lambda: given(lab).tcp == "" and len(given(lab).tcps) == count, "deleted")


def test_too_few_touches_give_advice(lab, page):
    page.send(["pendant/tcp-clear"], ["pendant/tcp-touch"], ["pendant/tcp-compute"])
    page.until_said("at least 4 are needed")
    page.send(["pendant/tcp-clear"])


def test_poses_are_shown_and_typed_in_the_frame_of_the_mode(lab, page):
    tool = lab.robot.tool()
    for mode, T in (
        ("world", np.eye(4)),
        ("base", lab.robot.base),
        ("user", lab.sim.cell.frames[0].pose),
    ):
        page.send(["pendant/mode", mode])
        xyz = 1000.0 * (np.linalg.inv(T) @ tool)[:3, 3]
        assert [shown(lab)[n] for n in "xyz"] == pytest.approx(xyz, abs=1e-6), mode
    assert shown(lab)["frame"] == "work"
    x, _, z = xyz
    page.send(["pendant/move", [["x", x + 20.0], ["z", z - 30.0]], "joint"])
    lab.sim.player.speed = 4.0
    until(lambda: not lab.sim.moving, "moved")
    lab.sim.player.speed = 1.0
    T = lab.robot.base @ lab.robot.arm.fk(lab.robot.reference.q)
    assert (T - tool)[:3, 3] == pytest.approx([-0.02, 0.0, -0.03], abs=1e-6)


def test_ghost_of_point_and_ik_solution_is_shown_on_hover(lab, page):
    ghost = lab.scene.target
    page.send(["pendant/teach"])
    number = shown(lab)["points"][-1]["id"]
    page.send(["pendant/point-hover", number])
    assert ghost.visible
    page.send(["pendant/point-hover-end"])
    assert not ghost.visible
    inspector = lab.panels["inspector"]
    until(lambda: lab.do(inspector.values) or inspector._branches, "solutions")
    page.send(["inspector/branch-hover", inspector._branches[0].name])
    assert ghost.visible
    lab.do(lambda: lab.scene.show(lab.sim))  # the cell is drawn again, without the ghost
    assert not ghost.visible
    page.send(["inspector/branch-hover-end"])
