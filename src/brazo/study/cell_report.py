"""HTML report of a cell study: success rates in total and over each factor, and failures.

The page is one file without scripts or external resources, in the style of
`brazo.recording.report`.
"""

from __future__ import annotations

from collections import Counter
from html import escape
from pathlib import Path

import numpy as np

from brazo.recording.canvas import drawing, finish, hover, new_figure
from brazo.recording.colors import COLORS
from brazo.recording.display import display_unit, number
from brazo.recording.figures import Chapter
from brazo.recording.report import chapter_section, write_page
from brazo.study.report_parts import grid_table, interval_text, legend
from brazo.study.results import StudyResults, proportion

MOST_FAILURES = 40
BINS = 8


def write_cell_report(results: StudyResults, path: str | Path) -> Path:
    """Write the HTML report of a cell study."""
    parts = [_header(results), _rates(results)]
    if len(results) > 1:
        figures = [_success_chart(results, name) for name in results.names["factors"]]
        parts += [chapter_section(one) for one in figures if one is not None]
        parts.append(chapter_section(_times(results)))
    parts += [_steps(results), _method(results), _failures(results)]
    return write_page(path, results.title, parts)


def success_rows(results: StudyResults) -> list[tuple[str, ...]]:
    """Return one table row of text per case and controller, with the columns `SUCCESS_HEAD`.

    `time` is the mean over the successful runs; `collisions` is the mean over all runs.
    """
    rows = []
    for case in results.group_names("case"):
        for controller in results.group_names("controller"):
            mask = results.select(case=case, controller=controller)
            if not mask.any():
                continue
            good = mask & (results["success"] == 1.0)
            time = results.mean("time", good)
            rows.append(
                (
                    case,
                    controller,
                    str(int(mask.sum())),
                    interval_text(results.success(mask), 100.0, " %"),
                    number(time.value),
                    number(results.mean("collisions", mask).value),
                )
            )
    return rows


SUCCESS_HEAD = ("case", "controller", "runs", "success", "time, s", "collisions")


def _header(results: StudyResults) -> str:
    names = results.names
    rate = results.success()
    facts = [
        f"{len(results)} runs",
        f"cell {names['cell']}",
        f"program {names['program']}",
        f"{len(names['factors'])} factors",
    ]
    left = names["runs"] - len(results)
    text = (
        f"{100 * rate.value:.1f} % of the runs succeed; 95 % interval {100 * rate.low:.1f} to "
        f"{100 * rate.high:.1f} %."
    )
    missing = f" Incomplete: {left} of {names['runs']} runs are missing." if left else ""
    about = f"<p>{escape(results.about.get('description', ''))}</p>"
    shown = escape(" · ".join(facts))
    return (
        f'<header>\n<h1>{escape(results.title)}</h1>\n<p class="facts">{shown}</p>\n{about}'
        f'<p class="verdict {"bad" if left else "good"}">{escape(text + missing)}</p>'
        "</header>"
    )


def _rates(results: StudyResults) -> str:
    return (
        f"<section>\n<h2>Success</h2>\n{grid_table(SUCCESS_HEAD, success_rows(results))}</section>"
    )


def _success_chart(results: StudyResults, factor: str) -> Chapter | None:
    """Return a chart of the success rate over a factor, or None if the factor is constant."""
    values = results[factor]
    if not np.ptp(values) > 0.0:
        return None
    unit, scale = display_unit(results.units[factor], float(np.abs(values).max()))
    with drawing():
        fig = new_figure(2.4)
        ax = fig.subplots()
        groups = [
            (case, controller)
            for case in results.group_names("case")
            for controller in results.group_names("controller")
        ]
        for k, (case, controller) in enumerate(groups):
            mask = results.select(case=case, controller=controller)
            for middle, rate, runs in success_bins(values[mask], results["success"][mask]):
                span = [[100 * (rate.value - rate.low)], [100 * (rate.high - rate.value)]]
                drawn = ax.errorbar(
                    [scale * middle],
                    [100 * rate.value],
                    yerr=np.maximum(span, 0.0),
                    fmt="o",
                    ms=4,
                    lw=1.1,
                    color=COLORS[k % len(COLORS)],
                )
                hover(
                    drawn[0], f"{number(scale * middle)} {unit}: {100 * rate.value:.0f} % of {runs}"
                )
        ax.set_ylim(-4, 104)
        ax.margins(x=0.04)
        ax.set_xlabel(f"{factor} [{unit}]" if unit else factor)
        ax.set_ylabel("success [%]")
        if len(groups) > 1:
            legend(fig, [", ".join(group) for group in groups])
        fig = finish(fig)
    text = (
        f"With 95 % intervals (Wilson); more than {BINS} values of the factor are grouped into "
        f"{BINS} intervals with equal numbers of runs."
    )
    return Chapter(f"Success against {factor}", text, fig)


def success_bins(x: np.ndarray, good: np.ndarray, bins: int = BINS):
    """Return (median of x, success rate, number of runs) for at most `bins` intervals of x.

    `x` (runs,) has the values of a factor, and `good` (runs,) is 1 for successful runs.  If x has
    at most `bins` different values, each of them is an interval.  Otherwise the intervals have
    equal numbers of runs.
    """
    distinct = np.unique(x)
    if len(distinct) <= bins:
        parts = [np.flatnonzero(x == one) for one in distinct]
    else:
        parts = [p for p in np.array_split(np.argsort(x, kind="stable"), bins) if len(p)]
    return [
        (float(np.median(x[part])), proportion(int(good[part].sum()), len(part)), len(part))
        for part in parts
    ]


def _times(results: StudyResults) -> Chapter:
    good = results["success"] == 1.0
    with drawing():
        fig = new_figure(2.2)
        ax = fig.subplots()
        groups = (("successful", good, COLORS[0]), ("failed", ~good, COLORS[1]))
        shown = [results["time"][m & np.isfinite(results["time"])] for _, m, _ in groups]
        edges = np.histogram_bin_edges(np.concatenate(shown), 30)
        for times, (_, _, color) in zip(shown, groups, strict=True):
            ax.hist(times, edges, color=color, alpha=0.75)
        ax.set_xlabel("end of the run [s]")
        ax.set_ylabel("runs")
        legend(fig, [name for name, _, _ in groups])
        fig = finish(fig)
    return Chapter("Time", "A failed run ends when it fails.", fig)


def _steps(results: StudyResults) -> str:
    counts = Counter(results.failed_steps.values())
    if not counts:
        return ""
    rows = [(step, str(n), f"{100 * n / len(results):.1f} %") for step, n in counts.most_common(20)]
    table = grid_table(("step of the program", "failed runs", "of all"), rows)
    return f"<section>\n<h2>Where runs fail</h2>\n{table}</section>"


def _method(results: StudyResults) -> str:
    limits = ", ".join(f"{k} ≤ {number(v)}" for k, v in results.names["success"].items())
    text = (
        "A run is successful if the program ends without a failure and reaches its goals"
        + (f", and {limits} (SI units)" if limits else "")
        + ". Robots measure the poses of bodies when a step starts, with the errors of the study; "
        "controllers assume the nominal masses; the collision check of a planned motion uses the "
        "true poses. Intervals are Wilson intervals at 95 %."
    )
    return f"<section>\n<h2>Method</h2>\n<p>{escape(text)}</p></section>"


def _failures(results: StudyResults) -> str:
    if not results.failures:
        return ""
    listed = list(results.failures.items())[:MOST_FAILURES]
    left = len(results.failures) - len(listed)
    more = f'<p class="soft">and {left} more in the results</p>' if left > 0 else ""
    table = grid_table(("run", "reason"), [(str(run), text) for run, text in listed])
    return (
        f"<section>\n<h2>Failed runs: {len(results.failures)} of {len(results)}</h2>\n"
        f"{table}{more}</section>"
    )
