"""Inverse kinematics: closed form if the arm's geometry has one, compiled numeric otherwise.

The result:

* `success` means: within `tolerance` of the target and within all limits.
* Of several branches the one nearest to `q0` is returned (default: nearest to the first pose of the
  file, or to zero); `branch` selects branches by name, e.g. "LEFTY ABOVE" or just "ABOVE".
* Without success `reason` gives the cause, and `q` is the nearest configuration within the limits.
* An arm with fewer than six joints cannot reach every orientation.  `orientation="full"` requires
  it exactly, `"nearest"` meets the position with the closest feasible orientation, `"free"` meets
  the position only.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from brazo.errors import BrazoError
from brazo.kinematics.closed_form.base import ClosedForm
from brazo.kinematics.closed_form.redundant_scara import RedundantScara
from brazo.kinematics.options import IKOptions, Orientation, read_options
from brazo.kinematics.orientation import angle_between, nearest_rotation
from brazo.kinematics.result import (
    Branch,
    IKResult,
    Residual,
    into_limits,
    joint_text,
    range_text,
    violations,
)
from brazo.model.description import JointKind

if TYPE_CHECKING:
    from brazo.kinematics.tree import TreeKinematics


_POSITION_ONLY = np.array([1.0, 1.0, 1.0, 0.0, 0.0, 0.0])
_POSITION_FIRST = np.array([1.0, 1.0, 1.0, 1e-3, 1e-3, 1e-3])


class Joints(Protocol):
    """The attributes of a robot used here."""

    @property
    def n(self) -> int: ...
    @property
    def limits(self) -> np.ndarray: ...
    @property
    def joint_names(self) -> tuple[str, ...]: ...
    @property
    def joint_kinds(self) -> tuple[JointKind, ...]: ...
    @property
    def reference(self) -> np.ndarray: ...


def solve(arm: TreeKinematics, T, q0=None, branch: str | None = None, **options: Any) -> IKResult:
    """Joint values that put the tool at T (4, 4), or its point at xyz (3,).

    Options (`brazo.kinematics.options.IKOptions`): `orientation`, `method`;
    `redundancy` resolves the redundant joint of a closed form: by its `"rule"` (equal middle joints
    of a SCARA), or `"nearest"` to `q0` within the limits; `"auto"` is nearest if `q0` is given or
    the rule exceeds the limits;
    `weights` (6,) scale the errors of the numeric method in x, y, z and about them, 0 leaves one
    free; `tolerance` in m and rad; `seed` of the restarts of the numeric method: the same seed
    gives the same result; `attempts` is their max number.
    """
    given = read_options(branch, options)
    target, orientation = read_target(T, given.orientation)
    start = read_start(arm, q0)
    numeric = given.method == "numeric" or given.weights is not None or orientation == "free"
    closed = None if numeric else arm.closed_form
    if given.method == "closed" and closed is None:
        if orientation == "free":
            raise BrazoError(
                "the closed form needs an orientation; use --method auto (in Python 'auto')"
            )
        raise BrazoError(f"no closed form for '{arm.model.name}': {arm.no_closed_form}")
    if branch is not None and closed is None:
        raise BrazoError(f"'{arm.model.name}' has no named branches here: the method is numeric")
    if closed is None:
        return _numeric(arm, target, start, orientation, given)
    spare = None
    if isinstance(closed, RedundantScara) and branch is None and given.redundancy != "rule":
        spare = closed
    if spare is not None and (q0 is not None or given.redundancy == "nearest"):
        near = _null_space(arm, spare, target, start, orientation, given.tolerance)
        if near is not None:
            return near
    found = _closed(
        arm, closed, target, start, q0 is not None, branch, orientation, given.tolerance
    )
    if found.success:
        return found
    if spare is not None and q0 is None:
        near = _null_space(arm, spare, target, start, orientation, given.tolerance)
        if near is not None:
            return near
    return _nearest(arm, target, found, branch, orientation, given)


def read_target(T, orientation: Orientation) -> tuple[np.ndarray, Orientation]:
    """Check a target: a pose (4, 4), or a point (3,) with free orientation."""
    try:
        target = np.array(T, dtype=float)
    except (TypeError, ValueError) as error:
        raise BrazoError(f"target: not an array of numbers ({error})") from None
    if target.shape == (3,):
        point, target = target, np.eye(4)
        target[:3, 3] = point
        orientation = "free"
    if target.shape != (4, 4):
        raise BrazoError(f"target has shape {target.shape}; expected a pose (4, 4) or a point (3,)")
    x, y, z, last = target.tolist()
    if not math.isfinite(sum(x) + sum(y) + sum(z)):
        raise BrazoError("target has values that are not finite")
    # Plain floats: NumPy calls on three numbers would cost more than the solver.
    rigid = (
        abs(_dot(x, x) - 1.0) < 1e-5
        and abs(_dot(y, y) - 1.0) < 1e-5
        and abs(_dot(x, y)) < 1e-5
        and max(abs(a - b) for a, b in zip(_cross(x, y), z, strict=False)) < 1e-5
        and last == [0.0, 0.0, 0.0, 1.0]
    )
    if not rigid:
        raise BrazoError(
            "target is not a pose: its rotation must have orthonormal, right-handed axes "
            "and its last row must be 0 0 0 1"
        )
    off = abs(_dot(x, x) - 1.0) + abs(_dot(y, y) - 1.0) + abs(_dot(z, z) - 1.0)
    if off + abs(_dot(x, y)) + abs(_dot(y, z)) + abs(_dot(x, z)) > 1e-14:
        # Rounded input: closed forms need an exact rotation.
        target[:3, :3] = nearest_rotation(target[:3, :3])
    return target, orientation


def _dot(a: list[float], b: list[float]) -> float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def _cross(a: list[float], b: list[float]) -> tuple[float, float, float]:
    return (
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    )


def _closed(
    arm: TreeKinematics,
    closed: ClosedForm,
    T: np.ndarray,
    start: np.ndarray,
    near_start: bool,
    wanted: str | None,
    orientation: Orientation,
    tolerance: float,
) -> IKResult:
    """All branches of the closed form, and the best of them."""
    used = list(closed.chain.coordinates)
    limits = arm.limits[used]
    # Without a q0 of the user, free joints follow the default of the family.
    found = closed.solve(T, start[used] if near_start else None)
    allowed = slots_of(found.names, wanted)
    slots = np.flatnonzero(found.valid)
    q = np.repeat(start[None], len(slots), axis=0)
    q[:, used] = into_limits(found.q[slots], limits, closed.chain.kinds, start[used])
    beyond = violations(q, arm.limits)
    branches = [
        Branch(
            q=q[i],
            name=found.names[slot],
            within_limits=not any(beyond[i]),
            limit_violations=tuple(np.flatnonzero(beyond[i]).tolist()),
            position_error=float(found.position_error[slot]),
            orientation_error=float(found.orientation_error[slot]),
        )
        for i, slot in enumerate(slots.tolist())
    ]
    usable = [b for b, slot in zip(branches, slots.tolist(), strict=True) if slot in allowed]
    branches.sort(key=lambda b: (not b.within_limits, distance(b.q, start)))
    exact = [b for b in branches if orientation != "full" or b.orientation_error <= tolerance]
    method = f"closed form, {closed.family}"

    def result(best: Branch | None, reason: str) -> IKResult:
        return IKResult(
            q=start if best is None else best.q,
            success=not reason,
            reason=reason,
            residual=Residual(math.inf, math.inf) if best is None else best.residual,
            all=tuple(exact),
            branch=None if best is None else best.name,
            method=method,
        )

    if not branches:
        return result(None, closed.why_unreachable(T) or "no branch reaches the target")
    if not usable:
        names = "; ".join(b.name for b in branches)
        return result(None, f"branch '{wanted}' does not reach the target; these do: {names}")
    inside = [b for b in usable if b.within_limits]
    if not inside:
        best = min(usable, key=lambda b: (len(b.limit_violations), distance(b.q, start)))
        return result(best, beyond_limits(arm, best, len(usable)))
    gap = min(b.orientation_error for b in inside)
    best = min(
        (b for b in inside if b.orientation_error <= gap + tolerance),
        key=lambda b: distance(b.q, start),
    )
    if orientation == "full" and best.orientation_error > tolerance:
        return result(
            best,
            f"an arm with {len(used)} joints cannot reach this orientation: the closest one at "
            "this "
            f"position differs by {math.degrees(best.orientation_error):.3f}° "
            "(orientation nearest accepts it)",
        )
    return result(best, "")


def _null_space(
    arm: TreeKinematics,
    closed: RedundantScara,
    T: np.ndarray,
    start: np.ndarray,
    orientation: Orientation,
    tolerance: float,
) -> IKResult | None:
    """The solution of a redundant arm within the limits nearest to the start, or None."""
    used = list(closed.chain.coordinates)
    values, found = closed.nearest(T, start[used], arm.limits[used])
    if not found:
        return None
    q = start.copy()
    q[used] = values
    residual = _residual(arm, q, T)
    if residual.position > tolerance or (orientation == "full" and float(residual) > tolerance):
        return None
    by_rule = _closed(arm, closed, T, start, False, None, orientation, tolerance)
    one = Branch(q, "NULL-SPACE", True, (), residual.position, residual.orientation)
    return IKResult(
        q=q,
        success=True,
        reason="",
        residual=residual,
        all=(one, *by_rule.all),
        branch=one.name,
        method=f"closed form, {closed.family}, null space",
    )


def _nearest(
    arm: TreeKinematics,
    T: np.ndarray,
    failed: IKResult,
    branch: str | None,
    orientation: Orientation,
    options: IKOptions,
) -> IKResult:
    """The reason of a failed closed form, with the nearest configuration within the limits."""
    if failed.branch is not None and not violations(failed.q, arm.limits).any():
        return failed
    start = np.clip(failed.q, *arm.limits.T)
    if branch is not None and failed.branch is not None:
        # The requested branch, clipped to the limits.
        return replace(failed, q=start, residual=_residual(arm, start, T), branch=None)
    few = replace(options, attempts=min(options.attempts, 20))
    numeric = _numeric(arm, T, start, orientation, few)
    exact = options.method == "closed" or options.redundancy == "rule" or branch is not None
    if numeric.success and not exact:
        return numeric  # within a wide tolerance; the closed form is exact or fails
    return IKResult(
        q=numeric.q,
        success=False,
        reason=failed.reason,
        residual=numeric.residual,
        all=failed.all,
        branch=None,
        method=failed.method,
        iterations=numeric.iterations,
    )


def _numeric(
    arm: TreeKinematics,
    T: np.ndarray,
    start: np.ndarray,
    orientation: Orientation,
    options: IKOptions,
) -> IKResult:
    solver = arm.numeric
    used = list(solver.coordinates)
    tolerance, seed, attempts = options.tolerance, options.seed, options.attempts
    weights = options.weights
    if weights is not None:
        # Each row must meet the tolerance itself, not its weighted error.
        tolerance = tolerance * float(weights[weights > 0.0].min())
    elif orientation == "free":
        weights = _POSITION_ONLY
    q = np.minimum(np.maximum(start, arm.limits[:, 0]), arm.limits[:, 1])
    if orientation == "nearest":
        q[used] = solver(T, q, _POSITION_FIRST, tolerance, seed, attempts).x
        weights = _POSITION_ONLY
        attempts = 1
    found = solver(T, q, weights, tolerance, seed, attempts)
    q[used] = found.x
    if weights is None:
        residual = Residual(found.first, 2.0 * math.asin(min(0.5 * found.rest, 1.0)))
    else:
        residual = _residual(arm, q, T)
    if orientation == "free" or (options.weights is not None and not options.weights[3:].any()):
        residual = Residual(residual.position, 0.0)
    reason = ""
    if not found.success:
        reason = (
            f"no solution within the limits in {attempts} attempts: the nearest "
            f"configuration is {1000 * residual.position:.3f} mm"
            + ("" if orientation == "free" else f" and {math.degrees(residual.orientation):.3f}°")
            + " away"
        )
        if orientation == "full" and options.weights is None and arm.mobility < 6:
            reason = f"{_feasible_part(arm)}; {reason}"
    reached = ()
    if found.success:  # the solver stays within the limits
        reached = (Branch(q, "", True, (), residual.position, residual.orientation),)
    return IKResult(
        q=q,
        success=bool(found.success),
        reason=reason,
        residual=residual,
        all=reached,
        method="numeric, damped least squares",
        iterations=int(found.iterations),
    )


def _feasible_part(arm: TreeKinematics) -> str:
    """Which part of a pose an arm with fewer than six degrees of freedom can meet."""
    position = arm.mobility_of("linear")
    part = "the position" if position == 3 else f"{position} of the 3 coordinates of the position"
    return (
        f"'{arm.model.name}' has {arm.mobility} degrees of freedom and cannot meet a full pose: it "
        f"can meet {part}, with the closest orientation (orientation nearest) or any (free)"
    )


def _residual(arm: TreeKinematics, q: np.ndarray, T: np.ndarray) -> Residual:
    reached = arm.fk(q)
    return Residual(
        float(np.linalg.norm(reached[:3, 3] - T[:3, 3])),
        float(angle_between(reached[:3, :3], T[:3, :3])),
    )


def slots_of(names: tuple[str, ...], wanted: str | None) -> set[int]:
    """Indices of the branches whose names contain all given words."""
    if wanted is None:
        return set(range(len(names)))
    words = set(wanted.upper().replace("/", " ").split())
    slots = {i for i, name in enumerate(names) if words and words <= set(name.split())}
    if not slots:
        raise BrazoError(f"no branch '{wanted}'; branches: {', '.join(names)}")
    return slots


def beyond_limits(arm: Joints, best: Branch, count: int) -> str:
    i = best.limit_violations[0]
    kind = arm.joint_kinds[i]
    which = "the only IK solution is" if count == 1 else f"all {count} IK solutions are"
    return (
        f"{which} out of the joint limits: {best.name} needs {arm.joint_names[i]} at "
        f"{joint_text(kind, best.q[i])}, allowed {range_text(kind, arm.limits[i])}"
    )


def distance(q: np.ndarray, start: np.ndarray) -> float:
    return float(np.abs(q - start).max())


def read_start(arm: Joints, q0) -> np.ndarray:
    if q0 is None:
        return arm.reference.copy()
    try:
        start = np.array(q0, dtype=float)
    except (TypeError, ValueError) as error:
        raise BrazoError(f"q0: not an array of numbers ({error})") from None
    if start.shape != (arm.n,) or not np.isfinite(start).all():
        raise BrazoError(f"q0 has shape {start.shape}; expected ({arm.n},), finite values")
    return start
