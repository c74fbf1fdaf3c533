"""What a robot touches, as one wrench, against the engine's contacts one by one."""

import numpy as np
import pytest

from brazo.errors import BrazoError
from brazo.teleop.bilateral.tool_port import ToolPort
from brazo.teleop.follow.touch import Touch
from brazo.world import World


@pytest.fixture(scope="module")
def pressed():
    """The follower leans on the block, off its middle."""
    world = World("teleop-wall")
    ports = {name: ToolPort(world, name) for name in world.robots}
    for name, port in ports.items():
        port.push(np.zeros(3))
        assert not Touch(world, name).wrench().any()
    for _ in range(1500):
        x, v = ports["follower"].state()
        ports["follower"].push(np.array([300 * (0.03 - x[0]), -300 * x[1], -12.0]) - 20.0 * v)
        ports["master"].push(np.zeros(3))
        world.step()
    return world


def test_the_wrench_is_the_sum_over_the_contacts(pressed):
    robot = pressed.robots["follower"]
    R, tool = robot.base[:3, :3], robot.tool()[:3, 3]
    force, moment = np.zeros(3), np.zeros(3)
    for contact in pressed.contacts():
        assert contact.first.startswith("follower/") and contact.second == "wall"
        force -= contact.force
        moment -= np.cross(contact.point - tool, contact.force)
    wrench = Touch(pressed, "follower").wrench()
    assert wrench[:3] == pytest.approx(R.T @ force, abs=1e-12)
    assert wrench[3:] == pytest.approx(R.T @ moment, abs=1e-12)
    assert Touch(pressed, "follower").force() == pytest.approx(wrench[:3], abs=1e-12)
    # It rests: the block bears what the drives push with.
    assert wrench[2] == pytest.approx(12.0, rel=0.05)
    assert np.linalg.norm(wrench[3:]) > 0.0


def test_wrench_is_zero_without_contact(pressed):
    assert not Touch(pressed, "master").wrench().any()
    with pytest.raises(BrazoError, match="robots: master, follower"):
        Touch(pressed, "nobody")
