"""Branch-free sine and cosine as LLVM instructions, for one value or for SIMD lanes.

Reduction (Cody and Waite): ``k = rint(x * 2/pi)`` and ``x - k*pi/2 = r + lo``, with pi/2 as the sum
of three doubles P1 + P2 + P3 (161 bits):

* ``r1 = fma(-k, P1, x)`` is exact: both terms are multiples of 2^-53 and the result is below 1;
* ``k*P2 = t + tl`` exactly, by one more fma, and ``r = r1 - t`` with what its rounding lost,
  ``(r1 - r) - t``: exact because r1 is a multiple of the last place of t (Fast2Sum);
* what is small joins the low word: ``lo = ((r1 - r) - t) - tl - k*P3``.

The two polynomials are fdlibm's minimax kernels on |r| <= pi/4 with the low word carried through,
and the quadrant ``k mod 4`` swaps and negates them. The error stays below 1 ulp for |x| <= 1e8,
where k has at most 26 bits; beyond that, and for infinities and NaN, both results are NaN, never a
wrong number. Every step is one IEEE operation, so the bits do not depend on the number of lanes or
the CPU.
"""

from __future__ import annotations

from typing import Protocol

__all__ = ["MAX_ANGLE", "emit_sincos"]

MAX_ANGLE = 1e8

_TWO_OVER_PI = float.fromhex("0x1.45f306dc9c883p-1")
_P1 = float.fromhex("0x1.921fb54442d18p+0")
_P2 = float.fromhex("0x1.1a62633145c07p-54")
_P3 = float.fromhex("-0x1.f1976b7ed8fbcp-110")
_ROUND = 1.5 * 2.0**52  # adding it leaves rint(v) in the low mantissa bits

_S1, _S2, _S3, _S4, _S5, _S6 = (
    -1.66666666666666324348e-01,
    8.33333333332248946124e-03,
    -1.98412698298579493134e-04,
    2.75573137070700676789e-06,
    -2.50507602534068634195e-08,
    1.58969099521155010221e-10,
)
_C1, _C2, _C3, _C4, _C5, _C6 = (
    4.16666666666666019037e-02,
    -1.38888888888741095749e-03,
    2.48015872894767294178e-05,
    -2.75573143513906633035e-07,
    2.08757232129817482790e-09,
    -1.13596475577881948265e-11,
)


class Assembler(Protocol):
    """What is needed of an emitter: constants, arithmetic, comparison, integers and choice."""

    def number(self, value: float) -> str: ...
    def fadd(self, a: str, b: str) -> str: ...
    def fsub(self, a: str, b: str) -> str: ...
    def fmul(self, a: str, b: str) -> str: ...
    def fma(self, a: str, b: str, c: str) -> str: ...
    def nan_beyond(self, x: str, bound: float) -> str: ...
    def bits(self, x: str) -> str: ...
    def odd(self, bits: str) -> str: ...
    def add_int(self, bits: str, value: int) -> str: ...
    def choose(self, condition: str, a: str, b: str) -> str: ...
    def negate_by_bit1(self, x: str, bits: str) -> str: ...


def emit_sincos(e: Assembler, x: str, want_sin: bool, want_cos: bool) -> tuple[str, str]:
    """Emit sin(x) and cos(x); a result that is not wanted comes back as an empty string."""
    num, add, sub, mul, fma = e.number, e.fadd, e.fsub, e.fmul, e.fma
    x = e.nan_beyond(x, MAX_ANGLE)
    shifted = add(mul(x, num(_TWO_OVER_PI)), num(_ROUND))
    k = sub(shifted, num(_ROUND))
    quadrant = e.bits(shifted)
    r1 = fma(k, num(-_P1), x)
    t = mul(k, num(_P2))
    negative_tl = fma(k, num(-_P2), t)
    r = sub(r1, t)
    lo = fma(k, num(-_P3), add(sub(sub(r1, r), t), negative_tl))

    z = mul(r, r)
    w = mul(z, z)
    # sin(r + lo) = r - ((z*(lo/2 - v*p) - lo) - v*S1), v = z*r
    p = add(
        add(num(_S2), mul(z, add(num(_S3), mul(z, num(_S4))))),
        mul(mul(z, w), add(num(_S5), mul(z, num(_S6)))),
    )
    v = mul(z, r)
    inner = sub(mul(z, sub(mul(num(0.5), lo), mul(v, p))), lo)
    s = sub(r, sub(inner, mul(v, num(_S1))))
    # cos(r + lo) = h + (((1 - h) - z/2) + (z*p - r*lo)), h = 1 - z/2
    p = add(
        mul(z, add(num(_C1), mul(z, add(num(_C2), mul(z, num(_C3)))))),
        mul(mul(w, w), add(num(_C4), mul(z, add(num(_C5), mul(z, num(_C6)))))),
    )
    half = mul(num(0.5), z)
    h = sub(num(1.0), half)
    c = add(h, add(sub(sub(num(1.0), h), half), sub(mul(z, p), mul(r, lo))))

    swap = e.odd(quadrant)
    sin = e.negate_by_bit1(e.choose(swap, c, s), quadrant) if want_sin else ""
    cos = e.negate_by_bit1(e.choose(swap, s, c), e.add_int(quadrant, 1)) if want_cos else ""
    return sin, cos
