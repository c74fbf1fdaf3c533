"""The figure of bilateral runs."""

from __future__ import annotations

import numpy as np
import pytest

from brazo.errors import BrazoError
from brazo.teleop.bilateral import Hand, Pair, TaskMap, WaveVariables, figure, plot, strokes
from brazo.teleop.mapping.base import IncrementMap
from brazo.world import World


def test_a_figure_has_a_column_for_each_run(tmp_path):
    pair = Pair(
        World("teleop-wall"), WaveVariables(), Hand(strokes([(0, 0, 0, 0), (0.2, 0, 0, -0.01)])),
        TaskMap(IncrementMap(np.eye(3))), delay=0.01,
    )  # fmt: skip
    with pytest.raises(BrazoError, match="at least two cycles"):
        figure([pair.trace()])
    trace = pair.run(0.3)
    found = figure([trace, trace, trace])
    assert len(found.axes) == 9
    assert found.axes[0].get_title("left") == "wave variables, 10 ms one way"
    drawn = found.axes[0].lines[1].get_ydata()  # the master's displacement: downwards
    assert drawn.max() == pytest.approx(-1e3 * trace.master.x[:, 2].min(), rel=1e-9)
    path = plot([trace], tmp_path / "run.svg", "a run")
    assert "felt" in path.read_text(encoding="utf-8")
    with pytest.raises(BrazoError, match="written as"):
        plot([trace], tmp_path / "run.gif")
