"""Kinematics of a tree robot: compiled forward kinematics, Jacobians and inverse kinematics.

`DeltaKinematics` has the same interface.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from brazo.arrays import float_array
from brazo.codegen import Kernel
from brazo.errors import BrazoError
from brazo.kinematics.kernels import JacobianFrame, TreeKernels
from brazo.kinematics.measures import ROWS
from brazo.kinematics.sampling import sampling_box
from brazo.model.description import IDENTITY, JointKind, Part, TreeModel, frozen

if TYPE_CHECKING:
    from brazo.kinematics.branches import CompiledBranches
    from brazo.kinematics.closed_form import ClosedForm
    from brazo.kinematics.numeric import NumericIK
    from brazo.kinematics.redundant import Redundancy
    from brazo.kinematics.result import IKBatch, IKResult

# Inverse kinematics is imported on first use, for a faster start.


def coordinate_limits(model: TreeModel) -> np.ndarray:
    """Return the limits (n, 2) of the joint coordinates, narrowed by those of mimic joints."""
    box = np.tile([-np.inf, np.inf], (model.n, 1))
    for joint in model.joints:
        low, high = joint.limits
        if joint.multiplier == 0.0:
            continue
        ends = sorted((end - joint.offset) / joint.multiplier for end in (low, high))
        own = box[joint.coordinate]
        own[:] = max(own[0], ends[0]), min(own[1], ends[1])
    for i, (low, high) in enumerate(box):
        if low > high:
            name = model.coordinates[i].name
            unit = "rad" if model.coordinates[i].kind == "revolute" else "m"
            raise BrazoError(
                f"{model.path or model.name}: joint '{name}' and the joints that mimic it have no "
                f"common range: min {low:g} {unit} is above max {high:g} {unit}"
            )
    return box


class TreeKinematics:
    """Forward and inverse kinematics of a `TreeModel`; every q is (..., n) in rad or m."""

    def __init__(self, model: TreeModel) -> None:
        self.model = model
        self.kernels = TreeKernels(model)
        self._selections: dict[str | None, tuple[np.ndarray, ...]] = {}  # by link; None: the tool
        joints = model.coordinates
        self.n = model.n
        self.joint_names = tuple(joint.name for joint in joints)
        self.joint_kinds: tuple[JointKind, ...] = tuple(joint.kind for joint in joints)
        self.limits = frozen(coordinate_limits(model))
        self.body_names = tuple(body.name for body in model.bodies)
        self.body_parents = tuple(body.parent for body in model.bodies)
        self.link_names = tuple(dict.fromkeys([*self.body_names, *model.named_frames]))
        self.parts: tuple[Sequence[Part], ...] = tuple(body.parts for body in model.bodies)
        self.sampling_box = sampling_box(self.limits, self.joint_kinds)
        self.has_dynamics = not model.missing_inertia

    @property
    def fk(self) -> Kernel:
        return self.kernels.fk

    @property
    def frames(self) -> Kernel:
        return self.kernels.frames

    def has_pose(self, q) -> np.ndarray:
        """Boolean array (...), all True: a tree robot has a tool pose at every q (..., n)."""
        return np.ones(np.shape(q)[:-1], dtype=bool)

    def frame(self, q, link: str) -> np.ndarray:
        """Pose (..., 4, 4) of a named body or link in the base frame."""
        body, T = self.locate(link)
        found = self.frames(q)[..., body, :, :]
        return found.copy() if T is IDENTITY else found @ T

    @cached_property
    def jacobian(self) -> Callable[..., np.ndarray]:
        """Function `jacobian(q, frame="base", link=None, out=None, threads=None)`; see `_jacobian`.

        Calls with only q run machine code directly.
        """
        return self.kernels.tool_jacobian.entry_or(self._jacobian)

    def _jacobian(
        self, q, frame: JacobianFrame = "base", link: str | None = None, out=None, threads=None
    ) -> np.ndarray:
        """Geometric Jacobian (..., 6, n) of the tool, or of the link named `link`.

        The Jacobian is in base axes if `frame` is "base", and in the axes of the tool (or link) if
        `frame` is "tool".
        """
        if frame not in ("base", "tool"):
            raise BrazoError(f"frame is '{frame}'; expected 'base' or 'tool'")
        if frame == "base" and link is None:
            return self.kernels.tool_jacobian(q, out=out, threads=threads)
        if link not in self._selections:
            body, T = (self.model.tip, self.model.tool) if link is None else self.locate(link)
            self._selections[link] = self.kernels.selection(body, T)
        kernel = self.kernels.link_jacobian(frame)
        return kernel(q, *self._selections[link], out=out, threads=threads)

    @cached_property
    def jacobian_dot(self) -> Callable[..., np.ndarray]:
        """Function `jacobian_dot(q, qd, frame="base", link=None, out=None, threads=None)`.

        It returns the time derivative of the Jacobian, dJ/dt (..., 6, n).
        """
        kernel = self.kernels.jacobian_dot("base", self.model.tip, self.model.tool, None)
        return kernel.entry_or(self._jacobian_dot)

    def _jacobian_dot(
        self, q, qd, frame: JacobianFrame = "base", link: str | None = None, out=None, threads=None
    ) -> np.ndarray:
        if frame not in ("base", "tool"):
            raise BrazoError(f"frame is '{frame}'; expected 'base' or 'tool'")
        body, T = (self.model.tip, self.model.tool) if link is None else self.locate(link)
        return self.kernels.jacobian_dot(frame, body, T, link)(q, qd, out=out, threads=threads)

    def locate(self, link: str) -> tuple[int, np.ndarray]:
        """Return the index of the body that contains a named link, and the link's pose in it."""
        if link in self.model.named_frames:
            return self.model.named_frames[link]
        if link in self.body_names:
            return self.body_names.index(link), IDENTITY
        raise BrazoError(f"no link named '{link}'; links: {', '.join(self.link_names)}")

    @property
    def mobility(self) -> int:
        """Degrees of freedom of the tool: the rank of the Jacobian at a generic configuration."""
        return self.mobility_of("all")

    @lru_cache(maxsize=8)  # noqa: B019 - a robot lives as long as its program
    def mobility_of(self, rows: str) -> int:
        """Degrees of freedom of the tool for the Jacobian rows "all", "linear" or "angular"."""
        rng = np.random.default_rng(0)
        low, high = self.sampling_box.T
        q = rng.uniform(low, high, (20, self.n))
        J = self.jacobian(q)
        scale = max(float(np.abs(J[:, :3]).max()), 1e-12)
        J[:, :3] /= scale
        return int(np.max(np.linalg.matrix_rank(J[:, ROWS[rows]], tol=1e-8)))

    @property
    def reference(self) -> np.ndarray:
        """Default start values (n,): first pose of the robot file or zero, clipped to limits."""
        first = next(iter(self.model.poses.values()), np.zeros(self.n))
        return np.clip(first, *self.limits.T)

    @cached_property
    def _recognised(self) -> tuple[ClosedForm | None, str]:
        """The closed form and "", or None and the reason why there is no closed form."""
        from brazo.kinematics.chain import chain_of
        from brazo.kinematics.closed_form import ClosedForm, recognise

        try:
            found = recognise(chain_of(self.model))
        except BrazoError as error:
            return None, str(error)
        if isinstance(found, ClosedForm):
            return found, ""
        return None, "; ".join(str(why) for why in found)

    @property
    def closed_form(self) -> ClosedForm | None:
        """Closed-form inverse kinematics; None if the geometry has no closed form."""
        return self._recognised[0]

    @property
    def no_closed_form(self) -> str:
        """Reason why there is no closed form; empty if there is one."""
        return self._recognised[1]

    @cached_property
    def branches(self) -> CompiledBranches | None:
        """Compiled closed-form solver; None if there is no closed form."""
        from brazo.kinematics.branches import CompiledBranches

        return None if self.closed_form is None else CompiledBranches(self.closed_form, self.limits)

    @cached_property
    def fast_ik(self) -> Callable[[Any, Any], IKResult | None]:
        """Fast IK function (T, q0) for calls without options; see `CompiledBranches.fast`.

        The function returns None if the general `ik` must be called instead.
        """
        solver = self._plain_branches
        if solver is not None:
            return solver.fast(self.reference)
        if self.branches is None and self.mobility == 6:
            from brazo.kinematics.ik import listed

            return self.numeric.fast(self.reference, partial(listed, self))
        return lambda T, q0: None

    @property
    def plain_ik(self) -> Callable[..., Any]:
        """The `ik` function; calls with only a pose run machine code if a closed form allows it."""
        solver = self._plain_branches
        return self.ik if solver is None else solver.plain(self.reference, self.ik)

    @property
    def _plain_branches(self) -> CompiledBranches | None:
        """Compiled closed form that solves calls without options on its own.

        None if there is no closed form. Also None for a redundant SCARA, whose calls without
        options may need a search for the nearest solution.
        """
        from brazo.kinematics.closed_form.redundant_scara import RedundantScara

        solver = self.branches
        return None if solver is None or isinstance(solver.form, RedundantScara) else solver

    @cached_property
    def redundancy(self) -> Redundancy | str:
        """Redundancy parameter of an arm with seven joints, or the reason why it has none."""
        from brazo.kinematics.redundant import redundancy_of

        return redundancy_of(self.model, self.limits)

    @cached_property
    def numeric(self) -> NumericIK:
        """Compiled numeric IK solver."""
        from brazo.kinematics.numeric import NumericIK

        return NumericIK(self.model, self.limits, self.sampling_box)

    def ik(self, T, q0=None, branch: str | None = None, **options) -> IKResult | IKBatch:
        from brazo.kinematics import ik

        return ik.solve(self, T, q0, branch, **options)

    def configuration(self, q) -> str:
        """Return the branch name of a configuration q (n,).

        The name is empty if there is no closed form, or if its branches are only numbered.
        """
        closed = self.closed_form
        if closed is None or not closed.geometric:
            return ""
        q = _one(q, self.n)[list(closed.chain.coordinates)]
        return closed.branch_names[int(closed.branch_of(q))]


def _one(q, n: int) -> np.ndarray:
    values = float_array(q, "q")
    if values.shape != (n,):
        raise BrazoError(f"q has shape {values.shape}; expected ({n},)")
    if not np.isfinite(values).all():
        raise BrazoError("q has values that are not finite")
    return values
