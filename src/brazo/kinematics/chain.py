"""A serial arm in a canonical form, used by closed-form inverse kinematics.

    T_base_tool(q) = X₀ · S₁(q₁) · X₁ · S₂(q₂) · … · Sₙ(qₙ) · Xₙ

Sᵢ is a rotation about z (revolute) or a translation along z (prismatic) by qᵢ. The Xᵢ are constant.
Joints with any axis, offset and convention are converted to this form by rotating their axis to z.
*Frame i* is the frame after Sᵢ. Its z axis is the axis of joint i.

The forward kinematics in this module use NumPy with leading batch dimensions, to check and refine
solutions. The compiled forward kinematics are in `brazo.kinematics.kernels`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from brazo.errors import BrazoError
from brazo.model.description import JointKind, TreeModel, frozen
from brazo.model.transforms import align_z, invert, rot_z, translate

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Chain:
    """A serial arm: the kind of each joint and the constant transforms X."""

    kinds: tuple[JointKind, ...]
    X: Array  # (n + 1, 4, 4)
    coordinates: tuple[int, ...] = ()  # index of each joint's value in the model's q

    @property
    def n(self) -> int:
        return len(self.kinds)

    @cached_property
    def revolute(self) -> Array:
        """Boolean array (n,), True for revolute joints."""
        return np.array([kind == "revolute" for kind in self.kinds])

    @cached_property
    def size(self) -> float:
        """Characteristic length of the arm (m); length tolerances are relative to it.

        It is the sum of the lengths of the constant translations between joints (X₁ to Xₙ₋₁). If
        this sum is 0, X₀ and Xₙ are included. If the sum is still 0, the size is 1.
        """
        inner = np.linalg.norm(self.X[1:-1, :3, 3], axis=1).sum()
        return float(inner or np.linalg.norm(self.X[:, :3, 3], axis=1).sum() or 1.0)

    @cached_property
    def home(self) -> Array:
        """Pose (4, 4) of the tool in the base frame at q = 0."""
        return self.fk(np.zeros(self.n))

    @cached_property
    def home_axes(self) -> tuple[Array, Array]:
        """Joint axes at q = 0 in the base frame: directions and a point on each, both (n, 3)."""
        frames = self.frames(np.zeros(self.n))
        return frames[:, :3, 2], frames[:, :3, 3]

    def fk(self, q: ArrayLike) -> Array:
        """Pose of the tool in the base frame: (..., n) -> (..., 4, 4)."""
        q = np.asarray(q, dtype=float)
        A = _affine(self.X[0], q.shape[:-1])
        for i in range(self.n):
            A = _constant(_moved(A, self.kinds[i], q[..., i]), self.X[i + 1])
        return _square(A)

    def frames(self, q: ArrayLike) -> Array:
        """Poses of frames 1 to n in the base frame: (..., n) -> (..., n, 4, 4)."""
        return self.frames_and_tool(q)[0]

    def frames_and_tool(self, q: ArrayLike) -> tuple[Array, Array]:
        """Return `frames(q)` and `fk(q)`, computed in one pass."""
        q = np.asarray(q, dtype=float)
        A = _affine(self.X[0], q.shape[:-1])
        frames = np.empty((*q.shape, 4, 4))
        for i in range(self.n):
            A = _moved(A, self.kinds[i], q[..., i])
            frames[..., i, :, :] = _square(A)
            A = _constant(A, self.X[i + 1])
        return frames, _square(A)

    def jacobian(self, q: ArrayLike) -> Array:
        """Jacobian of the tool in the base frame, linear rows first: (..., n) -> (..., 6, n)."""
        frames, T = self.frames_and_tool(q)
        z, origin = frames[..., :3, 2], frames[..., :3, 3]
        arm = np.cross(z, T[..., None, :3, 3] - origin)
        turning = self.revolute[:, None]
        columns = np.concatenate([np.where(turning, arm, z), np.where(turning, z, 0.0)], axis=-1)
        return np.swapaxes(columns, -1, -2)


def chain_of(model: TreeModel) -> Chain:
    """Return the serial chain of joints from a model's base to its tool.

    Other joints, e.g. those of fingers, are excluded. `Chain.coordinates` are the indices of
    the chain's joints in the model's q.
    """
    path = []
    body = model.tip
    while body > 0:
        path.append(model.bodies[body])
        body = model.bodies[body].parent
    kinds: list[JointKind] = []
    X = [np.eye(4)]
    coordinates = []
    for body in reversed(path):
        joint = body.joint
        if joint is None:
            raise BrazoError(
                f"{model.name}: body '{body.name}' has no joint; closed-form inverse kinematics "
                "require a joint for every body between base and tool"
            )
        if joint.multiplier != 1.0 or joint.coordinate in coordinates:
            raise BrazoError(
                f"{model.name}: joint '{joint.name}' mimics another joint; closed-form inverse "
                "kinematics require independent joints between base and tool"
            )
        turn = align_z(joint.axis)
        shift = rot_z(joint.offset) if joint.kind == "revolute" else translate(z=joint.offset)
        X[-1] = X[-1] @ joint.before @ turn
        X.append(shift @ invert(turn) @ joint.after)
        kinds.append(joint.kind)
        coordinates.append(joint.coordinate)
    X[-1] = X[-1] @ model.tool
    return Chain(tuple(kinds), frozen(X), tuple(coordinates))


# Poses are stored as their upper three rows (..., 3, 4): a product with a constant is one matrix
# product for the whole batch, and a rotation about z changes two columns.


def _affine(X: Array, batch: tuple[int, ...]) -> Array:
    return np.broadcast_to(X[:3], (*batch, 3, 4))


def _moved(A: Array, kind: JointKind, q: Array) -> Array:
    moved = np.array(A)
    q = q[..., None]
    x, y, z = A[..., 0], A[..., 1], A[..., 2]
    if kind == "revolute":
        s, c = np.sin(q), np.cos(q)
        moved[..., 0] = c * x + s * y
        moved[..., 1] = c * y - s * x
    else:
        moved[..., 3] += q * z
    return moved


def _constant(A: Array, X: Array) -> Array:
    return (A.reshape(-1, 4) @ X).reshape(A.shape)


def _square(A: Array) -> Array:
    T = np.zeros((*A.shape[:-2], 4, 4))
    T[..., :3, :] = A
    T[..., 3, 3] = 1.0
    return T
