"""SCARA arms with one redundant joint, such as R-R-R-P-R.

These arms have four parallel revolute joints and a prismatic joint, so three links lead to the
wrist. The target determines the heading ψ of the tool and the position W of the last axis. Let l₁,
l₂, l₃ be the links (complex numbers of lengths L₁, L₂, L₃, see `planar.py`), and α, β, γ the
rotations of the first three revolute joints. The rotations must satisfy

    W = e^{iα} (l₁ + e^{iβ} (l₂ + e^{iγ} l₃)).

The redundancy is resolved by one of two methods:

*Equal bends* (`solve`): links 2 and 3 bend by the same angle t. For an arm that is straight at q =
0 this means θ₂ = θ₃ = t (Urrea and Coltters). With c = cos t,

    4 L₁ L₃ c² + 2 L₂ (L₁ + L₃) c + (L₁ − L₃)² + L₂² − |W|² = 0,

which gives up to four solutions. RIGHTY bends to the left (t > 0, elbows right of the line from
axis 1 to W), LEFTY bends to the right. OPEN has the larger root c, CURLED the smaller one.
Positions close to axis 1 cannot be reached with equal bends.

*Given heading* (`family_of`): the heading φ = α + β + γ of link 3 is given, and links 1 and 2 reach
W − e^{iφ} l₃. `nearest` searches all φ and both elbows for the solution within the limits that is
closest to a given configuration q0.

The tool rotates only about the vertical. The nearest orientation of this kind is used, and its
angle to the target is the orientation error, as for any SCARA.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from brazo.codegen.ring import maximum, minimum, sqrt
from brazo.kinematics.chain import Chain
from brazo.kinematics.closed_form.base import (
    GEOMETRY_TOLERANCE,
    Candidate,
    ClosedForm,
    Mismatch,
    Scalar,
    Solutions,
    pose_errors,
    wrap,
)
from brazo.kinematics.closed_form.pairs import (
    Pair,
    angle_of,
    back,
    length,
    of_angle,
    times,
    unit,
)
from brazo.kinematics.closed_form.planar import (
    ParallelJoints,
    bend_of,
    headed,
    nearest_turn,
    reach_of,
    two_links,
    within,
)
from brazo.kinematics.closed_form.scara import ELBOW
from brazo.kinematics.closed_form.search import lowest_on_circle
from brazo.kinematics.forward import Pose, compose, constant
from brazo.kinematics.result import into_limits, violations

Array = np.ndarray

FAMILY = "SCARA with one redundant joint"


def recognise(chain: Chain) -> RedundantScara | Mismatch:
    """Return the solver if the arm belongs to this family, otherwise the reason why it does not."""
    if chain.n != 5:
        return Mismatch(FAMILY, f"it has {chain.n} joints, not five")
    joints = ParallelJoints.of(chain, 5)
    if isinstance(joints, str):
        return Mismatch(FAMILY, joints)
    if np.abs(joints.links).min() <= GEOMETRY_TOLERANCE * chain.size:
        return Mismatch(FAMILY, "two of its parallel revolute axes coincide")
    return RedundantScara(chain, joints)


class RedundantScara(ClosedForm):
    """Solver for a SCARA arm with one redundant joint; see the module docstring."""

    family = FAMILY
    meets = "nearest"
    flags = (ELBOW, ("curl", ("OPEN", "CURLED")))

    def __init__(self, chain: Chain, joints: ParallelJoints) -> None:
        self.chain, self.joints = chain, joints
        self.l1, self.l2, self.l3 = joints.links
        L1, L2, L3 = np.abs(joints.links)
        # The root c of the equal bends is double at the smallest |W|.
        self.vertex = -L2 * (L1 + L3) / (4 * L1 * L3)
        least = max(self.vertex, -1.0)
        self.bend_at_least_reach = math.acos(least)
        self.reach_equal_bends = (self._radius(least), float(L1 + L2 + L3))
        self.reach = (float(max(2 * max(L1, L2, L3) - L1 - L2 - L3, 0.0)), float(L1 + L2 + L3))

    def family_of(self, T: ArrayLike, heading: ArrayLike) -> Solutions:
        """Return the LEFTY and RIGHTY solutions for poses T (..., 4, 4) and headings φ (...).

        φ (rad) is the heading of link 3: the sum of the rotations of the first three revolute
        joints.
        """
        T = np.asarray(T, dtype=float)
        heading = np.asarray(heading, dtype=float)
        batch = np.broadcast_shapes(T.shape[:-2], heading.shape)
        flat = np.broadcast_to(T, (*batch, 4, 4)).reshape(-1, 4, 4)
        phi = np.broadcast_to(heading, batch).reshape(-1, 1)
        elbow = np.array([[0, 1]])
        q, ok = self._with_heading(*self._wrists(flat), np.repeat(phi, 2, axis=1), elbow)
        position, orientation = pose_errors(self.chain, q, flat)
        return Solutions(
            q.reshape(*batch, 2, 5),
            ok.reshape(*batch, 2),
            ELBOW[1],
            position.reshape(*batch, 2),
            orientation.reshape(*batch, 2),
        )

    def nearest(
        self, T: ArrayLike, q0: ArrayLike, limits: ArrayLike | None = None
    ) -> tuple[Array, Array]:
        """Return the solutions (..., n) within limits (n, 2) closest to q0, and whether they exist.

        The distance is the sum of the squared changes of the revolute joints. It is minimised over
        the heading φ on a grid of 1° and at every φ at which a joint is at a limit, and then
        refined.
        """
        T = np.asarray(T, dtype=float)
        batch = T.shape[:-2]
        limits = np.full((5, 2), (-np.inf, np.inf)) if limits is None else np.asarray(limits)
        q0 = np.broadcast_to(np.asarray(q0, dtype=float), (*batch, 5)).reshape(-1, 5)
        flat = T.reshape(-1, 4, 4)
        q, found = np.empty((len(flat), 5)), np.empty(len(flat), dtype=bool)
        for start in range(0, len(flat), 256):  # the grid of 256 targets stays in the cache
            part = slice(start, start + 256)
            q[part], found[part] = self._nearest(flat[part], q0[part], limits)
        return q.reshape(*batch, 5), found.reshape(batch)

    def flag_values(self, q: Array) -> Array:
        turns = self.joints.turns(q)
        second = bend_of(self.l1, self.l2, turns[1])
        mean = second + 0.5 * wrap(bend_of(self.l2, self.l3, turns[2]) - second)
        curled = np.cos(mean) < self.vertex - 1e-12
        return np.stack([(second >= -1e-12).astype(int), curled.astype(int)], axis=-1)

    def why_unreachable(self, T: ArrayLike) -> str | None:
        W = self._wrist(constant(np.asarray(T, dtype=float).reshape(4, 4)))[0]
        distance = float(length(*W))
        low, high = self.reach_equal_bends
        if within(distance, self.reach_equal_bends) >= 0:
            return None
        free = f", with unequal bends {self.reach[0]:.4g} to {self.reach[1]:.4g} m"
        return (
            f"the last axis would be {distance:.4g} m from axis 1; with equal bends (θ2 = θ3) "
            f"the arm reaches {low:.4g} to {high:.4g} m{free}"
        )

    def formula(self, T: Pose, q0: list[Scalar], given: Scalar) -> list[Candidate]:
        W, psi, slide = self._wrist(T)
        L1, L2, L3 = np.abs(self.joints.links).tolist()
        rho2 = W[0] * W[0] + W[1] * W[1]
        square = self.vertex**2 - ((L1 - L3) ** 2 + L2**2 - rho2) * (0.25 / (L1 * L3))
        root = sqrt(maximum(square, 0.0))
        bends = []
        for c in (self.vertex + root, self.vertex - root):
            c = maximum(minimum(c, 1.0), -1.0)
            bends.append((c, sqrt((1.0 - c) * (1.0 + c))))
        ways = [*(back(bend) for bend in bends), *bends]  # LEFTY, RIGHTY; OPEN, CURLED
        own = [_back_unit(b / a) for a, b in ((self.l1, self.l2), (self.l2, self.l3))]
        found = []
        for bend in ways:
            beta, gamma = times(bend, own[0]), times(bend, own[1])
            x, y = times(gamma, (self.l3.real, self.l3.imag))
            x, y = times(beta, (x + self.l2.real, y + self.l2.imag))
            alpha = unit(*times(W, (x + self.l1.real, -(y + self.l1.imag))))
            turns = [angle_of(turn) for turn in (alpha, beta, gamma)]
            turns.append(headed(psi, alpha, beta, gamma))
            found.append(Candidate(self.joints.fill(5, turns, slide)))
        return found

    def _nearest(self, T: Array, q0: Array, limits: Array) -> tuple[Array, Array]:
        # The two elbows are two functions of φ, searched together: rows 0..N−1 and N..2N−1.
        W, psi, slide = (np.tile(part, 2) for part in self._wrists(T))
        elbow = np.repeat([0, 1], len(T))[:, None]
        start = np.tile(q0, (2, 1))[:, None]
        revolute = self.chain.revolute

        def candidates(phi: Array) -> tuple[Array, Array]:
            q, ok = self._with_heading(W, psi, slide, phi, elbow)
            q = into_limits(q, limits, self.chain.kinds, start)
            cost = ((q - start)[..., revolute] ** 2).sum(axis=-1)
            return q, np.where(violations(q, limits).any(axis=-1) | ~ok, np.inf, cost)

        edges = self._edges(W, psi, limits)
        phi, _ = lowest_on_circle(lambda phi: candidates(phi)[1], len(W), edges)
        q, cost = candidates(phi[:, None])
        q, cost = q.reshape(2, -1, 5), cost.reshape(2, -1)
        best, rows = np.argmin(cost, axis=0), np.arange(len(T))
        return q[best, rows], np.isfinite(cost[best, rows])

    def _edges(self, W: Array, psi: Array, limits: Array) -> Array:
        """Return headings φ (N, M) of link 3 at the ends of feasible ranges.

        There a joint is at a limit, or links 1 and 2 are fully stretched or folded.
        """
        l1, l2, l3 = self.l1, self.l2, self.l3
        ends = [
            [sign * end for end in limits[joint] if np.isfinite(end)]
            for joint, sign in zip(self.joints.revolute, self.joints.turn_signs, strict=True)
        ]
        edges = []
        # Joint 2, or the reach, fixes how far the end of link 2 is from axis 1.
        distances = [*reach_of(l1, l2), *(abs(l1 + np.exp(1j * turn) * l2) for turn in ends[1])]
        rho, L3 = np.maximum(np.abs(W), 1e-300), abs(l3)
        for distance in distances:
            cosine = (rho**2 + L3**2 - distance**2) / (2 * rho * L3)
            swing = np.arccos(np.clip(cosine, -1.0, 1.0))
            edges += [np.angle(W / l3) + swing, np.angle(W / l3) - swing]
        for alpha in ends[0]:
            beta, gamma = _turns(l2, l3, W * np.exp(-1j * alpha) - l1)
            edges += list((alpha + beta + gamma).T)
        for gamma in ends[2]:
            alpha, beta = _turns(l1, l2 + np.exp(1j * gamma) * l3, W)
            edges += list((alpha + beta + gamma).T)
        edges += [psi - turn for turn in ends[3]]
        return wrap(np.stack(edges, axis=1))

    def _with_heading(
        self, W: Array, psi: Array, slide: Array, phi: Array, elbow: Array
    ) -> tuple[Array, Array]:
        """Return q (N, K, 5) for headings φ (N, K) of link 3, and whether q reaches the target.

        The second result has shape (N, K). W, psi and slide (N,) are the results of `_wrists`.
        `elbow` is 0 for LEFTY, 1 for RIGHTY.
        """
        E = W[:, None] - np.exp(1j * phi) * self.l3
        both = _turns(self.l1, self.l2, E, phi)
        alpha, beta = (np.where(elbow == 1, turn[..., 0], turn[..., 1]) for turn in both)
        turns = [alpha, beta, phi - alpha - beta, psi[:, None] - phi]
        values = self.joints.fill(5, [wrap(turn) for turn in turns], slide[:, None])
        q = np.stack(np.broadcast_arrays(*values), axis=-1)
        return q, within(np.abs(E), reach_of(self.l1, self.l2)) >= 0

    def _wrist(self, T: Pose) -> tuple[Pair, Pair, Scalar]:
        """Return W, ψ and the slide (m) for a target pose T.

        W is the position of the last axis relative to axis 1 in the plane, ψ the heading of the
        tool, and the slide the displacement of the prismatic joint.
        """
        home = self.chain.home
        R, _ = compose((T[0], [0.0] * 3), constant(np.linalg.inv(home)))
        psi = nearest_turn(R, self.joints.plane.a)
        W, slide = self.joints.aim(T[1], psi, home[:3, 3].tolist())
        return W, psi, slide

    def _wrists(self, T: Array) -> tuple[Array, Array, Array]:
        """Return `_wrist` for targets T (N, 4, 4): complex W, heading (rad), slide; each (N,)."""
        entries = T[:, :3].reshape(-1, 12).T
        R = [entries[4 * i + j] for i in range(3) for j in range(3)]
        W, psi, slide = self._wrist((R, [entries[3], entries[7], entries[11]]))
        return W[0] + 1j * W[1], angle_of(psi), slide

    def _radius(self, c: float) -> float:
        """Return the distance (m) of the last axis from axis 1 for equal bends with cosine c."""
        L1, L2, L3 = np.abs(self.joints.links)
        square = 4 * L1 * L3 * c * c + 2 * L2 * (L1 + L3) * c + (L1 - L3) ** 2 + L2**2
        return float(np.sqrt(max(square, 0.0)))


def _turns(l1: complex, l2: complex, W: Array, free: ArrayLike = 0.0) -> tuple[Array, Array]:
    """Return the angles α and β (..., 2) of `two_links` in rad for complex W (...).

    If W is 0, α is `free` (rad).
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        ways = two_links(l1, l2, (np.real(W), np.imag(W)), of_angle(np.asarray(free, dtype=float)))
    alpha, beta = (
        np.stack(np.broadcast_arrays(*(angle_of(way[k]) for way in ways)), axis=-1) for k in (0, 1)
    )
    return alpha, beta


def _back_unit(z: complex) -> Pair:
    """Return (cos, sin) of the angle −arg z."""
    return z.real / abs(z), -z.imag / abs(z)
