"""Benchmarks of brazo and its peers on this machine: `brazo bench`.

One module per section.  Every comparison gives the engines the same robot and inputs, checks that
they agree (one that does not is omitted with a note), then times them round-robin in one process
and keeps the best round of each, so that a disturbed round affects no result.  Peers are used if
they are installed; none is a dependency.
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
    """Measure the named sections, in order."""
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
