"""Inverse kinematics: closed form if the arm's geometry has one, numeric otherwise; both compiled.

The result:

* `success` is True if the solution is within `tolerance` of the target and within all limits.
* Of several branches, the branch nearest to `q0` is returned. The default `q0` is the first pose of
  the robot's file, or zero if the file has none. `branch` selects branches by name, e.g.
  "LEFTY ABOVE" or just "ABOVE".
* On failure, `reason` gives the cause, `q` is an approximate solution, and `residual` is the pose
  error of `q`.
* An arm with fewer than six joints cannot reach every orientation. `orientation="full"` requires
  the exact orientation. `"nearest"` accepts the closest feasible orientation at the exact position.
  `"free"` accepts any orientation.

The result for many targets is an `IKBatch`. It contains a solution for each target, or NaN if there
is none. It contains no reasons.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from brazo.errors import BrazoError
from brazo.kinematics.branches import CompiledBranches
from brazo.kinematics.closed_form.base import ACCEPTED
from brazo.kinematics.closed_form.redundant_scara import RedundantScara
from brazo.kinematics.numeric import METHOD
from brazo.kinematics.options import IKOptions, Orientation, read_options
from brazo.kinematics.orientation import angle_between, nearest_rotation
from brazo.kinematics.redundant import Redundancy, check_values
from brazo.kinematics.result import (
    Branch,
    IKBatch,
    IKResult,
    Residual,
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
    """Attributes of `TreeKinematics` and `DeltaKinematics` that this module uses."""

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


def solve(
    arm: TreeKinematics, T, q0=None, branch: str | None = None, **options: Any
) -> IKResult | IKBatch:
    """Find joint values for which the tool has pose T (4, 4) or position T (3,).

    T may also contain many targets, with leading batch dimensions.

    Options (`brazo.kinematics.options.IKOptions`):

    * `orientation` is "full", "nearest" or "free"; see the module docstring. `method` is "auto",
      "closed" or "numeric".
    * `redundancy` selects how a closed form uses a redundant joint. `"rule"` bends links 2 and 3 of
      a redundant SCARA by the same angle. `"nearest"` gives the solution within the limits that is
      nearest to `q0`. `"auto"` means `"nearest"` if `q0` is given or if the rule gives no solution
      within the limits, otherwise `"rule"`; for many targets it always means `"rule"`. For an
      arm with seven revolute joints, `redundancy` may also be one or many values (rad) of the
      redundancy parameter, which is the arm angle or the value of a locked joint
      (`brazo.kinematics.redundant`). The result then has every branch for each value.
    * `weights` (6,) scale the errors of the numeric method along and about x, y, z; 0 ignores an
      error.
    * `tolerance` is in m and rad. Closed forms apply it only to the orientation; their position
      error is at most 1e-10 m.
    * `seed` determines the random restarts of the numeric method. `attempts` is the max number of
      starting points.
    """
    given = read_options(branch, options)
    targets, orientation = read_targets(T, given.orientation)
    if not given.by_name:
        return _at_redundancy(arm, targets, q0, branch, orientation, given)
    if targets.ndim > 2:
        return _batch(arm, targets, q0, branch, orientation, given)
    target = check_target(targets)
    start = read_start(arm, q0)
    solver = _branches(arm, branch, orientation, given)
    if solver is None:
        return _numeric(arm, target, start, orientation, given)
    spare = None
    if isinstance(solver.form, RedundantScara) and branch is None and given.by_name != "rule":
        spare = solver
    if spare is not None and (q0 is not None or given.by_name == "nearest"):
        near = _null_space(arm, spare, target, start, orientation, given.tolerance)
        if near is not None:
            return near
    found = _closed(
        arm, solver, target, start, q0 is not None, branch, orientation, given.tolerance
    )
    if found.success:
        return found
    if spare is not None and q0 is None:
        near = _null_space(arm, spare, target, start, orientation, given.tolerance)
        if near is not None:
            return near
    return _nearest(arm, target, found, branch, orientation, given)


def _branches(
    arm: TreeKinematics, branch: str | None, orientation: Orientation, given: IKOptions
) -> CompiledBranches | None:
    """Return the compiled closed form to use, or None if the numeric method must be used."""
    solver = None
    if given.method != "numeric" and given.weights is None:
        solver = arm.branches
    if orientation == "free" and solver is not None and solver.form.meets != "position":
        if given.method == "closed":
            raise BrazoError(
                "the closed form of this arm needs a full pose, but the orientation of the target "
                "is free; use method 'auto'"
            )
        solver = None
    if given.method == "closed" and solver is None:
        raise BrazoError(
            f"'{arm.model.name}' has no closed form: {arm.no_closed_form}; use method 'auto'"
        )
    if branch is not None and solver is None:
        raise BrazoError(
            f"'{arm.model.name}' is solved by the numeric method, which has no named branches; "
            "omit the option 'branch'"
        )
    return solver


def read_targets(T, orientation: Orientation) -> tuple[np.ndarray, Orientation]:
    """Convert targets to poses (..., 4, 4); also return the orientation option to use.

    Poses are returned unchanged. Points (3,) or (..., 3) become poses with free orientation.
    Objects with an array `A`, such as a spatialmath `SE3`, are accepted. The result may be `T`
    itself and must not be modified.
    """
    try:
        target = np.asarray(getattr(T, "A", T), dtype=float)
    except (TypeError, ValueError) as error:
        raise BrazoError(f"target: not an array of numbers ({error})") from None
    if target.shape[-2:] == (4, 4):
        return target, orientation
    if target.ndim and target.shape[-1] == 3 and target.shape != (3, 3):
        poses = np.zeros((*target.shape[:-1], 4, 4))
        poses[...] = np.eye(4)
        poses[..., :3, 3] = target
        return poses, "free"
    raise BrazoError(
        f"target has shape {target.shape}; expected poses (..., 4, 4) or points (..., 3), but not "
        "(3, 3), which could be a rotation; for three points use shape (1, 3, 3)"
    )


def read_target(T, orientation: Orientation) -> tuple[np.ndarray, Orientation]:
    """Check one target, a pose (4, 4) or a point (3,); return its pose and orientation option."""
    target, orientation = read_targets(T, orientation)
    if target.ndim != 2:
        raise BrazoError(f"target has shape {np.shape(T)}; expected a pose (4, 4) or a point (3,)")
    return check_target(target), orientation


def check_target(target: np.ndarray) -> np.ndarray:
    """Return the pose `target` (4, 4); raise an error if it is not a pose.

    If its rotation is not exact because of rounding, a corrected copy is returned.
    """
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
        target = target.copy()
        target[:3, :3] = nearest_rotation(target[:3, :3])
    return target


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
    solver: CompiledBranches,
    T: np.ndarray,
    start: np.ndarray,
    start_given: bool,
    wanted: str | None,
    orientation: Orientation,
    tolerance: float,
) -> IKResult:
    """Solve IK of one target by the closed form; the result contains all branches.

    `start_given` is True if the user specified `start`. `wanted` is the requested branch or None.
    """
    allowed = None if wanted is None else slots_of(solver.names, wanted)
    # Without q0, joints that the target does not determine have the default of the family.
    found, (*_, slot, _, _, _, success) = solver.find(
        T, start, start_given, orientation, tolerance, allowed
    )
    entries = found.entries()

    def result(best: Branch | None, reason: str) -> IKResult:
        return IKResult(
            q=start if best is None else best.q,
            success=not reason,
            reason=reason,
            residual=Residual(math.inf, math.inf) if best is None else best.residual,
            all=found.exact,
            branch=None if best is None else best.name,
            method=solver.method,
        )

    if not entries:
        reason = solver.form.why_unreachable(T) or "no branch reaches the target"
        return result(None, reason)
    usable = [entry for entry in entries if allowed is None or entry[1] in allowed]
    if not usable:
        names = "; ".join(branch.name for branch, _, _ in entries)
        return result(None, f"branch '{wanted}' does not reach the target; reached by: {names}")
    if slot < 0:
        best = min(usable, key=lambda entry: (len(entry[0].limit_violations), entry[2]))[0]
        return result(best, beyond_limits(arm, best, len(usable)))
    best = next(branch for branch, own, _ in entries if own == slot)
    if success:
        return result(best, "")
    differs = f"differs by {math.degrees(best.orientation_error):.3f}°"
    if solver.form.meets == "position":
        reason = f"{_feasible_part(arm)}; the closest orientation at this position {differs}"
    else:
        reason = (
            f"an arm with {len(solver.used)} joints cannot reach this orientation: the closest "
            f"orientation at this position {differs} (orientation 'nearest' accepts it)"
        )
    return result(best, reason)


def _batch(
    arm: TreeKinematics,
    T: np.ndarray,
    q0,
    branch: str | None,
    orientation: Orientation,
    options: IKOptions,
) -> IKBatch:
    """Solve IK of many targets; the result contains all branches of a closed form."""
    lead = T.shape[:-2]
    start = read_starts(arm, q0, lead)
    if options.by_name == "nearest":
        raise BrazoError(
            "redundancy 'nearest' accepts one target at a time; use 'rule' for many targets"
        )
    solver = _branches(arm, branch, orientation, options)
    if solver is not None:
        allowed = None if branch is None else slots_of(solver.names, branch)
        return batch_of(solver, T, start, q0 is not None, orientation, options.tolerance, allowed)
    targets = _checked_targets(T)
    tolerance, weights = _weighted(options, orientation)
    numeric = arm.numeric
    clipped = np.clip(np.broadcast_to(start, (*lead, arm.n)), *arm.limits.T)
    if orientation == "nearest":
        raise BrazoError(
            "with the numeric method, orientation 'nearest' accepts only one target at a time; "
            "call ik for each target"
        )
    solved = numeric(targets, clipped, weights, tolerance, options.seed, options.attempts)
    q = np.array(clipped)
    q[..., list(numeric.coordinates)] = solved.x
    success = np.asarray(solved.success, dtype=bool)
    reached = arm.fk(q)
    gap = np.linalg.norm(reached[..., :3, 3] - targets[..., :3, 3], axis=-1)
    turn = angle_between(reached[..., :3, :3], targets[..., :3, :3])
    free = orientation == "free" or (weights is not None and not np.any(weights[3:]))
    return IKBatch(
        q=np.where(success[..., None], q, np.nan),
        success=success,
        branch=np.where(success, 0, -1),
        all_q=q[..., None, :],
        valid=success[..., None],
        within_limits=success[..., None],
        position_error=gap[..., None],
        orientation_error=(0.0 * turn if free else turn)[..., None],
        names=("",),
        method=METHOD,
    )


def batch_of(
    solver: CompiledBranches,
    T: np.ndarray,
    start: np.ndarray,
    given: bool,
    orientation: Orientation,
    tolerance: float,
    allowed: set[int] | None,
) -> IKBatch:
    """Solve IK of many targets by the closed form; raise an error if a target is not a pose.

    `given` is True if the user specified `start`. `allowed` are the indices of the allowed
    branches; None allows all.
    """
    found, rigid = solver.batch(T, start, given, orientation, tolerance, allowed)
    if not rigid.all():
        _complain(T, rigid)
    return found


def _at_redundancy(
    arm: TreeKinematics,
    T: np.ndarray,
    q0,
    branch: str | None,
    orientation: Orientation,
    options: IKOptions,
) -> IKResult | IKBatch:
    """Solve IK for given values of the redundancy parameter; the result contains all branches."""
    found = arm.redundancy
    if isinstance(found, str):
        raise BrazoError(f"'{arm.model.name}' has no redundancy parameter: {found}")
    if orientation != "full" or options.weights is not None or options.method == "numeric":
        raise BrazoError(
            "numeric values of the option 'redundancy' require full poses, orientation 'full' and "
            "the closed form; omit weights and method 'numeric'"
        )
    values = np.asarray(options.redundancy, dtype=float)
    check_values(arm, found, values)
    try:
        lead = np.broadcast_shapes(T.shape[:-2], values.shape)
    except ValueError:
        raise BrazoError(
            f"redundancy has shape {values.shape}, which does not fit targets of batch shape "
            f"{T.shape[:-2]}; give one value, or one value per target"
        ) from None
    targets = np.broadcast_to(_checked_targets(T), (*lead, 4, 4))
    values = np.broadcast_to(values, lead)
    start = np.array(np.broadcast_to(read_starts(arm, q0, lead), (*lead, arm.n)))
    slots = None if branch is None else slots_of(found.names, branch)
    batch = found.branches(targets, values, start, options.tolerance, slots)
    return batch if lead else _single(arm, batch, start, targets, branch, found.name)


def _single(
    arm: TreeKinematics, batch: IKBatch, start: np.ndarray, T: np.ndarray, wanted, name: str
) -> IKResult:
    """Convert a batch with one target T to an `IKResult`.

    `wanted` is the requested branch or None. `name` is the name of the redundancy parameter.
    """
    found = [
        Branch(
            q=batch.all_q[slot],
            name=batch.names[slot],
            within_limits=bool(batch.within_limits[slot]),
            limit_violations=tuple(
                np.flatnonzero(violations(batch.all_q[slot], arm.limits)).tolist()
            ),
            position_error=float(batch.position_error[slot]),
            orientation_error=float(batch.orientation_error[slot]),
        )
        for slot in np.flatnonzero(batch.valid).tolist()
    ]
    found.sort(key=lambda one: (not one.within_limits, distance(one.q, start)))
    if batch.success:
        slot = int(batch.branch)
        residual = Residual(float(batch.position_error[slot]), float(batch.orientation_error[slot]))
        return IKResult(batch.q, True, "", residual, found, batch.names[slot], batch.method)
    usable = [b for b in found if wanted is None or b.name in _named(batch.names, wanted)]
    reason = f"no branch reaches the target at this redundancy value ({name})"
    q = np.clip(start, *arm.limits.T)
    if usable:
        best = usable[0]
        reason = (
            f"branch {best.name} has an orientation error of {best.orientation_error:.1e} rad, "
            "more than the tolerance; use a larger tolerance"
            if best.within_limits
            else beyond_limits(arm, best, len(usable))
        )
        q = np.clip(best.q, *arm.limits.T)
    return IKResult(q, False, reason, _residual(arm, q, T), found, None, batch.method)


def _named(names: tuple[str, ...], wanted: str) -> set[str]:
    return {names[slot] for slot in slots_of(names, wanted)}


def _checked_targets(T: np.ndarray) -> np.ndarray:
    """Return a copy of targets (..., 4, 4) with exact rotations; an error names the bad target."""
    targets = np.array(T)
    for index in np.ndindex(T.shape[:-2]):
        try:
            targets[index] = check_target(T[index])
        except BrazoError as error:
            if not index:
                raise
            raise BrazoError(f"{_row(index)}: {error}") from None
    return targets


def _complain(T: np.ndarray, rigid: np.ndarray) -> None:
    """Raise an error for the first target that is not a pose (where `rigid` is False)."""
    index = tuple(int(i) for i in np.argwhere(~rigid)[0])
    try:
        check_target(T[index])
    except BrazoError as error:
        raise BrazoError(f"{_row(index)}: {error}") from None
    raise BrazoError(f"{_row(index)} is not a pose")


def _row(index: tuple[int, ...]) -> str:
    return f"target[{', '.join(map(str, index))}]"


def _null_space(
    arm: TreeKinematics,
    solver: CompiledBranches,
    T: np.ndarray,
    start: np.ndarray,
    orientation: Orientation,
    tolerance: float,
) -> IKResult | None:
    """Return the solution of a redundant SCARA that is within the limits and nearest to `start`.

    Return None if there is no solution within the limits and the tolerance.
    """
    form, used = solver.form, solver.used
    assert isinstance(form, RedundantScara)
    values, found = form.nearest(T, start[used], arm.limits[used])
    if not found:
        return None
    q = start.copy()
    q[used] = values
    residual = _residual(arm, q, T)
    if residual.position > tolerance or (orientation == "full" and float(residual) > tolerance):
        return None
    by_rule, _ = solver.find(T, start, False, orientation, tolerance, None)
    one = Branch(q, "NULL-SPACE", True, (), residual.position, residual.orientation)
    return IKResult(
        q=q,
        success=True,
        reason="",
        residual=residual,
        all=lambda: (one, *by_rule.exact()),
        branch=one.name,
        method=f"{solver.method}, null space",
    )


def _nearest(
    arm: TreeKinematics,
    T: np.ndarray,
    failed: IKResult,
    branch: str | None,
    orientation: Orientation,
    options: IKOptions,
) -> IKResult:
    """Return a failed closed-form result with q replaced by a configuration within the limits.

    If q is on a branch and within the limits, `failed` is returned unchanged. If q is on a branch
    that was requested by name, but out of the limits, q is clipped to the limits. Otherwise q is
    replaced by the result of the numeric method. If the numeric method succeeds, its `IKResult` is
    returned instead, unless the option `branch`, `method="closed"` or `redundancy="rule"` is given.
    """
    if failed.branch is not None and not violations(failed.q, arm.limits).any():
        return failed
    start = np.clip(failed.q, *arm.limits.T)
    if branch is not None and failed.branch is not None:
        # The requested branch, clipped to the limits.
        return _moved(failed, start, _residual(arm, start, T, orientation), 0)
    few = replace(options, attempts=min(options.attempts, 20))
    numeric = _numeric(arm, T, start, orientation, few)
    exact = options.method == "closed" or options.by_name == "rule" or branch is not None
    if numeric.success and not exact:
        return numeric  # within a wide tolerance; the closed form is exact or fails
    return _moved(failed, numeric.q, numeric.residual, numeric.iterations)


def _moved(failed: IKResult, q: np.ndarray, residual: Residual, iterations: int) -> IKResult:
    """Return a failed result with q replaced by another configuration."""
    return IKResult(
        q=q,
        success=False,
        reason=failed.reason,
        residual=residual,
        all=lambda: failed.all,
        branch=None,
        method=failed.method,
        iterations=iterations,
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
    seed, attempts = options.seed, options.attempts
    tolerance, weights = _weighted(options, orientation)
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
    reached: Any = ()
    if found.success:  # the solver stays within the limits
        one = Branch(q, "", True, (), residual.position, residual.orientation)
        reached = (one,)
        if weights is None and orientation == "full":
            reached = partial(listed, arm, T, one)
    return IKResult(
        q=q,
        success=bool(found.success),
        reason=reason,
        residual=residual,
        all=reached,
        method=METHOD,
        iterations=int(found.iterations),
    )


def listed(arm: TreeKinematics, T: np.ndarray, one: Branch) -> list[Branch]:
    """Return the numeric solution `one`, followed by the other known solutions.

    If the arm has a redundancy parameter, the other solutions are the branches at the parameter
    value of `one`, and `one` is returned with its branch name. For other arms, only `one` is
    returned.
    """
    found = arm.redundancy
    if not isinstance(found, Redundancy):
        return [one]
    batch = found.branches(T, found.value(one.q), one.q, ACCEPTED, None)
    others = []
    for other in _single(arm, batch, one.q, T, None, found.name).all:
        if distance(other.q, one.q) > 1e-6:
            others.append(other)
        elif not one.name:
            one = replace(one, name=other.name)
    return [one, *others]


def _weighted(options: IKOptions, orientation: Orientation) -> tuple[float, np.ndarray | None]:
    """Return the tolerance and the weights (6,) for the numeric method; None means weights of 1."""
    weights = options.weights
    if weights is not None:
        # Each row must meet the tolerance itself, not its weighted error.
        return options.tolerance * float(weights[weights > 0.0].min()), weights
    return options.tolerance, _POSITION_ONLY if orientation == "free" else None


def _feasible_part(arm: TreeKinematics) -> str:
    """Describe the part of a pose that an arm with fewer than six DOF can reach."""
    position = arm.mobility_of("linear")
    part = "the position" if position == 3 else f"{position} of the 3 coordinates of the position"
    return (
        f"'{arm.model.name}' has {arm.mobility} degrees of freedom and cannot reach a full pose: "
        f"it can reach {part}, with the closest orientation ('nearest') or any ('free')"
    )


def _residual(
    arm: TreeKinematics, q: np.ndarray, T: np.ndarray, orientation: Orientation = "full"
) -> Residual:
    reached = arm.fk(q)
    turn = 0.0 if orientation == "free" else float(angle_between(reached[:3, :3], T[:3, :3]))
    return Residual(float(np.linalg.norm(reached[:3, 3] - T[:3, 3])), turn)


def slots_of(names: tuple[str, ...], wanted: str | None) -> set[int]:
    """Return the indices of the branches whose names contain all words of `wanted`.

    If `wanted` is None, all indices are returned.
    """
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
        f"{which} out of the joint limits: branch {best.name} needs {arm.joint_names[i]} at "
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
    if start.shape != (arm.n,):
        raise BrazoError(f"q0 has shape {start.shape}; expected ({arm.n},)")
    if not np.isfinite(start).all():
        raise BrazoError("q0 has values that are not finite")
    return start


def read_starts(arm: Joints, q0, lead: tuple[int, ...]) -> np.ndarray:
    """Check start values q0 (n,) or (..., n) for targets of batch shape `lead`; return an array."""
    if q0 is None or np.ndim(q0) == 1:
        return read_start(arm, q0)
    try:
        start = np.array(q0, dtype=float)
        np.broadcast_to(start, (*lead, arm.n))
    except (TypeError, ValueError) as error:
        raise BrazoError(
            f"q0 does not fit targets of batch shape {lead}; expected shape ({arm.n},) or "
            f"{(*lead, arm.n)} ({error})"
        ) from None
    if not np.isfinite(start).all():
        raise BrazoError("q0 has values that are not finite")
    return start
