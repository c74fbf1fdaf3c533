"""Metrics of a closed loop, accumulated step by step inside the compiled loop.

The metrics of joints and tool position are defined as in `brazo.recording.metrics`, but a run of
millions of steps need not be recorded.  `Accumulators.step` is part of the compiled loop, and
`Accumulators.results` computes the metrics from the sums.  q are the joint positions, r their
references and τ the joint torques.

    rms_error, max_error      of r − q, and of the distance between tool and reference tool position
    overshoot                 as a fraction of the range of the reference
    settling_time             s, from the last change of the reference until the error stays small
    energy                    ∫ |τ q̇| dt, J                 peak_torque   max |τ|
    saturation                fraction of the periods in which a drive was saturated
    jerk                      RMS of the second difference of q̇ divided by dt²
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from brazo.codegen import absolute, maximum, sqrt, where
from brazo.recording.metrics import BAND, CHANGED, overshoot_bounds, range_of

Scalar = Any
Vector = list[Scalar]
HUGE = 1e6  # rad, m, rad/s and m/s; a joint beyond it has diverged


@dataclass(frozen=True, slots=True, eq=False)
class LoopSignals:
    """Signals of one control period; vectors are lists of scalars of any type."""

    row: Scalar  # number of the period, from 0
    dt: Scalar
    error: Vector  # (n) r − q
    q: Vector
    qd: Vector
    torque: Vector  # (n) of the drives
    wanted: Vector  # (n) commanded, before the limits of the drives
    tool: Vector  # (3) position
    tool_error: Vector  # (3)


class Accumulators:
    """Sums and extrema from which the metrics of runs along one reference are computed.

    `reference` (3, m, n) has position, velocity and acceleration at m samples, `dt` seconds apart.
    `tool` (m, 3) has the reference tool positions in metres, and `limits` (n,) the torque limits of
    the drives.
    """

    def __init__(
        self, reference: np.ndarray, tool: np.ndarray, dt: float, limits: np.ndarray
    ) -> None:
        self.rows, self.n = reference.shape[1:]
        self.dt, self.limits = dt, limits
        self.spans = np.ptp(reference[0], axis=0)
        self.tool_span = range_of(tool)
        self.stop = _stop_row(reference[0])
        n = self.n
        self.sizes = {
            "alive": 1,
            "squares": n,
            "max_error": n,
            "beyond": n,
            "outside": n,
            "energy": n,
            "power": n,
            "peak_torque": n,
            "saturated": n,
            "jerk": n,
            "before": 2 * n,
            "tool_square": 1,
            "tool_max": 1,
            "tool_beyond": 1,
            "tool_outside": 1,
        }
        bounds = [overshoot_bounds(reference[0][:, i]) for i in range(n)]
        tool_bounds = overshoot_bounds(tool)
        # Inputs of the loop, so that all references share its machine code.
        self.inputs = {
            "metric_band": np.array([*(BAND * self.spans), BAND * self.tool_span]),
            "metric_stop": np.array([self.stop - 0.5]),
            "metric_low": np.array([*(float(low[0]) for low, _ in bounds), *tool_bounds[0]]),
            "metric_high": np.array([*(float(high[0]) for _, high in bounds), *tool_bounds[1]]),
        }

    @property
    def size(self) -> int:
        return sum(self.sizes.values())

    def start(self) -> np.ndarray:
        """Initial values (size,) of the sums and extrema."""
        parts = [
            np.full(size, -1.0 if name in ("outside", "tool_outside") else 0.0)
            for name, size in self.sizes.items()
        ]
        return np.concatenate(parts)

    def step(self, flat: Sequence[Scalar], inputs: Mapping[str, Vector], x: LoopSignals) -> Vector:
        """Return the sums after one more control period, from the sums `flat` before this period.

        `inputs` are the symbols of `self.inputs`, and `x` has the signals of the period.
        """
        a, n = _split(flat, self.sizes), self.n
        low, high, band = inputs["metric_low"], inputs["metric_high"], inputs["metric_band"]
        late = x.row - inputs["metric_stop"][0]
        size = [absolute(e) for e in x.error]
        largest: Scalar = 0.0
        for value in (*x.q, *x.qd):
            largest = maximum(largest, absolute(value))
        power = [absolute(t * v) for t, v in zip(x.torque, x.qd, strict=True)]
        before, older = a["before"][:n], a["before"][n:]
        second = [x.qd[i] - 2.0 * before[i] + older[i] for i in range(n)]
        past = [maximum(t - h, lo - t) for t, lo, h in zip(x.tool, low[n:], high[n:], strict=True)]
        past = [maximum(p, 0.0) for p in past]
        square = _square(x.tool_error)
        distance = sqrt(square)

        def outside(last: Scalar, value: Scalar, allowed: Scalar) -> Scalar:
            return where(late, where(allowed - value, last, x.row), last)

        after: dict[str, Vector] = {
            "alive": [a["alive"][0] + where(HUGE - largest, 1.0, 0.0)],
            "squares": [a["squares"][i] + size[i] * size[i] for i in range(n)],
            "max_error": [maximum(a["max_error"][i], size[i]) for i in range(n)],
            "beyond": [
                maximum(a["beyond"][i], maximum(x.q[i] - high[i], low[i] - x.q[i]))
                for i in range(n)
            ],
            "outside": [outside(a["outside"][i], size[i], band[i]) for i in range(n)],
            "energy": [
                a["energy"][i] + where(x.row - 0.5, 0.5 * x.dt * (a["power"][i] + power[i]), 0.0)
                for i in range(n)
            ],
            "power": power,
            "peak_torque": [maximum(a["peak_torque"][i], absolute(x.torque[i])) for i in range(n)],
            "saturated": [
                a["saturated"][i] + where(limit - absolute(x.wanted[i]), 0.0, 1.0)
                if np.isfinite(limit)
                else a["saturated"][i]
                for i, limit in enumerate(self.limits.tolist())
            ],
            "jerk": [
                a["jerk"][i] + where(x.row - 1.5, second[i] * second[i], 0.0) for i in range(n)
            ],
            "before": [*x.qd, *before],
            "tool_square": [a["tool_square"][0] + square],
            "tool_max": [maximum(a["tool_max"][0], distance)],
            "tool_beyond": [maximum(a["tool_beyond"][0], sqrt(_square(past)))],
            "tool_outside": [outside(a["tool_outside"][0], distance, band[n])],
        }
        return [value for name in self.sizes for value in after[name]]

    def results(self, flat: np.ndarray) -> dict[str, np.ndarray]:
        """Compute the metrics from the sums (..., size), as a dictionary.

        Metrics of joints are (..., n).  Metrics of the tool are (...), with keys such as
        `rms_error.tool`.  Undefined values and all values of a diverged run are NaN.
        """
        a = _split(np.moveaxis(flat, -1, 0), self.sizes)
        a = {name: np.moveaxis(np.asarray(part), 0, -1) for name, part in a.items()}
        with np.errstate(invalid="ignore", divide="ignore"):
            spans = np.where(self.spans > CHANGED, self.spans, np.nan)
            found = {
                "rms_error": np.sqrt(a["squares"] / self.rows),
                "max_error": a["max_error"],
                "overshoot": np.maximum(a["beyond"], 0.0) / spans,
                "settling_time": np.where(
                    self.spans > CHANGED, self._settled(a["outside"]), np.nan
                ),
                "energy": a["energy"],
                "peak_torque": a["peak_torque"],
                "saturation": a["saturated"] / self.rows,
                "jerk": np.sqrt(a["jerk"] / max(self.rows - 2, 1)) / self.dt**2,
                "rms_error.tool": np.sqrt(a["tool_square"] / self.rows)[..., 0],
                "max_error.tool": a["tool_max"][..., 0],
            }
            span = self.tool_span if self.tool_span > CHANGED else np.nan
            found["overshoot.tool"] = a["tool_beyond"][..., 0] / span
            settled = self._settled(a["tool_outside"])[..., 0]
            found["settling_time.tool"] = settled + 0.0 * span
        failed = np.isfinite(self.failed_at(flat))
        for name, values in found.items():
            mask = failed if name.endswith(".tool") else failed[..., None]
            found[name] = np.where(mask, np.nan, values)
        return found

    def failed_at(self, flat: np.ndarray) -> np.ndarray:
        """Time (...) in s at which each run diverged; NaN if a run did not diverge."""
        alive = flat[..., 0]
        return np.where(alive < self.rows, alive * self.dt, np.nan)

    def _settled(self, last: np.ndarray) -> np.ndarray:
        """Settling time (s), from the index `last` of the last row outside the error band.

        The time is 0 if `last` is -1 (no such row), and NaN if `last` is the final row.
        """
        time = np.maximum((last + 1.0 - self.stop) * self.dt, 0.0)
        return np.where(last < 0.0, 0.0, np.where(last >= self.rows - 1, np.nan, time))


def _stop_row(q: np.ndarray) -> int:
    """Index of the row at which a reference (m, n) reaches its final value."""
    moving = np.flatnonzero((np.abs(q - q[-1]) > CHANGED).any(axis=1))
    return int(moving[-1]) + 1 if len(moving) else 0


def _square(values: Vector) -> Scalar:
    total: Scalar = 0.0
    for value in values:
        total = total + value * value
    return total


def _split(flat: Any, sizes: Mapping[str, int]) -> dict[str, Any]:
    parts, start = {}, 0
    for name, size in sizes.items():
        parts[name] = flat[start : start + size]
        start += size
    return parts
