"""Check that a robot's mass matrix is positive definite, as forward dynamics requires.

In an elimination of M(q) from tip to base, pivot j is the inertia moved by joint j if the joints
after it are free.  A zero pivot means that the joint moves no inertia (a massless link, a point
mass on the joint axis); a negative one means that a body of the file is not physical.

`refuse_everywhere` runs once, before code generation: it refuses a robot with a joint that has no
positive pivot at any of several sampled configurations.  `refuse_at` runs if the result of forward
dynamics is not finite: it names the joint at that configuration.  `mass_findings` returns warnings
for both, and `doubt` adds them to the message of a failed run.
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
    """A joint whose pivot is not positive."""

    coordinate: int
    pivot: float  # kg m² or kg


def mass_matrix_at(model: Model, q: np.ndarray) -> np.ndarray:
    """M (n, n) at one configuration, without compilation."""
    if isinstance(model, DeltaModel):
        from brazo.dynamics.delta import DeltaDynamics

        with np.errstate(all="ignore"):  # NaN if the rods cannot meet
            return np.array(DeltaDynamics(model).mass_matrix_over(list(q)))
    from brazo.dynamics.links import links_of
    from brazo.dynamics.straight import StraightDynamics

    # The parameters of the file: after regrouping a zero would become a rounding error.
    links = links_of(model.require_tree(), regroup=False)
    return np.array(StraightDynamics(links).mass_matrix(q.tolist()), dtype=float)


def weak_joints(M: np.ndarray) -> list[Weak]:
    """Coordinates whose pivot is not positive, from tip to base; each is removed from M first."""
    A, found = np.array(M), []
    for j in reversed(range(len(A))):
        pivot, column = float(A[j, j]), A[:j, j].copy()
        if not pivot > LEAST_PIVOT * M[j, j]:
            found.append(Weak(j, pivot))
            continue
        A[:j, :j] -= np.outer(column, column) / pivot
    return found


def refuse_everywhere(model: Model) -> None:
    """Raise if a joint moves no positive inertia at any sampled configuration."""
    if everywhere := _everywhere(model, FEW):
        raise BrazoError(f"robot '{model.name}': {_message(model, everywhere)}")


def refuse_at(model: Model, q: np.ndarray, *others: np.ndarray) -> None:
    """Raise an error if the mass matrix is not positive definite at q (n,).

    It is the `explain` of a kernel, which passes the other inputs of the kernel as well.
    """
    if weak := weak_joints(mass_matrix_at(model, q)):
        raise BrazoError(f"robot '{model.name}': {_message(model, weak, q)}")


@lru_cache(maxsize=64)
def mass_findings(model: Model) -> tuple[Finding, ...]:
    """Warnings about a robot with dynamics: joints that move no positive inertia."""
    if model.missing_inertia:
        return ()
    if weak := _everywhere(model, SAMPLES):
        return (Finding(_message(model, weak), model.path),)
    for q, M in _samples(model, SAMPLES):
        if weak := weak_joints(M):
            return (Finding(_message(model, weak, q), model.path),)
    return ()


def doubt(model: Model) -> str:
    """The warnings of `mass_findings` as text to append to a message; empty without warnings."""
    return "".join(f"; {found.message}" for found in mass_findings(model))


def _everywhere(model: Model, samples: int) -> list[Weak]:
    """Joints whose pivot is not positive in any of the sampled configurations."""
    common: dict[int, Weak] | None = None
    for _, M in _samples(model, samples):
        weak = {w.coordinate: w for w in weak_joints(M)}
        common = weak if common is None else {j: w for j, w in common.items() if j in weak}
        if not common:
            return []
    return sorted((common or {}).values(), key=lambda w: w.coordinate)


def _samples(model: Model, count: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """q and M(q): random configurations first, then zero and the poses of the file.

    Configurations in which closed loops cannot be assembled (M is NaN) are excluded.
    """
    rng = np.random.default_rng(0)
    low, high = _box(model)
    given = [*rng.uniform(low, high, (count, len(low))), np.zeros(len(low))]
    for q in given if count == FEW else [*given, *model.poses.values()]:
        M = mass_matrix_at(model, q)
        if np.isfinite(M).all() or not model.closed_loops:
            yield q, M


def _box(model: Model) -> tuple[np.ndarray, np.ndarray]:
    """Limits; ±1 rad or m for joints without limits."""
    low, high = model.limits.T
    low = np.where(np.isfinite(low), low, np.where(np.isfinite(high), high - 2.0, -1.0))
    high = np.where(np.isfinite(high), high, low + 2.0)
    return low, high


def _message(model: Model, weak: list[Weak], q: np.ndarray | None = None) -> str:
    where = "" if q is None else f" at q = [{', '.join(f'{x:.4g}' for x in q)}]"
    joints = "; ".join(_joint(model, one) for one in weak[:MOST_NAMES])
    more = f"; and {len(weak) - MOST_NAMES} more joints" if len(weak) > MOST_NAMES else ""
    return (
        f"the mass matrix is not positive definite{where}, so forward dynamics does not exist: "
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
