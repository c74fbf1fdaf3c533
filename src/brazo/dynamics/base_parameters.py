"""Base parameters: the combinations of dynamic parameters that the joint torques depend on.

If a column of the regressor Y is a linear combination of other columns for every motion, its
parameter cannot be identified separately.  Y is sampled at random states, and its columns are
examined one after another.  A column that is linearly independent of the previous columns belongs
to Y₁, any other column belongs to Y₂, and

    Y₂ = Y₁ B        Y π = Y₁ (π₁ + B π₂)

(Gautier 1991; here with Gram–Schmidt instead of QR).  Iyy, mz and m of a body are examined after
its other parameters.  They are therefore regrouped with other parameters where possible, as in
textbooks.  A parameter that has no effect on the torques appears in no combination.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from brazo.dynamics.regressor import DynamicParameters

__all__ = ["BaseParameters", "base_parameters"]

_DEPENDENT = 1e-9  # of a column's norm: what is left of it after projection is rounding
_ZERO = 1e-9  # coefficients below this, relative to the units of 1 m, are rounding
_ORDER = ("Ixx", "Ixy", "Ixz", "Iyz", "Izz", "mx", "my", "Iyy", "mz", "m")
_SPREAD = 3.0  # rad/s, rad/s² (m/s, m/s²): speeds and accelerations of the samples


@dataclass(frozen=True, slots=True, eq=False)
class BaseParameters:
    """Independent parameters that determine the joint torques: tau = Y[..., columns] @ values."""

    names: tuple[str, ...]
    """Name of each kept parameter; a * means that other parameters are regrouped with it."""
    combinations: tuple[str, ...]
    """Each base parameter as a sum, e.g. `link 2 Ixx − link 2 Iyy + 0.19 link 3 m`."""
    values: np.ndarray
    """(b,) values of the base parameters in the robot file, SI."""
    units: tuple[str, ...]
    columns: np.ndarray
    """(b,) indices of the columns of the regressor."""
    matrix: np.ndarray
    """(b, p): base parameters = matrix @ all parameters."""

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        return f"<BaseParameters: {len(self)} of {self.matrix.shape[1]} parameters>"


def base_parameters(
    dynamics: Any, parameters: DynamicParameters, box: np.ndarray, drives: bool
) -> BaseParameters:
    """Compute the base parameters of a robot from its regressor at random states.

    `box` (n, 2) are the limits of the sampled positions.  With `drives`, the parameters include
    motor inertia and friction.
    """
    n, p = len(box), len(parameters.names)
    rng = np.random.default_rng(0)
    samples = 20 + 4 * p // n
    low, high = box.T
    q = rng.uniform(low, high, (samples, n))
    qd, qdd = rng.uniform(-_SPREAD, _SPREAD, (2, samples, n))
    W = dynamics.regressor(q, qd, qdd, drives).reshape(-1, p)
    kept = _independent(W, _order(parameters.names))
    others = np.setdiff1d(np.arange(p), kept)
    matrix = np.zeros((len(kept), p))
    matrix[np.arange(len(kept)), kept] = 1.0
    B = np.linalg.lstsq(W[:, kept], W[:, others], rcond=None)[0]
    matrix[:, others] = np.where(np.abs(B) > _ZERO, B, 0.0)
    names = parameters.names
    grouped = np.count_nonzero(matrix, axis=1) > 1
    return BaseParameters(
        names=tuple(names[k] + "*" * bool(g) for k, g in zip(kept, grouped, strict=True)),
        combinations=tuple(_sum(names, row, int(k)) for k, row in zip(kept, matrix, strict=True)),
        values=matrix @ parameters.values,
        units=tuple(parameters.units[k] for k in kept),
        columns=kept,
        matrix=matrix,
    )


def _independent(W: np.ndarray, order: list[int]) -> np.ndarray:
    """Sorted indices of the columns of W that are independent of all earlier columns in `order`."""
    Q = np.zeros((len(W), 0))
    kept = []
    for k in order:
        column = W[:, k]
        size = np.linalg.norm(column)
        rest = column
        for _ in range(2):  # once more, against rounding
            rest = rest - Q @ (Q.T @ rest)
        left = np.linalg.norm(rest)
        if size > 0.0 and left > _DEPENDENT * size:
            Q = np.column_stack([Q, rest / left])
            kept.append(k)
    return np.array(sorted(kept), dtype=int)


def _order(names: tuple[str, ...]) -> list[int]:
    """Column indices in the order of examination: body by body, then the drives.

    Among the columns of a body, Iyy, mz and m come last.
    """
    bodies = list(dict.fromkeys(name.rpartition(" ")[0] for name in names))

    def place(k: int) -> tuple[bool, int, int]:
        body, _, moment = names[k].rpartition(" ")
        known = moment in _ORDER
        return not known, bodies.index(body), _ORDER.index(moment) if known else k

    return sorted(range(len(names)), key=place)


def _sum(names: tuple[str, ...], row: np.ndarray, first: int) -> str:
    text = names[first]
    for k in np.flatnonzero(row):
        if k == first:
            continue
        size = abs(row[k])
        factor = "" if abs(size - 1.0) < _ZERO else f"{size:.4g} "
        text += f" {'+' if row[k] > 0 else '−'} {factor}{names[k]}"
    return text
