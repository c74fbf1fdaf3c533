"""The kinematics of a tree robot: compiled forward maps and inverse kinematics behind one face.

`DeltaKinematics` has the same face, so the layers above do not ask which kind a robot is.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from brazo.codegen import Kernel
from brazo.errors import BrazoError
from brazo.kinematics.kernels import JacobianFrame, TreeKernels
from brazo.model.description import IDENTITY, Part, TreeModel


class TreeKinematics:
    """Forward maps of a `TreeModel`; every q is (..., n), rad and m."""

    def __init__(self, model: TreeModel) -> None:
        self.model = model
        self.kernels = TreeKernels(model)
        joints = model.coordinates
        self.n = model.n
        self.joint_names = tuple(joint.name for joint in joints)
        self.joint_kinds = tuple(joint.kind for joint in joints)
        self.limits = np.array([joint.limits for joint in joints], dtype=float).reshape(-1, 2)
        self.body_names = tuple(body.name for body in model.bodies)
        self.parts: tuple[tuple[Part, ...], ...] = tuple(body.parts for body in model.bodies)

    @property
    def fk(self) -> Kernel:
        return self.kernels.fk

    @property
    def frames(self) -> Kernel:
        return self.kernels.frames

    def frame(self, q, link: str) -> np.ndarray:
        """Pose (..., 4, 4) of a named body or link in the base frame."""
        body, T = self.locate(link)
        return self.kernels.named_frame(body, T, link)(q)

    def jacobian(
        self, q, frame: JacobianFrame = "base", link: str | None = None, out=None
    ) -> np.ndarray:
        """Geometric Jacobian (..., 6, n) of the tool, or of a named link's frame."""
        if frame not in ("base", "tool"):
            raise BrazoError(f"frame '{frame}' is not one of base, tool")
        body, T = (self.model.tip, self.model.tool) if link is None else self.locate(link)
        return self.kernels.jacobian(frame, body, T, link)(q, out=out)

    def locate(self, link: str) -> tuple[int, np.ndarray]:
        """The body a named link is part of, and its pose there."""
        if link in self.model.named_frames:
            return self.model.named_frames[link]
        if link in self.body_names:
            return self.body_names.index(link), IDENTITY
        known = ", ".join(dict.fromkeys([*self.body_names, *self.model.named_frames]))
        raise BrazoError(f"no link named '{link}'; links: {known}")

    @cached_property
    def mobility(self) -> int:
        """Degrees of freedom of the tool: the Jacobian's rank almost everywhere."""
        rng = np.random.default_rng(0)
        q = rng.uniform(*sampling_box(self.limits, self.joint_kinds).T, (20, self.n))
        J = self.jacobian(q)
        scale = max(float(np.abs(J[:, :3]).max()), 1e-12)
        J[:, :3] /= scale
        return int(np.max(np.linalg.matrix_rank(J, tol=1e-8)))


def sampling_box(limits: np.ndarray, kinds: tuple[str, ...]) -> np.ndarray:
    """Finite bounds to draw random configurations from: ±180° or ±1 m where there is no limit."""
    half = np.array([np.pi if kind == "revolute" else 1.0 for kind in kinds])
    box = np.array(limits, dtype=float)
    low, high = box[:, 0], box[:, 1]
    no_low, no_high = ~np.isfinite(low), ~np.isfinite(high)
    box[:, 0] = np.where(no_low, np.where(no_high, -half, high - 2 * half), low)
    box[:, 1] = np.where(no_high, np.where(no_low, half, low + 2 * half), high)
    return box
