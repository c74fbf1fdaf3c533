"""Elimination of five of the six joint angles of a 6R arm (Raghavan and Roth 1993).

The joints and the tool pose form a closed loop S_a X_a S_b X_b … S_f X_f = 1, where S is the
rotation of a joint about z and X a fixed transform. The joints may be read in any cyclic order a,
b, c, d, e, f. The target pose is contained in X_a or X_f. The loop is written as

    X_b S_c X_c S_d X_d S_e X_e · u = S_b⁻¹ X_a⁻¹ S_a⁻¹ X_f⁻¹ · u,

where u is the origin or the z axis of frame f. This equation does not contain θ_f. Let p be the
image of the origin and l the image of the z axis. The fourteen scalars of

    p,   l,   p × l,   w = (p·p) l − 2 (p·l) p,   p·p,   p·l

are multilinear in (1, cos, sin) of θ_c, θ_d and θ_e on the left side, and of θ_a and θ_b on the
right side. Two groups of equations are reduced:

- The four z components and the two products do not contain θ_b. Two Householder reflections
  eliminate cos θ_a and sin θ_a from these six equations.
- The x and y components, written as complex numbers, are e^{-iθ_b} times an expression that is
  linear in (1, cos θ_a, sin θ_a). One linear combination of these four complex equations eliminates
  the three unknowns.

Six real equations in θ_c, θ_d and θ_e remain.

With the half angles C = cos(θ/2), S = sin(θ/2) the equations are linear in (C², CS, S²) of θ_d and
of θ_e. Multiplying them once by C and once by S of θ_d gives twelve equations, which are linear in
the twelve products of (C³, C²S, CS², S³) of θ_d and (C², CS, S²) of θ_e. Their determinant G is a
trigonometric polynomial of degree 8 in θ_c, whose real zeros are the solutions. The null vector at
a zero gives θ_d and θ_e. The equations before the elimination give θ_a, θ_b and θ_f.

The roles of c, d and e may be exchanged. One of them is the *kept* joint (θ_c above), one is
*doubled* (its half angles multiply the equations, θ_d above), and one is the *other* inner joint. A
`Reading` is an order of the loop with these roles. The left side does not depend on the target, so
it is computed once per robot. Lengths are in units of the arm's size. The functions from
`loop_target` on work for any scalar type (floats, NumPy arrays, graph nodes).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from brazo.codegen import ring
from brazo.codegen.linear import dot
from brazo.kinematics.forward import Pose, compose, constant, cross, rotate_back

Array = np.ndarray
Scalar = Any
Vector = list[Any]

DEGREE = 8  # of the determinant in θ_c
_TINY = 1e-150
# cos and sin of an angle in half angles: 1 = C² + S², cos = C² − S², sin = 2 C S.
_HALF = np.array([[1.0, 0.0, 1.0], [1.0, 0.0, -1.0], [0.0, 2.0, 0.0]])


@dataclass(frozen=True, eq=False)
class Reading:
    """One form of the loop equation: the order of the joints, and the roles of the inner joints.

    The module docstring explains the loop equation and the roles.
    """

    order: tuple[int, ...]  # the joints a, b, c, d, e, f
    sign: float  # −1 if the loop is read backwards
    # Which of the inner joints c, d, e (0, 1, 2) is the kept, the doubled and the other one.
    roles: tuple[int, int, int]
    X: Array  # (6, 4, 4) transforms after the joints a … f; the identity for that of the target
    target: int  # 5 if the target is in X_f, 0 if in X_a
    # The transform with the target T is before · T⁻¹ · behind; before · T · behind if backwards.
    before: Array
    behind: Array
    left: Array  # (14, 3, 3, 3) coefficients of the left side; axes: kept, doubled, other joint

    @property
    def joint(self) -> int:
        """Index (0 to 5) of the kept joint: the joint whose angle is not eliminated."""
        return self.order[2 + self.roles[0]]


def readings(X: Array) -> list[Reading]:
    """Return all eight readings (forms) of the loop equation of an arm T = X₀ S₁ X₁ … S₆ X₆.

    X (7, 4, 4) contains the fixed transforms, with lengths in units of the arm's size.
    """
    found = []
    for backwards in (False, True):
        for target_first in (False, True):
            for roles in _ROLES:
                found.append(_reading(X, backwards, target_first, roles))
    return found


# With c as the kept joint the rounding error is by far the smallest.
_ROLES = ((0, 1, 2), (0, 2, 1))


def _reading(X: Array, backwards: bool, target_first: bool, roles: tuple[int, int, int]) -> Reading:
    """Make one reading (form) of the loop equation.

    If `target_first`, the target is in the first transform X_a of the loop, otherwise in the last,
    X_f. If `backwards`, the loop is inverted. `roles` are the indices in (c, d, e) of the kept, the
    doubled and the other joint.
    """
    # Loop: S₁ X₁ S₂ … X₅ S₆ K = 1 with K = X₆ T⁻¹ X₀; backwards its inverse.
    joints = list(range(6))
    after = [*X[1:6], None]
    before_T, after_T = X[6], X[0]
    if backwards:
        # 1 = K⁻¹ S₆⁻¹ X₅⁻¹ … S₁⁻¹, cyclic: S₆⁻¹ X₅⁻¹ … S₁⁻¹ K⁻¹; K⁻¹ = X₀⁻¹ T X₆⁻¹.
        joints = joints[::-1]
        after = [*(_inverse(x) for x in X[5:0:-1]), None]
        before_T, after_T = _inverse(X[0]), _inverse(X[6])
    if target_first:  # the target between a and b
        joints, after = [joints[-1], *joints[:-1]], [after[-1], *after[:-1]]
    fixed = np.array([np.eye(4) if x is None else x for x in after])
    sign = -1.0 if backwards else 1.0
    left = _left(fixed, roles)
    return Reading(
        tuple(joints), sign, roles, fixed, 0 if target_first else 5, before_T, after_T, left
    )


def _inverse(X: Array) -> Array:
    """Return the inverse of a pose (4, 4)."""
    Y = np.eye(4)
    Y[:3, :3] = X[:3, :3].T
    Y[:3, 3] = -X[:3, :3].T @ X[:3, 3]
    return Y


def _left(X: Array, roles: tuple[int, int, int]) -> Array:
    """Return the coefficients (14, 3, 3, 3) of the left side of the loop equation.

    The first axis contains the fourteen scalars of the module docstring: z components and products,
    then x components, then y components. The coefficients multiply (1, cos θ, sin θ) of the kept
    joint and (C², CS, S²) of the doubled and of the other joint, where C = cos(θ/2) and
    S = sin(θ/2). They are determined from the values at three angles per joint.
    """
    angles = 2 * math.pi / 3 * np.arange(3)
    turns = np.zeros((3, 4, 4))
    for k, angle in enumerate(angles):
        turns[k] = np.eye(4)
        c, s = math.cos(angle), math.sin(angle)
        turns[k, :2, :2] = [[c, -s], [s, c]]
    U = np.einsum("ij,ajk,kl->ail", X[1], turns, X[2])
    V = np.einsum("ajk,kl->ajl", turns, X[3])
    W = np.einsum("ajk,kl->ajl", turns, X[4])
    P = np.einsum("aij,bjk,ckl->abcil", U, V, W)
    p, l = P[..., :3, 3], P[..., :3, 2]
    pp, pl = (p * p).sum(-1), (p * l).sum(-1)
    m = np.cross(p, l)
    w = pp[..., None] * l - 2 * pl[..., None] * p
    values = np.stack(
        [p[..., 2], l[..., 2], m[..., 2], w[..., 2], pp, pl]
        + [v[..., i] for i in (0, 1) for v in (p, l, m, w)]
    )
    trig = np.linalg.inv(np.stack([np.ones(3), np.cos(angles), np.sin(angles)], axis=1))
    values = np.einsum("nabc,ia,jb,kc->nijk", values, trig, trig, trig)
    values[np.abs(values) < 1e-15 * np.abs(values).max(axis=(1, 2, 3), keepdims=True)] = 0.0
    kept, doubled, other = roles
    values = values.transpose(0, 1 + kept, 1 + doubled, 1 + other)
    return np.einsum("nijk,jb,kc->nibc", values, _HALF, _HALF)


# --- the right side, which contains the target --------------------------------------------------


def loop_target(reading: Reading, T: Sequence[Scalar]) -> Pose:
    """Return the transform of the loop that contains the target T: X_a or X_f.

    T has 12 scalars, three rows of four.
    """
    R = [T[4 * i + j] for i in range(3) for j in range(3)]
    p = [T[4 * i + 3] for i in range(3)]
    pose = (R, p) if reading.sign < 0 else inverted((R, p))
    return compose(compose(constant(reading.before), pose), constant(reading.behind))


@dataclass(frozen=True, slots=True)
class RightSide:
    """Right side of the loop equation: coefficients of (1, cos θ_a, sin θ_a).

    The rotation by −θ_b is not included.
    """

    flat: list[list[Scalar]]  # six equations: z of p, l, p × l, w; p·p, p·l
    turned: list[list[tuple[Scalar, Scalar]]]  # four complex equations: (x, y) of p, l, p × l, w


def right_side(reading: Reading, K: Pose) -> RightSide:
    """Return the right side of the loop equation; K is the result of `loop_target`."""
    R, t = K if reading.target == 0 else constant(reading.X[0])
    F = inverted(K if reading.target == 5 else constant(reading.X[5]))
    h, n = F[1], [F[0][2], F[0][5], F[0][8]]
    m = cross(h, n)
    hh = dot(h, h) + dot(t, t)
    hn = dot(h, n)
    parts: list[list[list[Scalar]]] = [[], [], [], []]
    flat: list[list[Scalar]] = [[], [], [], [], [], []]
    for k in range(3):
        hk, nk, mk = (_turned_back(v, k) for v in (h, n, m))
        one = 1.0 if k == 0 else 0.0
        tn = dot(t, nk)
        p = [a - one * b for a, b in zip(hk, t, strict=True)]
        cross_t = cross(t, nk)
        x = [a - b for a, b in zip(mk, cross_t, strict=True)]
        turned = cross(t, mk)
        w = [hh * nk[i] + 2.0 * turned[i] - 2.0 * (hn * p[i] + tn * t[i]) for i in range(3)]
        for part, v in zip(parts, (p, nk, x, w), strict=True):
            part.append(rotate_back(R, v))
        flat[4].append(one * hh - 2.0 * dot(t, hk))
        flat[5].append(one * hn - tn)
    for i, part in enumerate(parts):
        flat[i] = [v[2] for v in part]
    return RightSide(flat, [[(v[0], v[1]) for v in part] for part in parts])


def _turned_back(v: Vector, k: int) -> Vector:
    """Return the vector that is multiplied by 1, cos θ or sin θ (k = 0, 1, 2) in Rz(−θ) v."""
    if k == 0:
        return [0.0, 0.0, v[2]]
    return [v[0], v[1], 0.0] if k == 1 else [v[1], -v[0], 0.0]


# --- six equations in c, d, e -------------------------------------------------------------------


def equations(reading: Reading, right: RightSide) -> list[Vector]:
    """Return the six equations that remain after the elimination, each as 27 coefficients.

    The coefficients multiply the products of (1, cos θ, sin θ) of the kept joint, (C², CS, S²) of
    the doubled joint and (C², CS, S²) of the other joint, where C = cos(θ/2) and S = sin(θ/2).
    """
    left = [[float(x) for x in row] for row in reading.left.reshape(14, 27)]
    # The constant of the right side belongs to 1 = (C² + S²)(C² + S²).
    rows: list[Vector] = []
    for k in range(6):
        row: Vector = list(left[k])
        for place in (0, 2, 6, 8):
            row[place] = row[place] - right.flat[k][0]
        rows.append(row)
    columns = [[row[j] for row in right.flat] for j in (1, 2)]
    reflect(columns, rows, 0)
    nu = _left_null(right.turned)
    real, imaginary = [], []
    for j in range(27):
        x, y = ([left[6 + 4 * i + k][j] for k in range(4)] for i in (0, 1))
        a, b = [z[0] for z in nu], [z[1] for z in nu]
        real.append(dot(a, x) - dot(b, y))
        imaginary.append(dot(a, y) + dot(b, x))
    return [*rows[2:], real, imaginary]


def reflect(columns: list[Vector], rows: list[Vector], first: int) -> list[Scalar]:
    """Make the matrix with these columns upper triangular by Householder reflections.

    The same reflections are applied to `rows`, which contains the other columns of the equations,
    stored row by row. Both arguments are changed in place, from row `first` on. Returns the
    diagonal of the triangular matrix.
    """
    count = len(rows)
    diagonal = []
    for k, column in enumerate(columns):
        top = first + k
        v = column[top:count]
        norm = ring.sqrt(dot(v, v))
        alpha = ring.where(v[0], -norm, norm)
        diagonal.append(alpha)
        head = v[0] - alpha
        scale = 1.0 / ring.maximum(norm * ring.absolute(head), _TINY)
        v = [head, *v[1:]]
        for other in columns[k + 1 :]:
            _reflected(v, scale, other, top)
        for j in range(len(rows[0]) if rows else 0):
            part = [rows[i][j] for i in range(top, count)]
            s = dot(v, part) * scale
            for i in range(top, count):
                rows[i][j] = rows[i][j] - s * v[i - top]
        column[top] = alpha
        for i in range(top + 1, count):
            column[i] = 0.0
    return diagonal


def _reflected(v: Vector, scale: Scalar, column: Vector, top: int) -> None:
    """Apply the reflection (1 − scale · v vᵀ) to a column in place, from row `top` on."""
    s = dot(v, column[top : top + len(v)]) * scale
    for i, x in enumerate(v):
        column[top + i] = column[top + i] - s * x


Complex = tuple[Any, Any]


def _times(a: Complex, b: Complex) -> Complex:
    return a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]


def _minus(a: Complex, b: Complex) -> Complex:
    return a[0] - b[0], a[1] - b[1]


def _left_null(rows: list[list[Complex]]) -> list[Complex]:
    """Return the unit vector ν (4) with νᵀ A = 0 for a complex matrix A (4, 3), given as rows."""

    def minor(i: int, j: int) -> Complex:
        return _minus(_times(rows[i][1], rows[j][2]), _times(rows[i][2], rows[j][1]))

    minors = {(i, j): minor(i, j) for i in range(4) for j in range(i + 1, 4)}
    nu = []
    for k in range(4):
        i, j, m = (r for r in range(4) if r != k)
        a = _times(rows[i][0], minors[j, m])
        b = _times(rows[j][0], minors[i, m])
        c = _times(rows[m][0], minors[i, j])
        value = (a[0] - b[0] + c[0], a[1] - b[1] + c[1])
        nu.append(value if k % 2 == 0 else (-value[0], -value[1]))
    size = nu[0][0] * nu[0][0] + nu[0][1] * nu[0][1]
    for z in nu[1:]:
        size = size + z[0] * z[0] + z[1] * z[1]
    scale = 1.0 / ring.sqrt(ring.maximum(size, _TINY))
    return [(z[0] * scale, z[1] * scale) for z in nu]


# --- the determinant and its null vector ---------------------------------------------------------


def triangle(E: list[Vector], cosine: Scalar, sine: Scalar) -> list[Vector]:
    """Return the triangular factor U (12, 12) of the twelve equations at one kept joint angle.

    E are the six equations of `equations`, and `cosine` and `sine` are those of the kept joint's
    angle. The twelve equations are these six times C and times S of the doubled joint. Both halves
    contain the same block of columns, shifted by three, so this block is reduced only once.
    """
    M = [[row[j] + cosine * row[9 + j] + sine * row[18 + j] for j in range(9)] for row in E]
    columns = [[row[j] for row in M] for j in range(3)]
    rest = [row[3:] for row in M]
    reflect(columns, rest, 0)
    U: list[Vector] = [[0.0] * 12 for _ in range(12)]
    for i in range(3):
        for j in range(3):
            U[i][j] = columns[j][i] if i <= j else 0.0
        U[i][3:9] = rest[i]
    # Next block column: the triangle of the equations times S over the lower half of those times C.
    lower = [list(row) for row in rest[3:]]  # (3, 6)
    stack = [[columns[j][i] if i <= j else 0.0 for j in range(3)] + rest[i] for i in range(3)]
    block = [*stack, *([*row, 0.0, 0.0, 0.0] for row in lower)]  # (6, 9)
    columns2 = [[row[j] for row in block] for j in range(3)]
    rest2 = [row[3:] for row in block]
    reflect(columns2, rest2, 0)
    for i in range(3):
        for j in range(3):
            U[3 + i][3 + j] = columns2[j][i] if i <= j else 0.0
        U[3 + i][6:12] = rest2[i]
    last = [*rest2[3:], *lower]  # (6, 6)
    columns3 = [[row[j] for row in last] for j in range(6)]
    reflect(columns3, [[] for _ in range(6)], 0)
    for i in range(6):
        for j in range(i, 6):
            U[6 + i][6 + j] = columns3[j][i]
    return U


def determinant(U: list[Vector]) -> Scalar:
    """Return the determinant G of the twelve equations: the product of the diagonal of U."""
    value = U[0][0]
    for i in range(1, 12):
        value = value * U[i][i]
    return value


def null_vector(U: list[Vector]) -> Vector:
    """Return the null vector (12) of a nearly singular U, by one step of inverse iteration."""
    inverse = []
    for i in range(12):
        d = U[i][i]
        small = ring.absolute(d) - 1e-14
        inverse.append(1.0 / ring.where(small, d, 1e-14))
    y: Vector = []
    for i in range(12):
        value: Scalar = _START[i]
        for k in range(i):
            value = value - U[k][i] * y[k]
        y.append(value * inverse[i])
    size = ring.sqrt(dot(y, y))
    y = [v / size for v in y]
    x: Vector = [0.0] * 12
    for i in reversed(range(12)):
        value = y[i]
        for k in range(i + 1, 12):
            value = value - U[i][k] * x[k]
        x[i] = value * inverse[i]
    return x


_START = (0.31, -0.47, 0.59, 0.83, -0.71, 0.37, 0.53, 0.29, -0.61, 0.43, 0.67, -0.41)


def angles_of_null_vector(v: Vector) -> list[tuple[Scalar, Scalar]]:
    """Return (sin, cos) of the doubled and of the other inner joint, from a null vector (12)."""
    grid = [v[3 * k : 3 * k + 3] for k in range(4)]
    pairs = [(grid[k][j], grid[k + 1][j]) for k in range(3) for j in range(3)]
    other = [(grid[k][j], grid[k][j + 1]) for k in range(4) for j in range(2)]
    return [_unit(*_double_angle(p)) for p in (pairs, other)]


def _double_angle(pairs: list[tuple[Scalar, Scalar]]) -> tuple[Scalar, Scalar]:
    """Return (sin θ, cos θ) times a common factor.

    Each of `pairs` is a multiple of (cos(θ/2), sin(θ/2)).
    """
    sine, cosine = 2.0 * (pairs[0][0] * pairs[0][1]), _difference(*pairs[0])
    for a, b in pairs[1:]:
        sine = sine + 2.0 * (a * b)
        cosine = cosine + _difference(a, b)
    return sine, cosine


def _difference(a: Scalar, b: Scalar) -> Scalar:
    return a * a - b * b


def _unit(sine: Scalar, cosine: Scalar) -> tuple[Scalar, Scalar]:
    scale = 1.0 / ring.sqrt(ring.maximum(sine * sine + cosine * cosine, _TINY))
    return sine * scale, cosine * scale


# --- the remaining joints ------------------------------------------------------------------------


def solution(
    reading: Reading, K: Pose, right: RightSide, E: list[Vector], cosine: Scalar, sine: Scalar
) -> list[tuple[Scalar, Scalar]]:
    """Return (sin, cos) of joints 1 … 6 for one zero of the determinant G.

    `cosine` and `sine` are those of the kept joint's angle at the zero. K, `right` and E are the
    results of `loop_target`, `right_side` and `equations`.
    """
    doubled, other = angles_of_null_vector(null_vector(triangle(E, cosine, sine)))
    inner: list[Any] = [None] * 3
    for role, value in zip(reading.roles, ((sine, cosine), doubled, other), strict=True):
        inner[role] = value
    poses = [constant(x) for x in reading.X]
    if reading.target == 0:
        poses[0] = K
    else:
        poses[5] = K
    chain = poses[1]
    for i, (s, c) in enumerate(inner):
        chain = compose(compose(chain, _turn(s, c)), poses[2 + i])
    # The values of the left side.
    p, l = chain[1], [chain[0][2], chain[0][5], chain[0][8]]
    m = cross(p, l)
    pp, pl = dot(p, p), dot(p, l)
    w = [pp * l[i] - 2.0 * (pl * p[i]) for i in range(3)]
    flat = [p[2], l[2], m[2], w[2], pp, pl]
    # θ_a: least squares of six equations.
    rows = [[value - row[0]] for value, row in zip(flat, right.flat, strict=True)]
    columns = [[row[j] for row in right.flat] for j in (1, 2)]
    d0, d1 = reflect(columns, rows, 0)
    sa = rows[1][0] / _safe(d1)
    ca = (rows[0][0] - columns[1][0] * sa) / _safe(d0)
    sa, ca = _unit(sa, ca)
    # θ_b: e^{-iθ_b} by least squares of four complex equations.
    sb, cb = 0.0, 0.0
    for v, part in zip((p, l, m, w), right.turned, strict=True):
        x = part[0][0] + part[1][0] * ca + part[2][0] * sa
        y = part[0][1] + part[1][1] * ca + part[2][1] * sa
        cb = cb + (v[0] * x + v[1] * y)
        sb = sb + (v[0] * y - v[1] * x)
    sb, cb = _unit(sb, cb)
    # θ_f: the product of all other transforms of the loop is S_f⁻¹.
    head = compose(poses[5], _turn(sa, ca))
    head = compose(compose(head, poses[0]), _turn(sb, cb))
    N = compose(head, chain)[0]
    sf, cf = _unit(N[1] - N[3], N[0] + N[4])
    found: list[Any] = [None] * 6
    values = [(sa, ca), (sb, cb), *inner, (sf, cf)]
    for joint, (s, c) in zip(reading.order, values, strict=True):
        found[joint] = (s * reading.sign, c)
    return found


def _safe(x: Scalar) -> Scalar:
    """Return x, or 1e-100 where |x| < 1e-100, for use as a divisor."""
    return ring.where(ring.absolute(x) - 1e-100, x, 1e-100)


def _turn(s: Scalar, c: Scalar) -> Pose:
    """Return the pose of a rotation about z by an angle with sine s and cosine c."""
    return [c, -s, 0.0, s, c, 0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.0]


def inverted(pose: Pose) -> Pose:
    """Return the inverse of a pose."""
    R, p = pose
    back = rotate_back(R, p)
    return [R[3 * j + i] for i in range(3) for j in range(3)], [-x for x in back]
