"""Pinocchio (C++) as a peer: single calls from Python, and its parallel functions for batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from brazo.bench.arms import States
from brazo.bench.peers import Peer, TimedCall, optional
from brazo.model.description import Joint, TreeModel
from brazo.robot import Robot


class Pinocchio(Peer):
    """Pinocchio with a model of one robot.

    Joints along x, y or z use the specialised joint types, which are faster.
    """

    name = "Pinocchio"

    def __init__(self, arm: Robot) -> None:
        self.pin: Any = optional("pinocchio")
        model = arm.model.require_tree()
        self.model, self.tool = self._build(model)
        self.data = self.model.createData()

    def single(self, arm: Robot, at: States) -> dict[str, TimedCall]:
        pin, m, d, tool = self.pin, self.model, self.data, self.tool
        q, qd, qdd, tau = (x[0].copy() for x in (at.q, at.qd, at.qdd, at.tau))
        frame = pin.LOCAL_WORLD_ALIGNED

        def placed() -> Any:
            pin.forwardKinematics(m, d, q)
            return pin.updateFramePlacement(m, d, tool)  # the tool's pose, as an SE3

        def mass_matrix() -> np.ndarray:
            M = pin.crba(m, d, q)
            return np.triu(M) + np.triu(M, 1).T

        return {
            "inverse_dynamics": _returned(lambda: pin.rnea(m, d, q, qd, qdd)),
            "fk": TimedCall(placed, lambda: placed().homogeneous),
            "jacobian": _returned(lambda: pin.computeFrameJacobian(m, d, q, tool, frame)),
            "mass_matrix": TimedCall(lambda: pin.crba(m, d, q), mass_matrix),
            "forward_dynamics": _returned(lambda: pin.aba(m, d, q, qd, tau)),
        }

    def batch(self, arm: Robot, at: States, threads: int) -> dict[str, TimedCall]:
        pin = self.pin
        pool = pin.ModelPool(self.model, threads)
        # Pinocchio's layout: one column per state.
        q, qd, qdd, tau = (np.asfortranarray(x.T) for x in (at.q, at.qd, at.qdd, at.tau))
        out = np.empty(q.shape, order="F")

        def filled(call: Callable[[], Any]) -> TimedCall:
            def numbers() -> np.ndarray:
                call()
                return out.T.copy()

            return TimedCall(call, numbers)

        return {
            "inverse_dynamics": filled(lambda: pin.rneaInParallel(threads, pool, q, qd, qdd, out)),
            "forward_dynamics": filled(lambda: pin.abaInParallel(threads, pool, q, qd, tau, out)),
        }

    def derivatives(self, arm: Robot, at: States) -> dict[str, tuple[TimedCall, TimedCall]]:
        pin, m, d = self.pin, self.model, self.data

        def both(function: Callable[..., Any], last: np.ndarray) -> tuple[TimedCall, TimedCall]:
            rows = list(zip(at.q, at.qd, last, strict=True))
            q, qd, x = (a.copy() for a in rows[0])

            # The results are views of Pinocchio's own arrays, overwritten by the next call.
            def looped() -> None:
                for row in rows:
                    function(m, d, *row)

            def answers() -> np.ndarray:
                return np.stack([_whole(function(m, d, *row)) for row in rows], axis=1)

            one = TimedCall(
                lambda: function(m, d, q, qd, x), lambda: _whole(function(m, d, q, qd, x))
            )
            return one, TimedCall(looped, answers)

        return {
            "inverse_dynamics_derivatives": both(pin.computeRNEADerivatives, at.qdd),
            "forward_dynamics_derivatives": both(pin.computeABADerivatives, at.tau),
        }

    def _build(self, model: TreeModel) -> tuple[Any, int]:
        pin = self.pin
        robot = pin.Model()
        robot.gravity.linear = np.array(model.gravity)
        ids, after = [0], [np.eye(4)]
        for body in model.bodies[1:]:
            joint = body.joint
            assert joint is not None and body.inertia is not None
            place = self._se3(after[body.parent] @ joint.before)
            index = robot.addJoint(ids[body.parent], self._joint(joint), place, joint.name)
            inertia = pin.Inertia(body.inertia.mass, body.inertia.com, body.inertia.tensor)
            robot.appendBodyToJoint(index, inertia, self._se3(joint.after))
            ids.append(index)
            after.append(np.array(joint.after))
        tip = ids[model.tip]
        place = self._se3(after[model.tip] @ model.tool)
        frame = pin.Frame("tool", tip, 0, place, pin.FrameType.OP_FRAME)
        return robot, robot.addFrame(frame)

    def _joint(self, joint: Joint) -> Any:
        letter = {"revolute": "R", "prismatic": "P"}[joint.kind]
        for axis, unit in zip("XYZ", np.eye(3), strict=True):
            if np.array_equal(joint.axis, unit):
                return getattr(self.pin, f"JointModel{letter}{axis}")()
        kind = {"R": "Revolute", "P": "Prismatic"}[letter]
        return getattr(self.pin, f"JointModel{kind}Unaligned")(*joint.axis)

    def _se3(self, T: np.ndarray) -> Any:
        return self.pin.SE3(np.array(T[:3, :3]), np.array(T[:3, 3]))


def _whole(matrices: Any) -> np.ndarray:
    """Return the three derivative matrices of a Pinocchio call as one array (3, n, n).

    The last matrix is symmetric, and Pinocchio fills only its upper triangle.  Its lower triangle
    is filled here.
    """
    a, b, c = (np.array(x) for x in matrices)
    return np.array([a, b, np.triu(c) + np.triu(c, 1).T])


def _returned(call: Any) -> TimedCall:
    return TimedCall(call, lambda: np.array(call()))
