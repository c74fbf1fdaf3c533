"""Compiled kinematics of one tree robot: kernels of FK, all frames and Jacobians.

Each kernel is the algorithm of `brazo.kinematics.forward`, evaluated on the expression graph with
the robot's parameters and compiled on first use.
"""

from __future__ import annotations

from functools import cached_property
from typing import Literal

from brazo.codegen import Graph, Kernel, compile_kernel
from brazo.kinematics.forward import (
    compose,
    constant,
    jacobian_rows,
    matrix,
    posture,
    rotate_back,
    tool_pose,
)
from brazo.model.description import TreeModel

JacobianFrame = Literal["base", "tool"]


class TreeKernels:
    """Kernels of one model."""

    def __init__(self, model: TreeModel) -> None:
        self.model = model
        self._jacobians: dict[tuple[str, str | None], Kernel] = {}
        self._named: dict[str, Kernel] = {}

    def _graph(self):
        graph = Graph()
        return graph, posture(self.model, graph.inputs("q", self.model.n))

    @cached_property
    def fk(self) -> Kernel:
        """q -> tool pose (4, 4)."""
        graph, where = self._graph()
        T = matrix(tool_pose(self.model, where))
        return compile_kernel("fk", graph, {"T": T}, {"T": (4, 4)})

    @cached_property
    def frames(self) -> Kernel:
        """q -> (bodies, 4, 4)."""
        graph, where = self._graph()
        entries = [entry for pose in where.bodies for entry in matrix(pose)]
        shape = (len(where.bodies), 4, 4)
        return compile_kernel("frames", graph, {"T": entries}, {"T": shape})

    def named_frame(self, body: int, T, key: str) -> Kernel:
        """q -> pose (4, 4) of a frame fixed in a body."""
        if key not in self._named:
            graph, where = self._graph()
            entries = matrix(compose(where.bodies[body], constant(T)))
            self._named[key] = compile_kernel("frame", graph, {"T": entries}, {"T": (4, 4)})
        return self._named[key]

    def jacobian(self, frame: JacobianFrame, body: int, T, key: str | None) -> Kernel:
        """q -> (6, n): of the frame T fixed in a body, in base axes or in its own."""
        if (frame, key) not in self._jacobians:
            graph, where = self._graph()
            R, point = compose(where.bodies[body], constant(T))
            rows = jacobian_rows(self.model, where, body, point)
            if frame == "tool":
                columns = [
                    rotate_back(R, list(column[:3])) + rotate_back(R, list(column[3:]))
                    for column in zip(*rows, strict=True)
                ]
                rows = [list(row) for row in zip(*columns, strict=True)]
            entries = [entry for row in rows for entry in row]
            self._jacobians[frame, key] = compile_kernel(
                "jacobian", graph, {"J": entries}, {"J": (6, self.model.n)}
            )
        return self._jacobians[frame, key]
