"""Workspace of a robot: the positions that its tool reaches, and the manipulability there.

Samples of the joint positions are drawn from a Sobol sequence within the limits.  The tool position
p and the Jacobian J of each sample are computed in batches.  The manipulability of a sample is

    sqrt det(J Jᵀ)            of the linear rows of J by default (m³)

Space is divided into cubes with edge h.  A cube is reached if it contains the tool position of a
sample.  The manipulability w of a cube is the max over its samples.  The results are

    volume = Σ h³             reach = max |p|        manipulability volume = Σ w h³

where the sums are over the reached cubes.  A cube at the boundary counts with its full volume, and
a cube without a sample is missing.  Use more samples if `samples_per_cell` is below about 20.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from brazo.checks import one_of, positive
from brazo.errors import BrazoError
from brazo.kinematics.measures import ROWS, Rows
from brazo.kinematics.sampling import sampling_box
from brazo.recording.parquet import parquet_source, write_parquet
from brazo.recording.source import memory_source
from brazo.robot import Robot, load

Array = np.ndarray
CELLS = 40  # along the largest extent, by default
BATCH = 1 << 16
COLUMNS = {"x": "m", "y": "m", "z": "m", "samples": "", "manipulability": "", "mean": ""}


@dataclass(frozen=True, slots=True, eq=False)
class WorkspaceMap:
    """Cubes that the tool reaches, in the base frame: centres, sample counts, manipulability."""

    robot: str
    size: float  # m, edge of a cube
    points: Array  # (k, 3) m, centres of the cubes
    samples: Array  # (k,) joint positions found in each
    manipulability: Array  # (k,) largest found in each
    mean: Array  # (k,) mean of those found
    reach: float  # m, largest distance of the tool from the base
    rows: Rows = "linear"

    def __len__(self) -> int:
        return len(self.points)

    def __repr__(self) -> str:
        return f"<workspace of {self.robot}: {len(self)} cubes of {1e3 * self.size:.3g} mm>"

    @property
    def volume(self) -> float:
        """Volume of the reached cubes (m³)."""
        return len(self) * self.size**3

    @property
    def manipulability_volume(self) -> float:
        """Integral of the manipulability over the reached volume."""
        return float(self.manipulability.sum()) * self.size**3

    @property
    def samples_per_cell(self) -> float:
        """Mean number of samples in a reached cube."""
        return float(self.samples.mean())

    def to_parquet(self, path: str | Path) -> Path:
        """Write the cubes as a table that `read_workspace` can read."""
        about = {
            "title": f"workspace of {self.robot}",
            "workspace": json.dumps(
                {"robot": self.robot, "size": self.size, "reach": self.reach, "rows": self.rows}
            ),
        }
        columns = (*self.points.T, self.samples, self.manipulability, self.mean)
        named = {
            name: (np.asarray(column, dtype=float), unit)
            for (name, unit), column in zip(COLUMNS.items(), columns, strict=True)
        }
        write_parquet(Path(path), memory_source(named, [], about))
        return Path(path)

    def plot(self, path: str | Path | None = None) -> Any:
        """Draw slices and a histogram; if a path is given, write the figure to it."""
        from brazo.study.workspace_figure import workspace_figure

        return workspace_figure(self, path)


def workspace(
    robot: Robot | str | Path,
    samples: int = 1 << 19,
    size: float | None = None,
    rows: Rows = "linear",
    seed: int = 0,
) -> WorkspaceMap:
    """Return the map of the workspace of a robot.

    `samples` is the number of joint positions; a power of 2 is best.  `size` is the edge of a cube
    (m), by default a 40th of the largest extent.  `rows` selects the rows of the Jacobian for the
    manipulability: "linear", "angular" or "all".  `seed` determines the joint positions.
    """
    arm = robot if isinstance(robot, Robot) else load(robot)
    if size is not None:
        positive(size, "size")
    p, w = sampled(arm, joint_samples(arm, samples, seed), rows)
    if size is None:
        size = float(np.ptp(p, axis=0).max()) / CELLS or 1e-3
    return gridded(arm.name, p, w, size, rows)


def joint_samples(arm: Robot, samples: int, seed: int = 0) -> Array:
    """Return joint positions (samples, n) of a scrambled Sobol sequence within the limits.

    The range of a joint without limits is ±180° or ±1 m.
    """
    import warnings

    from scipy.stats import qmc

    if not isinstance(samples, int) or samples < 1:
        raise BrazoError(f"samples = {samples!r}; it must be an integer of at least 1")
    box = sampling_box(arm.limits, arm.joint_kinds)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a count that is no power of 2
        u = qmc.Sobol(arm.n, rng=np.random.default_rng(seed)).random(samples)
    return box[:, 0] + u * (box[:, 1] - box[:, 0])


def sampled(arm: Robot, q: Array, rows: Rows) -> tuple[Array, Array]:
    """Return tool positions (k, 3) and manipulability (k,) at joint positions q (m, n).

    Joint positions without a forward kinematics solution are skipped, so k may be less than m.
    Raises `BrazoError` if none has a solution.
    """
    one_of(rows, ROWS, "rows")
    q = q[arm._kinematics.has_pose(q)]
    if not len(q):
        raise BrazoError(f"{arm.name}: no sampled joint position has a forward kinematics solution")
    places, values = [], []
    for at in range(0, len(q), BATCH):
        part = q[at : at + BATCH]
        places.append(np.asarray(arm.fk(part))[:, :3, 3])
        values.append(manipulability(arm, part, rows))
    return np.concatenate(places), np.concatenate(values)


def manipulability(arm: Robot, q: Array, rows: Rows = "linear") -> Array:
    """Return the manipulability (k,) at joint positions (k, n), as `Robot.dexterity` does.

    For three Jacobian rows of full rank, the manipulability is computed from a determinant, which
    is much faster than from singular values.
    """
    few = arm.dexterity(q[:16], rows)
    if ROWS[rows].stop - ROWS[rows].start > 3 or int(few.rank.max(initial=0)) < 3:
        return arm.dexterity(q, rows).manipulability
    J = np.asarray(arm.jacobian(q))[:, ROWS[rows]]
    return np.sqrt(np.maximum(np.linalg.det(J @ J.transpose(0, 2, 1)), 0.0))


def gridded(
    robot: str, p: Array, w: Array, size: float, rows: Rows, origin: Array | float = 0.0
) -> WorkspaceMap:
    """Return the map of the cubes that contain tool positions p (k, 3) with manipulability w (k,).

    `size` is the edge of a cube (m); the corners of the cubes are at `origin` (3,) plus multiples
    of `size`.
    """
    cells = np.floor((p - origin) / size + 1e-9).astype(np.int64)
    unique, index, counts = np.unique(cells, axis=0, return_inverse=True, return_counts=True)
    index = index.reshape(-1)
    best = np.zeros(len(unique))
    np.maximum.at(best, index, w)
    mean = np.bincount(index, w, len(unique)) / counts
    reach = float(np.linalg.norm(p, axis=1).max())
    points = (unique + 0.5) * size + origin
    return WorkspaceMap(robot, size, points, counts, best, mean, reach, rows)


def read_workspace(path: str | Path) -> WorkspaceMap:
    """Read a workspace that `WorkspaceMap.to_parquet` wrote."""
    source = parquet_source(Path(path))
    try:
        about: Mapping[str, Any] = json.loads(source.about["workspace"])
        read = {name: values for name, (values, _) in source.columns().items()}
        points = np.stack([read["x"], read["y"], read["z"]], axis=1)
        return WorkspaceMap(
            about["robot"], about["size"], points, read["samples"].astype(int),
            read["manipulability"], read["mean"], about["reach"], about["rows"],
        )  # fmt: skip
    except (KeyError, ValueError, TypeError):
        raise BrazoError(
            f"{path}: not a workspace file; create one with `brazo study workspace`"
        ) from None
