"""Robots for the controller tests; loaded once."""

from __future__ import annotations

import pytest

import brazo

WHEEL = """\
name: wheel
about: One joint about the vertical, a pure inertia.
joints:
  - {name: hub, mass: 2, inertia: [0.1, 0.1, 0.5], drive: {max_torque: 5}}
"""


@pytest.fixture(scope="session")
def puma() -> brazo.Robot:
    return brazo.load("puma560")


@pytest.fixture(scope="session")
def scara() -> brazo.Robot:
    return brazo.load("scara2")


@pytest.fixture(scope="session")
def wheel(tmp_path_factory) -> brazo.Robot:
    path = tmp_path_factory.mktemp("robots") / "wheel.yaml"
    path.write_text(WHEEL, encoding="utf-8")
    return brazo.load(path)


@pytest.fixture(scope="session", params=["puma560", "scara2", "panda", "delta", "puma560-drives"])
def any_robot(request) -> brazo.Robot:
    """Six, five and seven joints, a closed chain, and one with friction and motors."""
    return brazo.load(request.param)
