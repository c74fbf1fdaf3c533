"""What is sent to be drawn."""

from __future__ import annotations

import numpy as np
import pytest

import brazo
from brazo.lab import hooks, scene
from brazo.lab.scene import grid_cell, node_name
from brazo.model.library import robot_names


def kept(lab, prefix: str) -> dict[str, list]:
    """The messages a page that connects now would get, by the node they are about."""
    found: dict[str, list] = {}
    for message in lab._server.viser._websock_server._broadcast_buffer.message_from_id.values():
        name = getattr(message, "name", None)
        if name is not None and name.startswith(prefix):
            found.setdefault(name, []).append(message)
    return found


@pytest.fixture
def moved(monkeypatch):
    """Names of the nodes sent, one list for every sending."""
    sent: list[list[str]] = []
    real = hooks.move

    def move(server, poses):
        poses = list(poses)
        sent.append([name for name, _, _ in poses])
        real(server, poses)

    monkeypatch.setattr(scene.hooks, "move", move)
    return sent


@pytest.mark.parametrize("name", robot_names())
def test_every_part_of_every_robot_is_drawn_below_its_body(lab, name):
    robot = brazo.load(name)
    lab.set_robot(robot)
    nodes = kept(lab, f"{lab._scene.root}/")
    for i, (body, parts) in enumerate(zip(robot.body_names, robot.parts, strict=True)):
        path = f"{lab._scene.root}/{i}-{node_name(body)}"
        meshes = [
            message
            for node, messages in nodes.items()
            for message in messages
            if node.startswith(f"{path}/")
            and node.count("/") == 3  # deeper are the rods of its frame
            and type(message).__name__ == "MeshMessage"
        ]
        assert len(meshes) == len(parts)
        for mesh in meshes:
            assert np.isfinite(mesh.props.vertices).all() and len(mesh.props.faces) > 0
            assert mesh.props.faces.max() < len(mesh.props.vertices)


def test_a_body_is_drawn_where_the_kinematics_says(lab):
    robot = brazo.load("panda")
    lab.set_robot(robot)
    q = robot.random_q(seed=1)
    lab.set_q(q)
    lab._do(lab._publish)
    nodes = kept(lab, f"{lab._scene.root}/")
    for i, (body, T) in enumerate(zip(robot.body_names, robot.frames(q), strict=True)):
        messages = nodes[f"{lab._scene.root}/{i}-{node_name(body)}"]
        position = [m.position for m in messages if hasattr(m, "position")][-1]
        assert position == tuple(T[:3, 3])


def test_only_bodies_that_moved_are_sent(lab, moved):
    robot = brazo.load("panda")
    lab.set_robot(robot)
    lab._do(lab._publish)
    moved.clear()
    q = lab.q.copy()
    lab._do(lambda: lab.go_to(q))
    lab._do(lab._publish)
    assert moved == []
    q[6] += 0.1  # the last joint turns the last body and the tool
    lab._do(lambda: lab.go_to(q))
    lab._do(lab._publish)
    last = f"{lab._scene.root}/{len(robot.body_names) - 1}-{node_name(robot.body_names[-1])}"
    assert {name for names in moved for name in names} == {last, f"{lab._scene.root}/tool"}


def test_another_robot_leaves_nothing_of_the_first(lab):
    lab.set_robot(brazo.load("panda"))
    lab.set_robot(brazo.load("scara1"))
    robot = brazo.load("scara1")
    root = lab._scene.root
    live = {n for n in lab._server.viser.scene._handle_from_node_name if n.startswith("/robot")}
    bodies = {f"{root}/{i}-{node_name(b)}" for i, b in enumerate(robot.body_names)}
    assert {"/".join(n.split("/")[:3]) for n in live} == bodies | {
        root,
        f"{root}/tool",
        f"{root}/floor",
    }


def test_what_pages_are_kept_does_not_grow_with_the_robots_seen(lab):
    def size() -> int:
        return len(lab._server.viser._websock_server._broadcast_buffer.message_from_id)

    robot = brazo.load("scara1")
    lab.set_robot(robot)
    lab.set_robot(robot)
    once = size()
    for _ in range(9):
        lab.set_robot(robot)
    assert size() == once


def test_link_frames_are_shown_on_demand_and_stay_for_the_next_robot(lab):
    lab.set_robot(brazo.load("scara1"))
    axes = lab._scene._axes
    assert len(axes) == len(lab.robot.body_names) and not any(a.visible for a in axes)
    assert all(solid.opacity is None for solid in lab._scene._solids)
    lab._do(lambda: lab._show_axes(True))
    assert all(a.visible for a in axes)
    assert all(solid.opacity < 0.5 for solid in lab._scene._solids)  # or they would hide them
    lab.set_robot(brazo.load("panda"))
    assert all(a.visible for a in lab._scene._axes)
    assert all(solid.opacity < 0.5 for solid in lab._scene._solids)
    lab._do(lambda: lab._show_axes(False))


@pytest.mark.parametrize("name", robot_names())
def test_nothing_starts_below_the_floor(lab, name):
    lab.set_robot(brazo.load(name))
    floor = lab._scene.floor_height
    low, high = lab._scene._bounds(lab._frames)
    size = np.linalg.norm(high - low)
    assert low[2] >= floor - 0.05 * size
    assert low[2] - floor < 0.15 * size


@pytest.mark.parametrize(
    ("size", "cell"), [(0.4, 0.02), (1.5, 0.1), (3.0, 0.2), (7.0, 0.5), (150.0, 10.0)]
)
def test_grid_cells_are_round_lengths(size, cell):
    assert grid_cell(size) == pytest.approx(cell)


def test_a_name_stays_one_node():
    assert node_name("arm/2 <b>") == "arm_2_b_"
    assert node_name("wrist-roll_1.a") == "wrist-roll_1.a"
