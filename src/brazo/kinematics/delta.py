"""Kinematics of a Delta robot, with the same interface as the kinematics of a tree robot.

The platform stays level, so the tool always has the same orientation. The angular rows of the
Jacobian are zero, and inverse kinematics reports targets with another orientation as not reachable.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from brazo.errors import BrazoError
from brazo.kinematics import ik as tree_ik
from brazo.kinematics.branches import CompiledBranches
from brazo.kinematics.closed_form import delta
from brazo.kinematics.closed_form.delta_branches import DeltaBranches
from brazo.kinematics.closed_form.delta_point import DeltaPoint
from brazo.kinematics.delta_rate import jacobian_rate
from brazo.kinematics.options import read_options
from brazo.kinematics.orientation import angle_between
from brazo.kinematics.result import IKBatch, IKResult, Residual
from brazo.kinematics.sampling import sampling_box
from brazo.model.description import DeltaModel, JointKind, Part, frozen

_KINDS: tuple[JointKind, ...] = ("revolute", "revolute", "revolute")
_RODS = tuple(f"rod {i}{rod}" for i in (1, 2, 3) for rod in "ab")


class DeltaKinematics:
    """Forward and inverse kinematics of a `DeltaModel`; every q is (..., 3) in rad.

    `threads` is accepted for compatibility and ignored: all methods run in one thread, except `ik`
    of many targets, which chooses the number of threads itself.
    """

    n = 3
    joint_kinds = _KINDS
    mobility = 3

    @staticmethod
    def mobility_of(rows: str) -> int:
        """Degrees of freedom of the tool for `rows`: 0 for "angular", 3 for "linear" and "all"."""
        return 0 if rows == "angular" else 3

    def __init__(self, model: DeltaModel) -> None:
        self.model = model
        self.joint_names: tuple[str, ...] = model.joint_names
        self.limits = frozen(model.limits)
        self.body_names = ("base", "arm 1", "arm 2", "arm 3", *_RODS, "platform")
        # Arms are on the base, two rods on each arm, and the platform on the first rod.
        self.body_parents = (-1, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4)
        self.link_names = self.body_names
        self.parts: tuple[Sequence[Part], ...] = tuple(
            model.parts.get(name, ()) for name in self.body_names
        )
        self._point = DeltaPoint(model)
        self.sampling_box = sampling_box(self.limits, self.joint_kinds)
        self.has_dynamics = not model.missing_inertia

    def fk(self, q, out=None, threads=None) -> np.ndarray:
        """Pose (..., 4, 4) of the tool in the base frame.

        The platform is at the lower of the two positions that are possible at q.
        """
        P = self._platform(self._read(q))
        T = _result((*P.shape[:-1], 4, 4), out)
        T[...] = self.model.tool
        T[..., :3, 3] += P
        return T

    def has_pose(self, q) -> np.ndarray:
        """Mask (...) of the configurations at which the rods can be connected to the platform."""
        return delta.fk(self.model, self._read(q))[1]

    def frames(self, q, out=None, threads=None) -> np.ndarray:
        """Poses of base, arms, rods and platform in the base frame (..., bodies, 4, 4)."""
        q = self._read(q)
        P = self._platform(q)
        loops = delta.loop_frames(self.model, q, P, self.model.rod_spacing)
        frames = _result((*q.shape[:-1], len(self.body_names), 4, 4), out)
        frames[..., 0, :, :] = np.eye(4)
        frames[..., 1:4, :, :] = loops.arms
        frames[..., 4:10, :, :] = loops.rods.reshape(*q.shape[:-1], 6, 4, 4)
        frames[..., 10, :, :] = loops.platform
        return frames

    def frame(self, q, link: str) -> np.ndarray:
        if link not in self.link_names:
            raise BrazoError(f"no link named '{link}'; links: {', '.join(self.link_names)}")
        return self.frames(q)[..., self.link_names.index(link), :, :]

    def jacobian(
        self, q, frame="base", link: str | None = None, out=None, threads=None
    ) -> np.ndarray:
        """Jacobian (..., 6, 3) of the platform, linear rows first; the angular rows are zero."""
        axes = self._axes(frame, link)
        q = self._read(q)
        J = _result((*q.shape[:-1], 6, 3), out)
        P = self._platform(q)
        plain = None
        if q.ndim == 1:
            x, y, z = P.tolist()
            plain = self._point.jacobian(q.tolist(), (x, y, z))
        J[..., :3, :] = delta.jacobian(self.model, q, P) if plain is None else plain
        if axes is not None:
            J[..., :3, :] = axes.T @ J[..., :3, :]
        J[..., 3:, :] = 0.0
        return J

    def jacobian_dot(
        self, q, qd, frame="base", link: str | None = None, out=None, threads=None
    ) -> np.ndarray:
        """Time derivative (..., 6, 3) of the Jacobian at joint velocities qd (rad/s)."""
        q, qd = self._read(q), self._read(qd)
        try:
            q, qd = np.broadcast_arrays(q, qd)
        except ValueError:
            raise BrazoError(
                f"q has shape {q.shape} and qd has shape {qd.shape}, which do not broadcast; use "
                "equal shapes"
            ) from None
        axes = self._axes(frame, link)
        J = self.jacobian(q)[..., :3, :]
        rate = _result((*q.shape[:-1], 6, 3), out)
        rate[..., :3, :] = jacobian_rate(self.model, q, qd, self._platform(q), J)
        if axes is not None:
            rate[..., :3, :] = axes.T @ rate[..., :3, :]
        rate[..., 3:, :] = 0.0
        return rate

    def _axes(self, frame: str, link: str | None) -> np.ndarray | None:
        """Axes (3, 3) in which a Jacobian is expressed; None for the base axes.

        The axes of the platform are always parallel to the base axes.
        """
        if frame not in ("base", "tool"):
            raise BrazoError(f"frame is '{frame}'; expected 'base' or 'tool'")
        if link not in (None, "platform"):
            raise BrazoError(
                f"a Delta robot has a Jacobian only for its platform, not for '{link}'"
            )
        return self.model.tool[:3, :3] if frame == "tool" and link is None else None

    @property
    def reference(self) -> np.ndarray:
        """Default start values (3,) of inverse kinematics.

        They are the first pose of the model, or 0 if it has none, clipped to the limits.
        """
        return np.clip(next(iter(self.model.poses.values()), np.zeros(3)), *self.limits.T)

    def configuration(self, q) -> str:
        """Name of the branch of q: the elbow of each arm, `OUT` or `IN`."""
        return delta.BRANCH_NAMES[int(delta.branch_of(self.model, self._read(q)))]

    def ik(self, T, q0=None, branch: str | None = None, **options: Any) -> IKResult | IKBatch:
        """Find joint values for which the tool has pose T (4, 4) or position T (3,).

        T may also contain many targets. The result contains all branches. See `Robot.ik`.
        """
        given = read_options(branch, options)
        if given.method == "numeric" or given.weights is not None:
            raise BrazoError(
                "a Delta robot is solved in closed form only: use method 'auto' without weights"
            )
        if not given.by_name:
            raise BrazoError(
                f"'{self.model.name}' has no redundancy parameter, because it is a Delta robot; "
                "omit the option 'redundancy'"
            )
        targets, orientation = tree_ik.read_targets(T, given.orientation)
        solver, tolerance = self.branches, given.tolerance
        allowed = None if branch is None else tree_ik.slots_of(solver.names, branch)
        if targets.ndim > 2:
            start = tree_ik.read_starts(self, q0, targets.shape[:-2])
            return tree_ik.batch_of(
                solver, targets, start, q0 is not None, orientation, tolerance, allowed
            )
        target = tree_ik.check_target(targets)
        start = tree_ik.read_start(self, q0)
        found, (*_, slot, _, _, _, success) = solver.find(
            target, start, q0 is not None, orientation, tolerance, allowed
        )
        entries = found.entries()
        best = next((one for one, own, _ in entries if own == slot), None)
        turn = float(angle_between(self.model.tool[:3, :3], target[:3, :3]))
        P = target[:3, 3] - self.model.tool[:3, 3]
        usable = [one for one, own, _ in entries if allowed is None or own in allowed]
        reason = "" if success else self._reason(target, entries, usable, best, branch, turn)
        if best is None:
            q, name = self._nearest(P, start), None
            gap = float(np.linalg.norm(self._platform(q) - P))
            residual = Residual(gap, 0.0 if orientation == "free" else turn)
        else:
            q, residual, name = best.q, best.residual, best.name
        return IKResult(
            q=q,
            success=not reason,
            reason=reason,
            residual=residual,
            all=found.exact,
            branch=name,
            method=solver.method,
        )

    @cached_property
    def branches(self) -> CompiledBranches:
        """Compiled closed-form solver of this robot."""
        return CompiledBranches(DeltaBranches(self.model), self.limits)

    @cached_property
    def fast_ik(self) -> Callable[[Any, Any], IKResult | None]:
        return self.branches.fast(self.reference)

    @property
    def plain_ik(self) -> Callable[..., Any]:
        return self.branches.plain(self.reference, self.ik)

    def _reason(self, T, entries, usable, best, wanted, turn: float) -> str:
        if not entries:
            return (
                self.branches.form.why_unreachable(T)
                or "the target is only reached in the upper of two possible platform positions, in "
                "which the robot does not work"
            )
        if not usable:
            names = "; ".join(one.name for one, _, _ in entries)
            return f"branch '{wanted}' does not reach the target; reached by: {names}"
        if best is None:
            nearest = min(usable, key=lambda b: len(b.limit_violations))
            return tree_ik.beyond_limits(self, nearest, len(usable))
        return (
            f"the platform of a Delta cannot rotate: the target is rotated by "
            f"{math.degrees(turn):.3f}° (orientation 'free' accepts it)"
        )

    def _nearest(self, P: np.ndarray, start: np.ndarray) -> np.ndarray:
        """Return a configuration (3,) within the limits whose platform centre is near P (m).

        The distance from P is minimised from several start values; the smallest minimum is used.
        """
        from scipy.optimize import least_squares

        box = self.sampling_box
        low, high = box.T
        starts = [start, box.mean(axis=1), *np.random.default_rng(0).uniform(low, high, (8, 3))]
        best, least = start, math.inf
        for q in starts:
            if not delta.fk(self.model, q)[1]:
                continue
            found = least_squares(
                lambda x: np.nan_to_num(delta.fk(self.model, x)[0][0] - P, nan=10.0),
                np.clip(q, box[:, 0] + 1e-9, box[:, 1] - 1e-9),
                jac=lambda x: np.nan_to_num(delta.jacobian(self.model, x)),  # type: ignore[arg-type]
                bounds=tuple(box.T),
                xtol=1e-14,
                ftol=1e-14,
                gtol=1e-14,
            )
            if found.cost < least:
                best, least = found.x, found.cost
        return best

    def _read(self, q) -> np.ndarray:
        try:
            array = np.asarray(q, dtype=float)
        except (TypeError, ValueError) as error:
            raise BrazoError(f"q: not an array of numbers ({error})") from None
        if array.ndim == 0 or array.shape[-1] != 3:
            raise BrazoError(f"q has shape {array.shape}; expected (..., 3)")
        if not np.isfinite(array).all():
            raise BrazoError("q: every value must be finite")
        return array

    def _platform(self, q: np.ndarray) -> np.ndarray:
        if q.ndim == 1 and (place := self._point.place(q.tolist())) is not None:
            return np.array(place)
        both, exists = delta.fk(self.model, q)
        if not np.all(exists):
            index = np.argwhere(~np.atleast_1d(exists))[0].tolist()
            angles = ", ".join(f"{x:.4g}" for x in np.atleast_2d(q)[tuple(index)])
            name = "q" if q.ndim == 1 else f"q{index}"
            raise BrazoError(
                f"the rods cannot meet at the arm angles {name} = [{angles}] rad: the platform has "
                "no pose; use other angles"
            )
        return both[..., 0, :]


def _result(shape: tuple[int, ...], out: Any) -> np.ndarray:
    if out is None:
        return np.empty(shape)
    if not isinstance(out, np.ndarray) or out.shape != shape or out.dtype != np.float64:
        got = f"{out.dtype} {out.shape}" if isinstance(out, np.ndarray) else repr(out)
        raise BrazoError(f"out is {got}; expected a float64 array of shape {shape}")
    return out
