"""The lines that a run prints about itself."""

from __future__ import annotations

from brazo.program.summary import Summary
from brazo.simulation import Costs


def test_the_cost_of_a_run_that_hardly_began_is_left_out():
    def rows(steps: int) -> dict[str, str]:
        costs = Costs(1.0, 1.0, 1.0, 1.0, 250.0, steps)
        return Summary("p", False, 1e-3 * steps, {}, None, (), None, costs).rows()

    assert "cost" not in rows(0) and "cost" not in rows(1)
    assert "250.0 times real time" in rows(1000)["cost"]
