"""Display units, chosen by the magnitude of a value: deg or mdeg; m, mm or µm; and others."""

from __future__ import annotations

import math

# SI unit to (min peak value for the display unit, display unit, factor from SI), peaks descending.
_SHOWN: dict[str, tuple[tuple[float, str, float], ...]] = {
    "rad": ((math.radians(0.2), "deg", 180 / math.pi), (0.0, "mdeg", 180e3 / math.pi)),
    "rad/s": ((math.radians(0.2), "deg/s", 180 / math.pi), (0.0, "mdeg/s", 180e3 / math.pi)),
    "rad/s²": ((0.0, "deg/s²", 180 / math.pi),),
    "m": ((10.0, "m", 1.0), (2e-4, "mm", 1e3), (0.0, "µm", 1e6)),
    "m/s": ((0.0, "mm/s", 1e3),),
    "m/s²": ((0.0, "mm/s²", 1e3),),
    "N": ((1e4, "kN", 1e-3), (0.1, "N", 1.0), (0.0, "mN", 1e3)),
    "N m": ((0.1, "N m", 1.0), (0.0, "mN m", 1e3)),
    "J": ((0.1, "J", 1.0), (0.0, "mJ", 1e3)),
}


def display_unit(unit: str, peak: float | None = None, degrees: bool = True) -> tuple[str, float]:
    """Return the display unit of a signal, and the factor from SI to this unit.

    `peak` is the max absolute value.  Without `peak`, or if it is zero or not finite, the default
    unit is used: degrees, millimetres, newtons.  With `degrees=False`, angles stay in radians.  The
    display unit of a dimensionless signal (unit "1") is "".
    """
    if unit == "1":
        return "", 1.0
    if not degrees and unit.startswith("rad"):
        return unit, 1.0
    rules = _SHOWN.get(unit)
    if rules is None:
        return unit, 1.0
    if not peak or not math.isfinite(peak):
        default = {"m": 1, "N": 1}.get(unit, 0)
        return rules[default][1:]
    return next(rule[1:] for rule in rules if peak >= rule[0])


def number(value: float, digits: int = 3) -> str:
    """Format a value with `digits` significant digits: 0.00123, 12.3, 1230.

    Magnitudes below 1e-6 and from 1e10 have an exponent.  The result is "–" if the value is not
    finite.
    """
    if not math.isfinite(value):
        return "–"
    if value == 0.0:
        return "0"
    value = float(f"{value:.{digits - 1}e}")  # 9.9996 is rounded to 10.0
    size = math.floor(math.log10(abs(value)))
    if size < -6 or size > 9:
        return f"{value:.{digits - 1}e}"
    text = f"{value:.{max(0, digits - 1 - size)}f}"
    return text.replace("-", "−")


def measure(value: float, unit: str, digits: int = 3) -> str:
    """Format a value in SI units with its display unit: `12.3 mm`, `−0.400 deg`."""
    name, factor = display_unit(unit, abs(value))
    return f"{number(factor * value, digits)} {name}".strip()
