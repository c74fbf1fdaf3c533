"""Check that a robot's mass matrix is positive definite, as forward dynamics requires.

Gaussian elimination of M(q) from tip to base has one pivot per joint.  Pivot j is the inertia moved
by joint j while the joints between it and the tip are free.  A zero pivot means that the joint
moves no inertia: a massless link, or a point mass on the joint axis.  A negative pivot means that a
body in the robot file has a non-physical inertia.

- `refuse_everywhere` runs before code of forward dynamics is generated.  It raises an error if the
  same joint has a zero or negative pivot at all sampled configurations.
- `refuse_at` runs if the result of forward dynamics is not finite.  It raises an error that names
  the joints with a zero or negative pivot.
- `mass_findings` returns a warning if a joint has such a pivot at a sampled configuration.
- `doubt` returns the text of this warning, for the message of a failed run.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from brazo.codegen.linear import LEAST_PIVOT
from brazo.errors import BrazoError
from brazo.model.description import DeltaModel, Finding, Model

__all__ = ["doubt", "mass_findings", "refuse_at", "refuse_everywhere"]

SAMPLES = 8  # random configurations, in addition to zero and the poses of the file
FEW = 2  # of them, for refusing a joint that moves no inertia at any
MOST_NAMES = 6  # links in a message


@dataclass(frozen=True, slots=True)
class Weak:
    """A joint with a zero or negative pivot in the elimination of the mass matrix."""

    coordinate: int
    pivot: float  # kg m² or kg


def mass_matrix_at(model: Model, q: np.ndarray) -> np.ndarray:
    """Mass matrix M (n, n) at one configuration, computed without compilation."""
    if isinstance(model, DeltaModel):
        from brazo.dynamics.delta import DeltaDynamics

        with np.errstate(all="ignore"):  # NaN if the rods cannot meet
            return np.array(DeltaDynamics(model).mass_matrix_over(list(q)))
    from brazo.dynamics.links import links_of
    from brazo.dynamics.unrolled import UnrolledDynamics

    # The parameters of the file: after regrouping a zero would become a rounding error.
    links = links_of(model.require_tree(), regroup=False)
    return np.array(UnrolledDynamics(links).mass_matrix(q.tolist()), dtype=float)


def weak_joints(M: np.ndarray) -> list[Weak]:
    """Joints with a zero or negative pivot in the elimination of M, in the order from tip to base.

    Such joints are left out of the elimination, so they do not affect the pivots of other joints.
    """
    A, found = np.array(M), []
    for j in reversed(range(len(A))):
        pivot, column = float(A[j, j]), A[:j, j].copy()
        if not pivot > LEAST_PIVOT * M[j, j]:
            found.append(Weak(j, pivot))
            continue
        A[:j, :j] -= np.outer(column, column) / pivot
    return found


def refuse_everywhere(model: Model) -> None:
    """Raise an error if a joint moves zero or negative inertia at all sampled configurations."""
    if everywhere := _everywhere(model, FEW):
        raise BrazoError(f"robot '{model.name}': {_message(model, everywhere)}")


def refuse_at(model: Model, q: np.ndarray, *others: np.ndarray) -> None:
    """Raise an error if the mass matrix is not positive definite at q (n,).

    A kernel calls this function with its inputs to explain a result that is not finite.  The inputs
    after q, `others`, are ignored.
    """
    if weak := weak_joints(mass_matrix_at(model, q)):
        raise BrazoError(f"robot '{model.name}': {_message(model, weak, q)}")


@lru_cache(maxsize=64)
def mass_findings(model: Model) -> tuple[Finding, ...]:
    """A warning about joints that move zero or negative inertia; empty if there are none.

    The result is also empty if the robot file gives no inertia.
    """
    if model.missing_inertia:
        return ()
    if weak := _everywhere(model, SAMPLES):
        return (Finding(_message(model, weak), model.path),)
    for q, M in _samples(model, SAMPLES):
        if weak := weak_joints(M):
            return (Finding(_message(model, weak, q), model.path),)
    return ()


def doubt(model: Model) -> str:
    """Warning of `mass_findings` as text to append to an error message; empty if there is none."""
    return "".join(f"; {found.message}" for found in mass_findings(model))


def _everywhere(model: Model, samples: int) -> list[Weak]:
    """Joints that move zero or negative inertia at all sampled configurations."""
    common: dict[int, Weak] | None = None
    for _, M in _samples(model, samples):
        weak = {w.coordinate: w for w in weak_joints(M)}
        common = weak if common is None else {j: w for j, w in common.items() if j in weak}
        if not common:
            return []
    return sorted((common or {}).values(), key=lambda w: w.coordinate)


def _samples(model: Model, count: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield q (n,) and M(q): random configurations, the zero position, and the named poses.

    The named poses are left out if `count` is `FEW`.  Configurations at which closed loops cannot
    be assembled (M is NaN) are skipped.
    """
    rng = np.random.default_rng(0)
    low, high = _box(model)
    given = [*rng.uniform(low, high, (count, len(low))), np.zeros(len(low))]
    for q in given if count == FEW else [*given, *model.poses.values()]:
        M = mass_matrix_at(model, q)
        if np.isfinite(M).all() or not model.closed_loops:
            yield q, M


def _box(model: Model) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper position limits (n,) for the samples, in rad or m.

    A joint without limits gets ±1.  If one limit is missing, it is placed 2 rad or 2 m from the
    given limit.
    """
    low, high = model.limits.T
    low = np.where(np.isfinite(low), low, np.where(np.isfinite(high), high - 2.0, -1.0))
    high = np.where(np.isfinite(high), high, low + 2.0)
    return low, high


def _message(model: Model, weak: list[Weak], q: np.ndarray | None = None) -> str:
    where = "" if q is None else f" at q = [{', '.join(f'{x:.4g}' for x in q)}]"
    joints = "; ".join(_joint(model, one) for one in weak[:MOST_NAMES])
    more = f"; and {len(weak) - MOST_NAMES} more joints" if len(weak) > MOST_NAMES else ""
    return (
        f"the mass matrix is not positive definite{where}, so accelerations cannot be computed: "
        f"{joints}{more}. Give the links mass and inertia, or the drives a motor_inertia "
        "(armature in MJCF)"
    )


def _joint(model: Model, weak: Weak) -> str:
    name, massless = model.joint_names[weak.coordinate], model.massless(weak.coordinate)
    unit = "kg m²" if model.joint_kinds[weak.coordinate] == "revolute" else "kg"
    negative = weak.pivot < -1e-9
    moved = f"a negative inertia ({weak.pivot:.3g} {unit})" if negative else "no inertia"
    text = f"joint '{name}' moves {moved}"
    if massless and not negative:
        names = ", ".join(massless[:MOST_NAMES]) + (" …" if len(massless) > MOST_NAMES else "")
        text += f" (massless: {names})"
    return text
