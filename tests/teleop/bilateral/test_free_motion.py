"""Free motion: tracking of the master's path by the follower, without drift."""

from __future__ import annotations

import numpy as np
import pytest

from brazo.teleop.bilateral import Hand, Pair, TaskMap, WaveVariables, strokes
from brazo.teleop.mapping.base import IncrementMap
from brazo.world import World

WAY = strokes(
    [(0.7, 0, 0, 0), (1.5, 0.05, 0, 0), (2.3, 0.05, 0.05, 0.03), (3.1, -0.05, 0.02, 0.05),
     (3.9, 0.03, 0.03, 0.02)]
)  # fmt: skip


@pytest.mark.parametrize(
    ("line", "lag", "rms"),
    [
        ({"delay": 0.0}, 0.03, 0.3e-3),
        ({"delay": 0.2}, 0.24, 1.5e-3),
        ({"delay": 0.2, "jitter": 0.1, "kind": "ordered", "loss": 0.05, "twice": 0.05}, 0.34, 2e-3),
    ],
    ids=["0 ms", "200 ms", "200 ± 100 ms"],
)
def test_path_is_repeated_with_delay_without_drift(line, lag, rms):
    pair = Pair(
        World("teleop-wall"), WaveVariables(), Hand(WAY), TaskMap(IncrementMap(np.eye(3))), **line
    )
    trace = pair.run(6.0)
    report = trace.report()
    assert np.linalg.norm(trace.follower.x, axis=1).max() > 0.05
    # The springs of both ends take about b/K each.
    assert report.lag == pytest.approx(lag, abs=0.03)
    assert report.tracking_rms < rms
    assert report.apart < 5e-5 and report.moving < 5e-5
    assert trace.energy.min() >= 0.0
    # The delay as it was measured, from time stamps and from echoes.
    assert report.one_way[0] >= line["delay"] - line.get("jitter", 0.0) - 1e-9
    both = 2 * np.mean(trace.follower.one_way[-1000:])
    assert report.round_trip == pytest.approx(both, abs=0.02)
