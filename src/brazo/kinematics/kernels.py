"""Compiled kinematics of one tree robot: kernels for FK, frames of all bodies, and Jacobians.

The functions of `brazo.kinematics.forward` are evaluated with symbolic joint values and the robot's
parameters. The resulting expression graph is compiled when the kernel is first used.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Literal

import numpy as np

from brazo.codegen import Graph, Kernel, compile_kernel
from brazo.kinematics.forward import (
    compose,
    constant,
    cross,
    jacobian_rate_rows,
    jacobian_rows,
    matrix,
    posture,
    rotate_back,
    selected_rows,
    subtract,
    tool_pose,
)
from brazo.model.description import TreeModel

JacobianFrame = Literal["base", "tool"]
MOST_UNROLLED = 24  # bodies; a loop compiles faster for more, and runs at 0.8 of the speed


class TreeKernels:
    """Compiled kinematics of one model; each kernel is compiled on first use."""

    def __init__(self, model: TreeModel) -> None:
        self.model = model
        self._jacobians: dict[str, Kernel] = {}
        self._jacobian_rates: dict[tuple[str, str | None], Kernel] = {}

    def _graph(self):
        graph = Graph()
        q = graph.inputs("q", self.model.n)
        if len(self.model.bodies) <= MOST_UNROLLED:
            return graph, posture(self.model, q)
        from brazo.kinematics.looped import looped_posture

        return graph, looped_posture(self.model, q)

    @cached_property
    def fk(self) -> Kernel:
        """Kernel q -> pose (4, 4) of the tool in the base frame."""
        graph, where = self._graph()
        T = matrix(tool_pose(self.model, where))
        return compile_kernel("fk", graph, {"T": T}, {"T": (4, 4)})

    @cached_property
    def frames(self) -> Kernel:
        """Kernel q -> poses (bodies, 4, 4) of all bodies in the base frame."""
        graph, where = self._graph()
        entries = [entry for pose in where.bodies for entry in matrix(pose)]
        shape = (len(where.bodies), 4, 4)
        return compile_kernel("frames", graph, {"T": entries}, {"T": shape})

    @cached_property
    def tool_jacobian(self) -> Kernel:
        """Kernel q -> Jacobian (6, n) of the tool in the base frame."""
        graph, where = self._graph()
        _, point = tool_pose(self.model, where)
        return self._compiled(graph, jacobian_rows(self.model, where, self.model.tip, point))

    def link_jacobian(self, frame: JacobianFrame) -> Kernel:
        """Return the kernel (q, *`selection`) -> Jacobian (6, n) of a frame fixed in a body.

        If `frame` is "base", the Jacobian is expressed in the base frame; if it is "tool", in the
        frame fixed in the body. The body and the pose of the frame in the body are inputs of the
        kernel, so one kernel serves all links.
        """
        if frame not in self._jacobians:
            graph, where = self._graph()
            body = graph.inputs("body", len(where.bodies))
            T = graph.inputs("T", 12)
            moved_by = graph.inputs("moved_by", len(where.axes))
            weighted = [
                [w * x for x in (*R, *p)] for w, (R, p) in zip(body, where.bodies, strict=True)
            ]
            chosen = [sum(column[1:], column[0]) for column in zip(*weighted, strict=True)]
            R, point = compose((chosen[:9], chosen[9:]), (T[:9], T[9:]))
            rows = selected_rows(self.model, where, moved_by, point)
            if frame == "tool":
                rows = _in_axes(R, rows)
            self._jacobians[frame] = self._compiled(graph, rows)
        return self._jacobians[frame]

    def selection(self, body: int, T: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the inputs of `link_jacobian` for the frame T (4, 4) fixed in a body.

        They are the body (one-hot), the rotation and position of T (12,), and an array with one
        entry per joint: 1 if the joint moves the body, otherwise 0.
        """
        bodies = self.model.bodies
        chosen, moved_by = np.zeros(len(bodies)), np.zeros(len(bodies) - 1)
        chosen[body] = 1.0
        while body > 0:
            moved_by[body - 1] = 1.0
            body = bodies[body].parent
        return chosen, np.concatenate([T[:3, :3].ravel(), T[:3, 3]]), moved_by

    def jacobian_dot(self, frame: JacobianFrame, body: int, T, key: str | None) -> Kernel:
        """Return the kernel (q, qd) -> time derivative (6, n) of the Jacobian of a frame in a body.

        T (4, 4) is the pose of the frame in the body. `frame` is explained in `link_jacobian`.
        Kernels are cached by `frame` and `key`, so `key` must identify `body` and T.
        """
        if (frame, key) not in self._jacobian_rates:
            graph, where = self._graph()
            qd = graph.inputs("qd", self.model.n)
            R, point = compose(where.bodies[body], constant(T))
            rows, omega = jacobian_rate_rows(self.model, where, body, point, qd)
            if frame == "tool":
                # d/dt (Rᵀ J) = Rᵀ (J̇ − ω×J)
                columns = []
                J = jacobian_rows(self.model, where, body, point)
                for own, rate in zip(zip(*J, strict=True), zip(*rows, strict=True), strict=True):
                    turned = cross(omega, list(own[:3])) + cross(omega, list(own[3:]))
                    columns.append(subtract(list(rate), turned))
                rows = _in_axes(R, [list(row) for row in zip(*columns, strict=True)])
            entries = [entry for row in rows for entry in row]
            self._jacobian_rates[frame, key] = compile_kernel(
                "jacobian_dot", graph, {"J": entries}, {"J": (6, self.model.n)}
            )
        return self._jacobian_rates[frame, key]

    def _compiled(self, graph: Graph, rows: list[list[Any]]) -> Kernel:
        entries = [entry for row in rows for entry in row]
        return compile_kernel("jacobian", graph, {"J": entries}, {"J": (6, self.model.n)})


def _in_axes(R: list[Any], rows: list[list[Any]]) -> list[list[Any]]:
    """Transform a Jacobian from the base frame to a frame with rotation R in the base frame."""
    columns = [
        rotate_back(R, list(column[:3])) + rotate_back(R, list(column[3:]))
        for column in zip(*rows, strict=True)
    ]
    return [list(row) for row in zip(*columns, strict=True)]
