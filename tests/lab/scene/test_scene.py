"""What is sent to be drawn."""

from __future__ import annotations

import numpy as np
import pytest

import brazo
from brazo.body.solids import mesh
from brazo.formats.library import robot_names
from brazo.lab.app import opening
from brazo.lab.scene import scene
from brazo.lab.scene.scene import node_name
from brazo.lab.server import hooks
from brazo.video.extent import grid_cell


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


def show(lab, source) -> None:
    lab.open(source)
    lab.sim.player.pause()


@pytest.mark.parametrize("name", robot_names())
def test_every_part_of_every_robot_is_drawn_below_its_body(lab, name):
    show(lab, f"robot:{name}")
    nodes = kept(lab, f"{lab.scene.root}/")
    total = 0
    for path, one in zip(lab.scene.names, lab.sim.world.drawn, strict=True):
        meshes = [
            message
            for node, messages in nodes.items()
            for message in messages
            if node.startswith(f"{path}/")
            and node.count("/") == 3  # deeper are the rods of its frame
            and type(message).__name__ == "MeshMessage"
        ]
        assert len(meshes) == len(one.parts)
        total += len(meshes)
        for solid in meshes:
            assert np.isfinite(solid.props.vertices).all() and len(solid.props.faces) > 0
            assert solid.props.faces.max() < len(solid.props.vertices)
    assert total == sum(map(len, brazo.load(name).parts)) == lab.channel.get("view/parts")


def sent_position(lab, node):
    return [m.position for m in kept(lab, node)[node] if hasattr(m, "position")][-1]


def test_bodies_are_drawn_at_their_kinematic_poses(lab):
    show(lab, "robot:panda")
    arm = brazo.load("panda")
    q = arm.random_q(seed=1)
    lab.set_q(q)
    lab.do(lab.display.frame)
    frames = arm.frames(q)
    for i, T in zip(lab.sim.world.robots["panda"].drawn, frames, strict=True):
        assert sent_position(lab, lab.scene.names[i]) == pytest.approx(T[:3, 3], abs=1e-14)


def test_every_body_of_a_cell_is_drawn_where_the_world_has_it(lab):
    show(lab, "cooperative")
    lab.sim.step(50)
    lab.do(lab.display.frame)
    poses = lab.sim.world.poses()
    for name, T in zip(lab.scene.names, poses, strict=True):
        assert sent_position(lab, name) == pytest.approx(T[:3, 3], abs=scene.STILL)
    ground = [n.split("/")[2] for n in lab.scene.names if n.split("/")[2].startswith("s")]
    assert ground == ["s0-platform"]


def test_only_bodies_that_moved_are_sent(lab, moved):
    show(lab, "robot:panda")
    lab.do(lab.display.frame)
    moved.clear()
    q = lab.robot.q
    lab.set_q(q)
    lab.do(lab.display.frame)
    assert moved == []
    q[6] += 0.1  # the last joint turns the last body and what it carries
    lab.set_q(q)
    lab.do(lab.display.frame)
    names = {name.rpartition("/")[2].partition("-")[2] for names in moved for name in names}
    last = lab.robot.arm.body_names[-1]
    assert names == {node_name(f"panda/{n}") for n in (last, "finger left", "finger right")}


def test_at_rest_nothing_is_sent_while_time_passes(lab, moved):
    show(lab, "cooperative")
    lab.sim.step(1000)  # bars settle
    lab.do(lab.display.frame)
    moved.clear()
    lab.sim.step(200)
    lab.do(lab.display.frame)
    assert moved == []


def test_opening_another_cell_removes_all_nodes_of_the_first(lab):
    show(lab, "robot:panda")
    show(lab, "robot:scara1")
    root = lab.scene.root
    live = {n for n in lab._server.viser.scene._handle_from_node_name if n.startswith("/cell")}
    below = {"/".join(n.split("/")[:3]) for n in live}
    assert below - {f"{root}/contacts"} == {*lab.scene.names, root, f"{root}/floor"}


def test_stored_messages_do_not_grow_with_opened_cells(lab):
    def size() -> int:
        return len(lab._server.viser._websock_server._broadcast_buffer.message_from_id)

    for _ in range(2):
        show(lab, "robot:scara1")
    once = size()
    for _ in range(9):
        show(lab, "robot:scara1")
    assert size() == once


@pytest.mark.parametrize("name", robot_names())
def test_nothing_starts_below_the_floor(name):
    cell = opening.lone_robot(name)
    arm = brazo.load(name)
    points = []
    for T, parts in zip(arm.frames(cell.robots[0].start), arm.parts, strict=True):
        for part in parts:
            T_part = T @ part.pose
            points.append(mesh(part.shape).vertices @ T_part[:3, :3].T + T_part[:3, 3])
    cloud = np.concatenate(points)
    size = np.linalg.norm(np.ptp(cloud, axis=0))
    low = cloud[:, 2].min()
    assert low >= cell.floor.height - 0.05 * size
    assert low - cell.floor.height < 0.15 * size


@pytest.mark.parametrize(
    ("size", "cell"), [(0.4, 0.02), (1.5, 0.1), (3.0, 0.2), (7.0, 0.5), (150.0, 10.0)]
)
def test_grid_cells_are_round_lengths(size, cell):
    assert grid_cell(size) == pytest.approx(cell)


def test_every_name_maps_to_one_node():
    assert node_name("arm/2 <b>") == "arm_2_b_"
    assert node_name("wrist-roll_1.a") == "wrist-roll_1.a"


def test_poses_are_read_with_the_lock_held(running, monkeypatch):
    """A program's step and the lab share one workspace for poses: only one may use it at a time."""
    with running("cooperative") as lab:
        snapshot = lab.sim.world.compiled.body_poses
        now, held = type(snapshot).now, []

        def asked(self, data):
            held.append(lab.sim.lock.inner._is_owned())
            return now(self, data)

        monkeypatch.setattr(type(snapshot), "now", asked)
        lab.do(lab.session.edited)
        lab.do(lambda: lab.panels["pendant"]._show_gizmo())
        lab.do(lambda: lab.session.select("scara2", 1))
        gizmo = lab.panels["pendant"]._gizmo
        lab.do(lambda: gizmo.show(lab.robot))
        lab.do(gizmo.resend)
        lab.do(lab.display.frame)
        assert len(held) > 4 and all(held)
