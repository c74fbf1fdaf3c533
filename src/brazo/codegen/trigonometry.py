"""Branch-free sine, cosine and atan2 as LLVM instructions, for one value or for SIMD lanes.

Sine and cosine
---------------

Argument reduction (Cody and Waite): ``k = rint(x * 2/pi)`` and ``x - k*pi/2 = r + lo``, where pi/2
is the sum of three doubles P1 + P2 + P3 (161 bits):

* ``r1 = fma(-k, P1, x)`` is exact: both terms are multiples of 2^-53 and the result is below 1;
* ``r = r1 - t``, where ``t`` is the rounded ``k*P2``. ``r1 - r`` is exact, because r1 is a multiple
  of the last place of t. One fma therefore gives the error of both roundings:
  ``(r1 - r) - k*P2``;
* the small terms are added to the low word: ``lo = (r1 - r) - k*P2 - k*P3``.

The two polynomials are fdlibm's minimax kernels on |r| <= pi/4. They are evaluated by Horner's rule
with fused multiply-adds and include the low word. The quadrant ``k mod 4`` swaps and negates them.
The error is below 1 ulp for |x| <= 1e8, where k has at most 26 bits. For larger |x|, infinities and
NaN, both results are NaN. Every step is one IEEE operation, so the results are bit-identical for
any number of lanes and on any CPU.

Angle of a point (atan2)
------------------------

Let u be the smaller and v the larger of |x| and |y|. If u/v <= tan(pi/8), then ``t = u/v`` and
atan(u/v) = atan(t). Otherwise ``t = (u - v)/(u + v)`` and atan(u/v) = pi/4 + atan(t). In both cases
|t| <= tan(pi/8), within the range of fdlibm's polynomial. The octants are reflections of each
other, so the absolute value of the angle is ``k*pi/4 +- atan(t)`` with k from 0 to 4. pi/4 is the
sum of two doubles, so this takes two fused multiply-adds. The sign is that of y. The error is below
2 ulp. |x| and |y| must be below 8e307. The angle of (0, 0) is 0, and -0 is treated as 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from brazo.codegen.graph import ROUND

__all__ = ["MAX_ANGLE", "emit_atan2", "emit_sincos"]

MAX_ANGLE = 1e8

_TWO_OVER_PI = float.fromhex("0x1.45f306dc9c883p-1")
_P1 = float.fromhex("0x1.921fb54442d18p+0")
_P2 = float.fromhex("0x1.1a62633145c07p-54")
_P3 = float.fromhex("-0x1.f1976b7ed8fbcp-110")

_S = (
    -1.66666666666666324348e-01,
    8.33333333332248946124e-03,
    -1.98412698298579493134e-04,
    2.75573137070700676789e-06,
    -2.50507602534068634195e-08,
    1.58969099521155010221e-10,
)
_C = (
    4.16666666666666019037e-02,
    -1.38888888888741095749e-03,
    2.48015872894767294178e-05,
    -2.75573143513906633035e-07,
    2.08757232129817482790e-09,
    -1.13596475577881948265e-11,
)
_A = (
    3.33333333333329318027e-01,
    -1.99999999998764832476e-01,
    1.42857142725034663711e-01,
    -1.11111104054623557880e-01,
    9.09088713343650656196e-02,
    -7.69187620504482999495e-02,
    6.66107313738753120669e-02,
    -5.83357013379057348645e-02,
    4.97687799461593236017e-02,
    -3.65315727442169155270e-02,
    1.62858201153657823623e-02,
)
_TAN_EIGHTH = 0.41421356237309503  # tan(pi/8)


class Assembler(Protocol):
    """The methods of `Emitter` that this module uses."""

    def number(self, value: float) -> str: ...
    def fadd(self, a: str, b: str) -> str: ...
    def fsub(self, a: str, b: str) -> str: ...
    def fmul(self, a: str, b: str) -> str: ...
    def fma(self, a: str, b: str, c: str) -> str: ...
    def fdiv(self, a: str, b: str) -> str: ...
    def fneg(self, a: str) -> str: ...
    def magnitude(self, x: str) -> str: ...
    def greater(self, a: str, b: str) -> str: ...
    def nan_beyond(self, x: str, bound: float) -> str: ...
    def bits(self, x: str) -> str: ...
    def odd(self, bits: str) -> str: ...
    def add_int(self, bits: str, value: int) -> str: ...
    def choose(self, condition: str, a: str, b: str) -> str: ...
    def negate_by_bit1(self, x: str, bits: str) -> str: ...


def emit_sincos(e: Assembler, x: str, want_sin: bool, want_cos: bool) -> tuple[str, str]:
    """Emit sin(x) and cos(x); return the names of both, or "" for one that is not requested."""
    num, add, sub, mul, fma = e.number, e.fadd, e.fsub, e.fmul, e.fma
    x = e.nan_beyond(x, MAX_ANGLE)
    shifted = fma(x, num(_TWO_OVER_PI), num(ROUND))
    k = sub(shifted, num(ROUND))
    quadrant = e.bits(shifted)
    r1 = fma(k, num(-_P1), x)
    r = sub(r1, mul(k, num(_P2)))
    minus_lo = fma(k, num(_P3), fma(k, num(_P2), sub(r, r1)))

    z = mul(r, r)
    half = num(-0.5)
    h = fma(z, half, num(1.0))  # 1 - z/2
    # sin(r + lo) = r - (r z p - lo h); written with differences, a zero keeps its sign
    p = _horner(e, z, [-c for c in _S])
    s = sub(r, fma(mul(z, r), p, mul(minus_lo, h)))
    # cos(r + lo) = h + (what rounding took from h - r lo + z z p)
    lost = fma(z, half, sub(num(1.0), h))
    p = _horner(e, z, _C)
    c = add(h, fma(mul(z, z), p, fma(r, minus_lo, lost)))

    swap = e.odd(quadrant)
    sin = e.negate_by_bit1(e.choose(swap, c, s), quadrant) if want_sin else ""
    cos = e.negate_by_bit1(e.choose(swap, s, c), e.add_int(quadrant, 1)) if want_cos else ""
    return sin, cos


def emit_atan2(e: Assembler, y: str, x: str) -> str:
    """Emit the angle of the point (x, y); return the name of its value."""
    num, fma, choose = e.number, e.fma, e.choose
    ax, ay = e.magnitude(x), e.magnitude(y)
    steep = e.greater(ay, ax)
    u, v = choose(steep, ax, ay), choose(steep, ay, ax)
    diagonal = e.greater(u, e.fmul(v, num(_TAN_EIGHTH)))
    up, down = choose(diagonal, e.fsub(u, v), u), choose(diagonal, e.fadd(u, v), v)
    t = e.fdiv(up, choose(e.greater(num(5e-324), down), num(1.0), down))
    z = e.fmul(t, t)
    angle = fma(e.fmul(t, z), e.fneg(_horner(e, z, _A)), t)
    left = e.greater(num(0.0), x)
    k = choose(diagonal, num(1.0), num(0.0))
    k, angle = choose(steep, e.fsub(num(2.0), k), k), choose(steep, e.fneg(angle), angle)
    k, angle = choose(left, e.fsub(num(4.0), k), k), choose(left, e.fneg(angle), angle)
    angle = fma(k, num(0.5 * _P1), fma(k, num(0.5 * _P2), angle))
    return choose(e.greater(num(0.0), y), e.fneg(angle), angle)


def _horner(e: Assembler, z: str, coefficients: Sequence[float]) -> str:
    value = e.number(coefficients[-1])
    for c in reversed(coefficients[:-1]):
        value = e.fma(value, z, e.number(c))
    return value
