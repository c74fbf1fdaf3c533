"""Derivatives of the dynamics: one call, and batches on one thread.

Pinocchio has no function for batches of derivatives; its function for one state is called in a
Python loop.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from brazo.bench.arms import general_arm, puma, states
from brazo.bench.clock import race
from brazo.bench.peers import agrees, installed
from brazo.bench.report import Section, Value
from brazo.bench.settings import Settings

__all__ = ["DERIVATIVES", "measure"]

DERIVATIVES = ("inverse_dynamics_derivatives", "forward_dynamics_derivatives")
_ROWS = 1_000


def measure(settings: Settings) -> list[Section]:
    section = Section("derivatives", f"Derivatives: one call, and batches of {_ROWS}, one thread")
    for arm in (puma(), general_arm()):
        peers, notes = installed(arm, ("Pinocchio",)) if settings.peers else ([], [])
        section.notes += notes
        at = states(arm, _ROWS)
        for operation, last in zip(DERIVATIVES, (at.qdd, at.tau), strict=True):
            function: Callable[..., Any] = getattr(arm, operation)
            one = tuple(x[0].copy() for x in (at.q, at.qd, last))
            out = np.empty((3, _ROWS, arm.n, arm.n))
            single: dict[str, Callable[[], Any]] = {"brazo": partial(function, *one)}
            batch: dict[str, Callable[[], Any]] = {
                "brazo": partial(function, at.q, at.qd, last, out=out)
            }
            expected = function(at.q, at.qd, last).array
            for peer in peers:
                call, loop = peer.derivatives(arm, at)[operation]
                if not agrees(expected, loop.answer()):
                    section.notes.append(f"{peer.name} disagrees on {operation}: not timed")
                    continue
                single[peer.name], batch[peer.name] = call.call, loop.call
            each = race(settings, single)
            rows = race(settings, batch, work=_ROWS)
            row: dict[str, Value] = {
                "arm": arm.name,
                "operation": operation,
                "brazo [ns]": 1e9 * each["brazo"],
                "batch [M/s]": 1e-6 / rows["brazo"],
            }
            for name in list(each)[1:]:
                row[f"{name} [ns]"] = 1e9 * each[name]
                row[f"{name} / brazo"] = each[name] / each["brazo"]
                row[f"{name} / brazo, batch"] = rows[name] / rows["brazo"]
            section.rows.append(row)
    return [section]
