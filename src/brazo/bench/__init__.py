"""Benchmarks of brazo and of other libraries (peers) on this machine: `brazo bench`.

Each name in `SECTIONS` has a module, which measures one or several sections of the report.  In
every comparison, all libraries get the same robot and the same inputs.  A library whose results
differ from those of brazo is not timed, and the report has a note.  The libraries are timed in turn
in one process, in several rounds, and the shortest time of each library is reported.  Peers are
measured only on request and if they are installed.  MuJoCo is the only peer that is a dependency of
brazo.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from brazo.bench.report import BenchReport, Section
from brazo.bench.settings import Settings

__all__ = ["SECTIONS", "BenchReport", "Section", "Settings", "run"]

SECTIONS = (
    "peak", "single", "batch", "ik", "derivatives", "loop", "paper", "compile", "startup",
)  # fmt: skip


def run(
    settings: Settings,
    sections: Sequence[str] = SECTIONS,
    progress: Callable[[str], None] = lambda words: None,
) -> BenchReport:
    """Measure the named sections in order and return the report.

    `progress` is called with the name of each section before it is measured.
    """
    from brazo.bench import (
        batch,
        closed_loop,
        compiling,
        derivatives,
        inverse,
        machine,
        paper,
        peak,
        single,
        startup,
    )

    measure = {
        "peak": peak.measure,
        "single": single.measure,
        "batch": batch.measure,
        "ik": inverse.measure,
        "derivatives": derivatives.measure,
        "loop": closed_loop.measure,
        "paper": paper.measure,
        "compile": compiling.measure,
        "startup": startup.measure,
    }
    report = BenchReport(machine=machine.describe(), settings=settings)
    for name in sections:
        progress(name)
        report.sections += measure[name](settings)
    return report
