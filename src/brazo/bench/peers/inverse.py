"""Peers: other libraries that solve inverse kinematics, if they are installed.

EAIK and ssik get the axes of the arm in its zero configuration.  They define the tool orientation
in this configuration as the identity.  Target rotations are therefore multiplied from the right by
the inverse of brazo's tool rotation at q = 0.  Robotics Toolbox (its Levenberg–Marquardt solver in
C++, from random configurations) and Pinocchio (the damped iteration in its documentation, from the
zero configuration) find one solution.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from importlib.util import find_spec
from itertools import cycle
from typing import Any

import numpy as np

from brazo.bench.peers import NotAPeer, optional
from brazo.kinematics.chain import chain_of
from brazo.model.transforms import rpy_of
from brazo.robot import Robot, loads

__all__ = ["InversePeer", "ShippedSSIK", "inverse_peers", "missing"]

Array = np.ndarray


class InversePeer:
    """A library that solves inverse kinematics, with a model of one robot."""

    name: str
    every_branch = True

    def solve(self, T: Array) -> Array:
        """Return the solutions (B, n) for a tool pose T (4, 4).

        They are all solutions if `every_branch` is True, otherwise at most one.
        """
        raise NotImplementedError

    def caller(self, T: Array) -> Callable[[], Any]:
        """Return a function that solves the next of the poses T (N, 4, 4) in each call."""
        targets = cycle(T)
        return lambda: self.solve(next(targets))

    def batch(self, T: Array, threads: int) -> Callable[[], Any] | None:
        """Return a function that solves all poses T (N, 4, 4) with `threads` threads.

        Return None if the library has no function for batches.
        """
        return None


class _Axes(InversePeer):
    """Base class of libraries whose input is the axes at q = 0 and the vectors between them."""

    def __init__(self, arm: Robot) -> None:
        chain = chain_of(arm.model.require_tree())
        self.axes, points = chain.home_axes
        self.ways = np.diff(np.vstack([np.zeros(3), points, chain.home[:3, 3]]), axis=0)
        self.rest = chain.home[:3, :3].T
        self.limits = np.array(arm.limits)

    def turned(self, T: Array) -> Array:
        poses = np.array(T)
        poses[..., :3, :3] = T[..., :3, :3] @ self.rest
        return poses

    def caller(self, T: Array) -> Callable[[], Any]:
        targets = cycle(self.turned(T))
        return lambda: self.solutions(next(targets))

    def solve(self, T: Array) -> Array:
        return self.solutions(self.turned(T))

    def solutions(self, T: Array) -> Array:
        raise NotImplementedError


class EAIK(_Axes):
    name = "EAIK"

    def __init__(self, arm: Robot) -> None:
        super().__init__(arm)
        self.robot: Any = optional("eaik.IK_HP").HPRobot(self.axes, self.ways)
        if not self.robot.hasKnownDecomposition():
            raise NotAPeer("it has no solver for this arm")

    def solutions(self, T: Array) -> Array:
        found = self.robot.IK(T)
        return found.Q[~np.asarray(found.is_LS)]

    def caller(self, T: Array) -> Callable[[], Any]:
        targets, robot = cycle(self.turned(T)), self.robot
        return lambda: robot.IK(next(targets)).Q

    def batch(self, T: Array, threads: int) -> Callable[[], Any]:
        targets, robot = self.turned(T), self.robot
        return lambda: robot.IK_batched(targets, num_worker_threads=threads)


class SSIK(_Axes):
    name = "ssik"

    def __init__(self, arm: Robot) -> None:
        super().__init__(arm)
        self.robot: Any = optional("ssik").Manipulator.from_axes(self.axes, self.ways)

    def solutions(self, T: Array) -> Array:
        found = self.robot.solve(T, respect_limits=False, enumerate_windings=False)
        return np.array([one.q for one in found])


class ShippedSSIK(InversePeer):
    """An arm for which ssik includes a prepared solver, and the same arm in brazo without limits.

    For other arms without special geometry, ssik needs minutes to derive a solver.
    """

    name = "ssik"

    def __init__(self, key: str) -> None:
        self.robot: Any = optional("ssik").Manipulator.from_prebuilt(key)
        self.arm = loads(_urdf(key, self.robot.kinbody.joints), "urdf")

    def solve(self, T: Array) -> Array:
        found = self.robot.solve(T, respect_limits=False, enumerate_windings=False)
        return np.array([one.q for one in found])

    def disagreement(self, q: Array) -> float:
        """Return the largest difference between the tool poses of ssik and brazo at q (N, n).

        It is the max absolute difference of the elements of the matrices (4, 4).
        """
        theirs = np.array([self.robot.fk(row) for row in q])
        return float(np.abs(theirs - self.arm.fk(q)).max())


def _urdf(name: str, joints: Sequence[Any]) -> str:
    """Return the URDF of a serial chain, given by its revolute joints in ssik.

    A joint of ssik has the constant poses `T_left` before and `T_right` after its rotation.
    """
    text, before = [f'<robot name="{name}"><link name="link0"/>'], np.eye(4)
    for i, joint in enumerate(joints, 1):
        axis = f'<axis xyz="{_numbers(joint.axis)}"/>'
        text.append(_urdf_joint("continuous", i, before @ joint.T_left, axis))
        before = joint.T_right
    text.append(_urdf_joint("fixed", len(joints) + 1, before, ""))
    return "\n".join([*text, "</robot>"])


def _urdf_joint(kind: str, i: int, X: Array, axis: str) -> str:
    return (
        f'<link name="link{i}"/><joint name="joint{i}" type="{kind}"><parent link="link{i - 1}"/>'
        f'<child link="link{i}"/>{axis}'
        f'<origin xyz="{_numbers(X[:3, 3])}" rpy="{_numbers(rpy_of(X[:3, :3]))}"/></joint>'
    )


def _numbers(values: Iterable[float]) -> str:
    return " ".join(repr(float(x)) for x in values)


class ToolboxInverse(InversePeer):
    name = "Robotics Toolbox (one solution)"
    every_branch = False

    def __init__(self, arm: Robot) -> None:
        model = arm.model.require_tree()
        rtb: Any = optional("roboticstoolbox")
        sm: Any = optional("spatialmath")
        chain = chain_of(model)
        ets = rtb.ETS()
        for i, X in enumerate(chain.X):
            ets *= rtb.ET.SE3(sm.SE3(X, check=False))
            if i < chain.n:
                ets *= rtb.ET.Rz()
        self.ets = ets

    def solve(self, T: Array) -> Array:
        found = self.ets.ik_LM(T, joint_limits=False, tol=1e-12)
        return np.array([found.q]) if found.success else np.empty((0, self.ets.n))


class PinocchioInverse(InversePeer):
    name = "Pinocchio's loop (one solution)"
    every_branch = False

    def __init__(self, arm: Robot) -> None:
        peer: Any = optional("brazo.bench.peers.pinocchio_peer").Pinocchio(arm)
        self.pin, self.model, self.data, self.tool = peer.pin, peer.model, peer.data, peer.tool

    def solve(self, T: Array) -> Array:
        pin, model, data, tool = self.pin, self.model, self.data, self.tool
        target, q = pin.SE3(T), pin.neutral(self.model)
        for _ in range(1000):
            pin.forwardKinematics(model, data, q)
            gap = pin.updateFramePlacement(model, data, tool).actInv(target)
            error = pin.log(gap).vector
            if np.linalg.norm(error) < 1e-8:
                return q[None]
            J = -pin.Jlog6(gap.inverse()) @ pin.computeFrameJacobian(model, data, q, tool)
            step = -J.T @ np.linalg.solve(J @ J.T + 1e-12 * np.eye(6), error)
            q = pin.integrate(model, q, 0.3 * step)
        return np.empty((0, model.nq))


def inverse_peers(arm: Robot) -> tuple[list[InversePeer], list[str]]:
    """Return the installed peers, and a note for each one that cannot be used."""
    peers: list[InversePeer] = []
    notes: list[str] = []
    for module, package, maker in (
        ("eaik", "EAIK", EAIK),
        ("ssik", "ssik", SSIK),
        ("roboticstoolbox", "roboticstoolbox-python", ToolboxInverse),
        ("pinocchio", "pin", PinocchioInverse),
    ):
        if find_spec(module) is None:
            notes.append(missing(maker.name, package))
            continue
        try:
            peers.append(maker(arm))
        except NotAPeer as reason:
            notes.append(f"{maker.name}: {reason}")
    return peers, notes


def missing(name: str, package: str) -> str:
    """Return the note for a peer that is not installed."""
    return f"{name} is not installed (pip install {package})"
