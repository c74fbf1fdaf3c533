"""`CellEditor`: undoable edits of the open cell while the simulation runs.

An element of a cell is a robot, free body, fixture, chute or frame.  An edit consists of two
functions: one returns the changed cell, the other returns the cell without the change.  The
simulation continues to run with the changed cell (`Simulation.change_cell`).  Robots and free
bodies that exist before and after the edit keep their state.  An edit is rejected if it would put
an element where it overlaps another element, because large contact forces would separate the two.
Undo is never rejected for this reason.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from brazo.errors import BrazoError
from brazo.lab.app.session import Session
from brazo.model.description import Array
from brazo.project.history import Edit, History
from brazo.simulation import Simulation
from brazo.world import Cell
from brazo.world.cell_change import CellChange
from brazo.world.cell_edits import elements, kind_of
from brazo.world.cell_fields import FLOOR

Change = Callable[[Cell], Cell]
ALLOWED = 1e-3  # m, overlap that is not refused
LOOK = 0.05  # m, distance within which elements are compared


class CellEditor:
    """Applies undoable edits to the cell of a session.  Use only on the lab's thread."""

    def __init__(self, session: Session, history: History) -> None:
        self._session, self._history = session, history

    def do(
        self,
        label: str,
        change: Change,
        back: Change,
        *,
        renamed: Mapping[str, str] | None = None,
        placed: Collection[str] = (),
    ) -> None:
        """Edit the cell and store the edit for undo.

        `change(cell)` returns the changed cell.  `back(cell)` returns the cell without the change.
        `label` describes the edit to the user.  `renamed` maps old names of elements (robots, free
        bodies, fixtures, chutes and frames) to new ones.  `placed` contains the names of the
        elements that the edit adds or moves.  They are put at their pose in the changed cell.  If
        one of them then overlaps another element, the edit is reverted and `BrazoError` is raised.
        """
        sim = self._session.sim
        forth = dict(renamed or {})
        with sim.lock:
            poses = {one.name: sim.world.pose(one.name) for one in sim.cell.bodies}

        def apply() -> None:
            self._change(label, change, forth, placed)

        def revert() -> None:
            self._change(f"undo: {label}", back, {b: a for a, b in forth.items()}, placed, poses)

        self._history.do(Edit(label, apply, revert))

    def _change(
        self,
        label: str,
        change: Change,
        renamed: Mapping[str, str],
        placed: Collection[str],
        undo_to: Mapping[str, Array] | None = None,
    ) -> None:
        """Change the cell; see `do`.

        `undo_to` is None unless the change is an undo.  It then maps the names of the free bodies
        to their poses before the edit.
        """
        sim = self._session.sim
        with sim.lock:
            before = sim.cell
            after = change(before)
            at = {one.name: sim.world.pose(one.name) for one in before.bodies}
            self._go(sim, before, after, renamed, label, placed, undo_to or {})
            # Undo restores an earlier state, whatever it was.
            checked = placed if undo_to is None else ()
            problem = next(filter(None, (blocked_by(sim, name) for name in checked)), "")
            if problem:
                inverse = {b: a for a, b in renamed.items()}
                self._go(sim, after, before, inverse, f"undo: {label}", placed, at)
                raise BrazoError(problem)
        self._session.edited(renamed)

    def _go(
        self,
        sim: Simulation,
        before: Cell,
        after: Cell,
        renamed: Mapping[str, str],
        label: str,
        placed: Collection[str],
        poses: Mapping[str, Array],
    ) -> None:
        """Switch the simulation from the cell `before` to the cell `after`.

        `poses` maps names of free bodies to poses (4, 4).  Each new free body, and each free body
        whose name is in `placed`, is put at its pose in `poses`, or at its pose in the cell `after`
        if `poses` has no entry for it.  `label` and `renamed` are those of the edit.
        """
        sim.change_cell(after, renamed, label)
        new = CellChange(before, after, renamed).placed_bodies
        for body in after.bodies:
            if body in new or body.name in placed:
                sim.world.place(body.name, poses.get(body.name, body.pose))


def blocked_by(sim: Simulation, name: str) -> str:
    """Return an error message if the element `name` overlaps another element by more than 1 mm.

    Return "" if there is no such overlap.  Elements are the robots, free bodies, fixtures, chutes
    and frames of the cell.  Fixtures and chutes may overlap each other, because they never move.
    If `name` is a free body, it must not overlap the floor either; for other elements, the floor is
    ignored.  Frames have no shape and are ignored.
    """
    kinds: dict[str, str] = {one.name: kind_of(one) for one in elements(sim.cell)}
    own = kinds.pop(name, "frame")
    if own == "body" and sim.cell.floor is not None:
        kinds[FLOOR] = "fixture"
    static = ("fixture", "chute")
    for other, kind in kinds.items():
        if "frame" in (own, kind) or (kind in static and own in static):
            continue
        with sim.lock:
            near = sim.world.distance(name, other, limit=LOOK)
        if near is not None and near.value < -ALLOWED:
            depth = f"{-1000.0 * near.value:.0f} mm"
            return f"{name} would overlap {other} by {depth}: choose another position"
    return ""
