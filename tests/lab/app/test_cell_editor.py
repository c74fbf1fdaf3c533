"""`CellEditor`: edits of a cell, with a session that has only a simulation."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from brazo.errors import BrazoError
from brazo.lab.app.cell_editor import CellEditor
from brazo.model.transforms import translate
from brazo.project.history import History
from brazo.simulation import Simulation
from brazo.world.cell_edits import element, move, pose_of
from tests.world.scenes import cell

INSIDE = """robots: [{name: arm, robot: puma560}]
fixtures: [{name: block, box: [0.4, 0.4, 0.4], xyz: [0, 0, 0.3]}]
"""
BALL = "bodies: [{name: ball, sphere: 0.01, mass: 1, xyz: [5, 5, 1]}]"


@pytest.mark.parametrize("bodies", ["", BALL])
def test_undo_is_not_checked_for_overlap(bodies):
    """The cell is loaded with a robot inside a fixture, with and without free bodies."""
    sim = Simulation(cell(INSIDE + bodies))
    session = cast("Any", SimpleNamespace(sim=sim, edited=lambda renamed: None))
    history = History()
    here = pose_of(element(sim.cell, "arm"))

    def to(pose):
        return lambda cell: move(cell, "arm", pose)

    editor = CellEditor(session, history)
    editor.do("move arm", to(translate(y=3.0)), to(here), placed=["arm"])
    history.undo()
    assert np.array_equal(pose_of(element(sim.cell, "arm")), here)
    with pytest.raises(BrazoError, match="arm would overlap block by"):
        editor.do("move arm", to(translate(x=0.01)), to(here), placed=["arm"])
    assert np.array_equal(pose_of(element(sim.cell, "arm")), here)
