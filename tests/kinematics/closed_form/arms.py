"""Arms from D-H tables for the tests of the closed forms, and an own forward map to judge them by.

`dh_fk` multiplies the textbook's matrices, written out here, so it shares nothing with the package.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from brazo.kinematics.chain import Chain, chain_of
from brazo.kinematics.closed_form import ClosedForm, recognise
from brazo.model.description import IDENTITY, Body, Joint, TreeModel, frozen
from brazo.model.dh import Convention, DHRow, before_after

Array = np.ndarray
H = math.pi / 2


class Arm:
    """A D-H table with a base and a tool, its chain and its solver."""

    def __init__(
        self,
        rows: Sequence[DHRow],
        convention: Convention = "standard",
        base: Array = IDENTITY,
        tool: Array = IDENTITY,
    ) -> None:
        self.rows, self.convention = tuple(rows), convention
        self.base, self.tool = np.array(base), np.array(tool)

    @property
    def model(self) -> TreeModel:
        bodies = [Body("base")]
        for i, row in enumerate(self.rows):
            before, after = before_after(row, self.convention)
            if i == 0:
                before = self.base @ before
            joint = Joint(f"joint {i + 1}", row.kind, i, frozen(before), after=frozen(after))
            bodies.append(Body(f"link {i + 1}", parent=i, joint=joint))
        tip = len(self.rows)
        return TreeModel(name="arm", bodies=tuple(bodies), tip=tip, tool=frozen(self.tool))

    @property
    def chain(self) -> Chain:
        return chain_of(self.model)

    @property
    def solver(self) -> Any:
        found = recognise(self.chain)
        assert isinstance(found, ClosedForm), [str(why) for why in found]
        return found

    def fk(self, q: Array) -> Array:
        """Tool in base (..., 4, 4) as a product of D-H matrices."""
        q = np.asarray(q, dtype=float)
        T = np.broadcast_to(self.base, (*q.shape[:-1], 4, 4))
        for i, row in enumerate(self.rows):
            turning = row.kind == "revolute"
            theta = q[..., i] + row.offset if turning else np.full(q.shape[:-1], row.theta)
            d = np.full(q.shape[:-1], row.d) if turning else q[..., i] + row.offset
            T = T @ _dh_matrix(theta, d, row.a, row.alpha, self.convention)
        return T @ self.tool


def _dh_matrix(theta: Array, d: Array, a: float, alpha: float, convention: Convention) -> Array:
    c, s, zero, one = np.cos(theta), np.sin(theta), np.zeros_like(d), np.ones_like(d)
    ca, sa = math.cos(alpha), math.sin(alpha)
    if convention == "standard":
        entries = [
            [c, -s * ca, s * sa, a * c],
            [s, c * ca, -c * sa, a * s],
            [zero, sa * one, ca * one, d],
        ]
    else:
        entries = [
            [c, -s, zero, a * one],
            [s * ca, c * ca, -sa * one, -sa * d],
            [s * sa, c * sa, ca * one, ca * d],
        ]
    entries.append([zero, zero, zero, one])
    return np.stack([np.stack(row, axis=-1) for row in entries], axis=-2)


def golden_rows(table: list[dict[str, Any]]) -> list[DHRow]:
    """Rows of a table of the reference file, right angles made exact."""
    rows = []
    for row in table:
        kind = "revolute" if row.get("joint", "R") == "R" else "prismatic"
        offset = row.get("theta_offset", 0.0) if kind == "revolute" else row["d"]
        alpha, offset = (
            round(x / H) * H if abs(x % H) < 1e-9 or H - abs(x % H) < 1e-9 else x
            for x in (row["alpha"], offset)
        )
        rows.append(DHRow(kind, d=row["d"], a=row["a"], alpha=alpha, offset=offset))
    return rows


def turn_distance(q: Array, other: Array, revolute: Array | bool = True) -> Array:
    """|q − other| joint by joint, whole turns of revolute joints left out."""
    away = np.asarray(q) - np.asarray(other)
    return np.abs(np.where(revolute, away - 2 * np.pi * np.round(away / (2 * np.pi)), away))


def pose_errors(arm: Arm, q: Array, T: Array) -> tuple[Array, Array]:
    """Distance (m) and angle (rad) between the tool at q and T, by `Arm.fk`."""
    reached = arm.fk(q)
    position = np.linalg.norm(reached[..., :3, 3] - T[..., :3, 3], axis=-1)
    R = np.swapaxes(reached[..., :3, :3], -1, -2) @ T[..., :3, :3]
    skew = np.stack([R[..., i, j] - R[..., j, i] for i, j in ((2, 1), (0, 2), (1, 0))], axis=-1)
    trace = np.trace(R, axis1=-2, axis2=-1)
    return position, np.arctan2(np.linalg.norm(skew, axis=-1), trace - 1)


def check_round_trip(
    arm: Arm, q: Array, full_pose: bool = True, found_within: float = 1e-8, error: float = 1e-10
) -> None:
    """Every valid branch reaches the pose of q (N, n), q is one of them, and names agree.

    Without `full_pose` the other branches may leave a gap of orientation, if they say so.
    """
    solver = arm.solver
    T = arm.fk(q)
    found = solver.solve(T)
    position, orientation = pose_errors(arm, found.q, T[:, None])
    assert found.valid.any(axis=1).all()
    assert position[found.valid].max() < error
    np.testing.assert_allclose(found.orientation_error, orientation, atol=error)
    away = turn_distance(found.q, q[:, None], solver.chain.revolute).max(axis=-1)
    away = np.where(found.valid, away, np.inf)
    assert away.min(axis=1).max() < found_within
    own = np.take_along_axis(orientation, np.argmin(away, axis=1)[:, None], axis=1)
    assert (orientation[found.valid] if full_pose else own).max() < error
    # A name denotes the same shape of the arm for every solver.
    assert (np.argmin(away, axis=1) == solver.branch_of(q)).all()
    for slot in range(len(found.names)):
        there = found.valid[:, slot] & (orientation[:, slot] < error)
        assert (solver.branch_of(found.q[there, slot]) == slot).all()
