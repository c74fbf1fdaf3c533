"""HTML report of a study: ranking with uncertainty, errors by case, trade-offs, failures.

The page is one file without scripts or external resources, in the style of
`brazo.recording.report`.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

import numpy as np

from brazo.recording.canvas import drawing, finish, hover, new_figure
from brazo.recording.colors import COLORS
from brazo.recording.display import display_unit, number
from brazo.recording.figures import Chapter
from brazo.recording.report import chapter_section, write_page
from brazo.study.report_parts import grid_table, interval_text, legend, logarithmic
from brazo.study.results import RANKED, Interval, Rank, StudyResults

MOST_FAILURES = 40


def write_study_report(results: StudyResults, path: str | Path) -> Path:
    """Write the HTML report of a study."""
    if results.names.get("kind") == "cell":
        from brazo.study.cell_report import write_cell_report

        return write_cell_report(results, path)
    if results.names.get("kind") == "delay":
        from brazo.study.delay_report import write_delay_report

        return write_delay_report(results, path)
    parts = [_header(results)]
    for robot in results.group_names("robot"):
        if not results.select(robot=robot).any():
            continue
        ranks = results.ranking(robot)
        if not ranks:  # of a study that was interrupted
            continue
        parts += [
            _ranking(results, robot, ranks),
            chapter_section(_errors(results, robot, ranks)),
            chapter_section(_tradeoff(results, robot, ranks)),
        ]
        if results.names["factors"] and len(results) > 1:
            parts += [chapter_section(c) for c in _factors(results, robot, ranks)]
        parts.append(_cases(results, robot, ranks))
    parts += [_method(results), _failures(results)]
    return write_page(path, results.title, parts)


def _header(results: StudyResults) -> str:
    names, mark = results.names, "good" if results.complete else "bad"
    facts = [f"{len(results)} runs of {number(names['duration'])} s"]
    for kind in ("robot", "task", "case", "controller"):
        listed = results.group_names(kind)
        facts.append(f"{len(listed)} {kind}{'s' if len(listed) > 1 else ''}")
    left = names["runs"] - len(results)
    verdict = f"Incomplete: {left} of {names['runs']} runs are missing." if left else ""
    about = f"<p>{escape(results.about.get('description', ''))}</p>"
    shown = f'<p class="verdict {mark}">{escape(verdict)}</p>' if verdict else ""
    return (
        f'<header>\n<h1>{escape(results.title)}</h1>\n<p class="facts">{" · ".join(facts)}</p>\n'
        f"{about}{shown}</header>"
    )


def _ranking(results: StudyResults, robot: str, ranks: Sequence[Rank]) -> str:
    peak = max(rank.score.high for rank in ranks)
    unit, factor = display_unit("m", peak)
    several = any(rank.ranks[0] != rank.ranks[1] for rank in ranks)
    head = (
        "",
        "controller",
        f"RMS tool error, {unit}",
        "rank, 95 %",
        "best",
        "success",
        "energy, J",
    )
    rows = []
    for rank in ranks:
        mask = results.select(robot=robot, controller=rank.controller)
        energy = results.mean("energy", mask)
        rows.append(
            (
                str(rank.rank),
                rank.controller,
                interval_text(rank.score, factor),
                _ranks(rank),
                f"{100 * rank.best:.0f} %",
                interval_text(rank.success, 100.0, " %"),
                number(energy.value),
            )
        )
    best, second = ranks[0], ranks[1] if len(ranks) > 1 else None
    text = f"{best.controller} has the smallest error."
    if second is not None:
        ratio = second.score.value / best.score.value
        text += (
            f" The error of {second.controller}, the next, is {number(ratio, 2)} times as large. "
        )
        text += (
            f"{best.controller} is the best in {100 * best.best:.0f} % of the resampled studies."
        )
        if several:
            text += " These runs cannot distinguish controllers whose rank intervals overlap."
    return (
        f"<section>\n<h2>{escape(robot)}: ranking</h2>\n<p>{escape(text)}</p>\n"
        f"{grid_table(head, rows)}</section>"
    )


def _cases(results: StudyResults, robot: str, ranks: Sequence[Rank]) -> str:
    """Return a table of the mean RMS tool error of each controller in each case."""
    cases = results.group_names("case")
    if len(cases) < 2:
        return ""
    values = {
        (rank.controller, case): results.mean(
            RANKED, results.select(robot=robot, case=case, controller=rank.controller)
        )
        for rank in ranks
        for case in cases
    }
    unit, factor = display_unit("m", max((v.value for v in values.values()), default=0.0))
    rows = [
        (rank.controller, *(number(factor * values[rank.controller, c].value) for c in cases))
        for rank in ranks
    ]
    title = f"{robot}: mean RMS tool error by case, {unit}"
    return (
        f"<section>\n<h2>{escape(title)}</h2>\n{grid_table(('controller', *cases), rows)}</section>"
    )


def _errors(results: StudyResults, robot: str, ranks: Sequence[Rank]) -> Chapter:
    cases = results.group_names("case")
    with drawing():
        fig = new_figure(0.5 + 0.34 * len(ranks) + 0.22 * ((len(cases) + 3) // 4))
        ax = fig.subplots()
        largest = 0.0
        drawn: list[tuple[float, Interval, int, str]] = []
        for row, rank in enumerate(ranks):
            for k, case in enumerate(cases):
                mask = results.select(robot=robot, case=case, controller=rank.controller)
                values = results[RANKED][mask]
                values = values[np.isfinite(values) & (values > 0.0)]
                if not len(values):
                    continue
                low, middle, high = np.quantile(values, (0.05, 0.5, 0.95))
                largest = max(largest, float(high))
                place = row + 0.7 * ((k + 0.5) / len(cases) - 0.5)
                drawn.append((place, Interval(middle, low, high), k, f"{rank.controller}, {case}"))
        unit, factor = display_unit("m", largest)
        for place, each, k, text in drawn:
            color = COLORS[k % len(COLORS)]
            span = [factor * each.low, factor * each.high]
            (line,) = ax.plot(span, [place, place], color=color, lw=1.4, alpha=0.55)
            (dot,) = ax.plot([factor * each.value], [place], "o", color=color, ms=3.6)
            for artist in (line, dot):
                hover(artist, f"{text}: {number(factor * each.value)} {unit}")
        logarithmic(ax, "x")
        ax.set_yticks(range(len(ranks)), [rank.controller for rank in ranks])
        ax.set_ylim(len(ranks) - 0.5, -0.5)
        ax.grid(axis="y", visible=False)
        ax.margins(x=0.04)
        ax.set_xlabel(f"RMS tool error [{unit}]")
        legend(fig, cases)
        fig = finish(fig)
    text = (
        "Median over the runs of each case; bars from the 5 % to the 95 % quantile. "
        "Logarithmic scale."
    )
    return Chapter(f"{robot}: error by case", text, fig)


def _tradeoff(results: StudyResults, robot: str, ranks: Sequence[Rank]) -> Chapter:
    with drawing():
        fig = new_figure(3.0)
        pairs = [("energy", "energy [J]", 1.0)]
        if np.any(results["saturation"][results.select(robot=robot)] > 0.0):
            pairs.append(("saturation", "saturated time [%]", 100.0))
        axes = fig.subplots(1, len(pairs), squeeze=False)[0]
        unit, factor = display_unit("m", max(rank.score.value for rank in ranks))
        for ax, (metric, label, scale) in zip(axes, pairs, strict=True):
            for k, rank in enumerate(ranks):
                mask = results.select(robot=robot, controller=rank.controller)
                value = scale * results.mean(metric, mask).value
                score = rank.score
                color = COLORS[k % len(COLORS)]
                span = [[score.value - score.low], [score.high - score.value]]
                ax.errorbar(
                    [value],
                    [factor * score.value],
                    yerr=factor * np.maximum(span, 0.0),
                    fmt="o",
                    ms=4,
                    color=color,
                    lw=1,
                )
            logarithmic(ax, "y")
            ax.margins(x=0.12, y=0.1)
            ax.set_xlabel(label)
        axes[0].set_ylabel(f"RMS tool error [{unit}]")
        legend(fig, [rank.controller for rank in ranks])
        fig = finish(fig)
    text = "Score of each controller with its 95 % confidence interval, over the mean energy" + (
        " and the mean share of time in which the most loaded drive is saturated."
        if len(pairs) > 1
        else "."
    )
    return Chapter(f"{robot}: error against effort", text, fig)


def _factors(results: StudyResults, robot: str, ranks: Sequence[Rank]) -> list[Chapter]:
    """Return one chart of the tool error for each factor that varies.

    The chart of a controller gain shows only this controller.
    """
    found = []
    for factor in results.names["factors"]:
        values = results[factor]
        if np.ptp(values) == 0.0:
            continue
        owner = factor.partition(".")[0]
        shown = [rank for rank in ranks if owner in (factor, rank.controller)]
        if not shown:
            continue
        with drawing():
            fig = new_figure(2.6)
            ax = fig.subplots()
            unit, scale = display_unit("m", max(rank.score.value for rank in shown))
            for k, rank in enumerate(shown):
                mask = results.select(robot=robot, controller=rank.controller)
                ax.plot(*_binned(values[mask], scale * results[RANKED][mask]), "o-", ms=2.5,
                        lw=1.1, color=COLORS[k % len(COLORS)])  # fmt: skip
            logarithmic(ax, "y")
            ax.margins(x=0.02)
            ax.set_xlabel(factor)
            ax.set_ylabel(f"RMS tool error [{unit}]")
            legend(fig, [rank.controller for rank in shown])
            fig = finish(fig)
        text = (
            "Median over all tasks and cases; more than 12 values are grouped into 12 intervals "
            "with equal numbers of runs."
        )
        found.append(Chapter(f"{robot}: error over {factor}", text, fig))
    return found


def _binned(x: np.ndarray, y: np.ndarray, bins: int = 12) -> tuple[np.ndarray, np.ndarray]:
    """Return the medians of x and of y (m,) in at most `bins` intervals of x.

    If x has at most `bins` different values, each of them is an interval.  Otherwise the intervals
    have equal numbers of runs.
    """
    fine = np.isfinite(y)
    x, y = x[fine], y[fine]
    distinct = np.unique(x)
    if len(distinct) <= bins:
        return distinct, np.array([np.median(y[x == one]) for one in distinct])
    parts = np.array_split(np.argsort(x, kind="stable"), bins)
    return (
        np.array([np.median(x[part]) for part in parts]),
        np.array([np.median(y[part]) for part in parts]),
    )


def _method(results: StudyResults) -> str:
    limits = ", ".join(f"{k} ≤ {number(v)}" for k, v in results.names["success"].items())
    text = (
        "The score is the geometric mean of the RMS tool error over all runs, so that every task "
        "and case has the same weight; a failed run counts as ten times the largest error of its "
        "task and case. All controllers use the same samples and random numbers. Intervals of "
        "score and rank are 95 % intervals of a bootstrap over these samples; those of the success "
        "rate are Wilson intervals. A run is successful if it does not diverge"
        + (f" and {limits} (SI units)." if limits else ".")
    )
    return f"<section>\n<h2>Method</h2>\n<p>{escape(text)}</p></section>"


def _failures(results: StudyResults) -> str:
    if not results.failures:
        return ""
    rows = [
        (str(run), _run_name(results, run), text)
        for run, text in list(results.failures.items())[:MOST_FAILURES]
    ]
    left = len(results.failures) - len(rows)
    more = f'<p class="soft">and {left} more in the results</p>' if left > 0 else ""
    return (
        f"<section>\n<h2>Failed runs: {len(results.failures)} of {len(results)}</h2>\n"
        f"{grid_table(('run', 'robot, controller, task, case', 'reason'), rows)}{more}</section>"
    )


def _run_name(results: StudyResults, run: int) -> str:
    at = int(np.flatnonzero(results["run"] == run)[0])
    kinds = ("robot", "controller", "task", "case")
    return ", ".join(results.group_names(kind)[int(results[kind][at])] for kind in kinds)


def _ranks(rank: Rank) -> str:
    first, last = rank.ranks
    return str(first) if first == last else f"{first} to {last}"
