"""HTML report of a tuning: gains and errors before and after, search, trade-offs."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from brazo.recording.canvas import drawing, finish, new_figure
from brazo.recording.colors import COLORS
from brazo.recording.display import display_unit, number
from brazo.recording.figures import Chapter
from brazo.recording.report import chapter_section, write_page
from brazo.study.report_parts import grid_table, legend, logarithmic
from brazo.study.tuning.evaluation import UNSTABLE

if TYPE_CHECKING:
    from brazo.study.tuning.search import GainSet
    from brazo.study.tuning.tune import Tuning


def write_tuning_report(result: Tuning, path: str | Path) -> Path:
    """Write the HTML report of a tuning."""
    parts = [
        _header(result),
        _errors(result),
        chapter_section(_error_bars(result)),
        _gains(result),
        _comparison(result),
    ]
    if len(result.history):
        parts.append(chapter_section(_search(result)))
    if result.front:
        parts.append(chapter_section(_tradeoff(result)))
    parts.append(_method(result))
    return write_page(path, _title(result), parts)


def _title(result: Tuning) -> str:
    return f"Tuning of {result.controller.name} on {result.robot.name}"


def verdict(result: Tuning) -> str:
    """Return the result of a tuning in one sentence."""
    if not result.improved:
        return "No better stable gains were found; the starting gains are unchanged."
    share = 100.0 * result.improvement
    held = ", ".join(result.held_out)
    word = "smaller" if share >= 0.0 else "larger"
    text = f"RMS tool error {abs(share):.0f} % {word} on the held-out trajectory ({held})"
    if not result.before.check.stable:
        text += f"; the starting gains fail the check: {result.before.check.reason}"
    return f"{text}."


def _header(result: Tuning) -> str:
    mark = "good" if result.improved else "plain"
    facts = [
        f"{len(result.history)} candidates" if len(result.history) else result.after.name,
        f"{len(result.cases)} cases",
        f"objectives: {', '.join(result.objectives)}",
        f"tuned on {', '.join(result.tasks)}",
    ]
    line = " · ".join(escape(fact) for fact in facts)
    return (
        f'<header>\n<h1>{escape(_title(result))}</h1>\n<p class="facts">{line}</p>\n'
        f'<p class="verdict {mark}">{escape(verdict(result))}</p></header>'
    )


def error_rows(result: Tuning) -> list[tuple[str, ...]]:
    """Return RMS errors on the held-out trajectories as text: name, before, after, change.

    The first row is for the tool, and each further row is for one joint.
    """
    names = ["tool", *result.robot.joint_names]
    kinds = ["prismatic", *result.robot.joint_kinds]
    before, after = (_rms(each) for each in (result.before, result.after))
    rows = []
    for name, kind, old, new in zip(names, kinds, before, after, strict=True):
        unit, factor = display_unit("rad" if kind == "revolute" else "m", max(old, new))
        change = "–" if old == 0.0 else f"{100.0 * (new / old - 1.0):+.0f} %".replace("-", "−")
        rows.append((f"{name}, {unit}", number(factor * old), number(factor * new), change))
    return rows


def gain_rows(result: Tuning) -> list[tuple[str, ...]]:
    """Return gains before and after as text: label, unit, before, after, ratio.

    Gains that are 0 are omitted.  If the tuning changed gains, unchanged gains are also omitted.
    """
    rows = []
    for parameter in result.controller.parameters():
        old, new = (each.gains[parameter.name] for each in (result.before, result.after))
        if result.improved and np.array_equal(old, new):
            continue
        for i, (label, unit) in enumerate(zip(parameter.labels, parameter.units, strict=True)):
            if old[i] or new[i]:
                ratio = number(new[i] / old[i]) if old[i] else "–"
                rows.append(
                    (f"{parameter.name} {label}", unit, number(old[i]), number(new[i]), ratio)
                )
    return rows


def comparison_rows(result: Tuning) -> list[tuple[str, ...]]:
    """Return a row of text for the starting gains, the tuned gains and each design rule.

    The columns are those of `comparison_head`.
    """
    sets = [result.before, *([result.after] if result.improved else []), *result.rules]
    peak = max(float(np.nan_to_num(_rms(each)[0])) for each in sets if each.check.stable)
    factor = display_unit("m", peak)[1]
    return [
        (
            each.name,
            "stable" if each.check.stable else each.check.reason,
            number(factor * _rms(each)[0]),
            number(float(each.errors["energy"].sum())),
            number(1e3 * each.delay_margin),
        )
        for each in sets
    ]


def comparison_head(result: Tuning) -> tuple[str, ...]:
    """Return the column titles of `comparison_rows`."""
    sets = [result.before, result.after, *result.rules]
    peak = max(float(np.nan_to_num(_rms(each)[0])) for each in sets if each.check.stable)
    unit = display_unit("m", peak)[0]
    return ("gains", "check", f"RMS tool error, {unit}", "energy, J", "delay margin, ms")


def _rms(each: GainSet) -> list[float]:
    return [float(each.errors["rms_error.tool"]), *each.errors["rms_error"].tolist()]


def _errors(result: Tuning) -> str:
    return _section(
        f"RMS error on {', '.join(result.held_out)}",
        "The held-out trajectory was not part of the search.",
        ("", "before", "after", "change"),
        error_rows(result),
    )


def _gains(result: Tuning) -> str:
    return _section("Gains", "", ("gain", "unit", "before", "after", "ratio"), gain_rows(result))


def _comparison(result: Tuning) -> str:
    text = (
        "The delay margin is the longest delay, in whole control periods, with which the linear "
        "loop of the nominal robot is stable."
    )
    return _section("Comparison", text, comparison_head(result), comparison_rows(result))


def _section(title: str, text: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    said = f"<p>{escape(text)}</p>\n" if text else ""
    return f"<section>\n<h2>{escape(title)}</h2>\n{said}{grid_table(head, rows)}</section>"


def _error_bars(result: Tuning) -> Chapter:
    names = ["tool", *result.robot.joint_names]
    before, after = np.array(_rms(result.before)), np.array(_rms(result.after))
    with drawing():
        fig = new_figure(0.9 + 0.26 * len(names))
        ax = fig.subplots()
        place = np.arange(len(names))
        share = 100.0 * after / np.maximum(before, 1e-300)
        ax.barh(place, np.full(len(names), 100.0), 0.62, color=COLORS[0], alpha=0.25)
        ax.barh(place, share, 0.34, color=COLORS[1])
        ax.set_yticks(place, names)
        ax.set_ylim(len(names) - 0.4, -0.6)
        ax.grid(axis="y", visible=False)
        ax.set_xlim(0.0, max(105.0, 1.05 * float(share.max())))
        ax.set_xlabel("RMS error after tuning [% of that before]")
        fig = finish(fig)
    return Chapter("Before and after", "RMS error on the held-out trajectory.", fig)


def _search(result: Tuning) -> Chapter:
    scores = result.history
    with drawing():
        fig = new_figure(2.6)
        axes = fig.subplots(1, len(result.objectives), squeeze=False)[0]
        for k, (ax, objective) in enumerate(zip(axes, result.objectives, strict=True)):
            value = np.where(scores[:, k] < UNSTABLE, scores[:, k], np.nan)
            at = np.arange(1, len(value) + 1)
            ax.plot(at, value, "o", ms=1.8, color=COLORS[0], alpha=0.5)
            ax.plot(at, np.fmin.accumulate(value), lw=1.3, color=COLORS[1])
            logarithmic(ax, "y")
            ax.set_xlabel("candidate")
            ax.set_ylabel(f"{objective.replace('_', ' ')} / start")
        legend(fig, ["candidate", "best so far"])
        fig = finish(fig)
    lost = int((scores >= UNSTABLE).any(axis=1).sum())
    text = (
        f"Scores relative to the starting gains. {lost} of {len(scores)} "
        "candidates were unstable and are not shown."
    )
    return Chapter("Search", text, fig)


def _tradeoff(result: Tuning) -> Chapter:
    first, second = result.objectives[:2]
    with drawing():
        fig = new_figure(3.0)
        ax = fig.subplots()
        scores = result.history[(result.history < UNSTABLE).all(axis=1)]
        ax.plot(scores[:, 1], scores[:, 0], "o", ms=1.8, color=COLORS[0], alpha=0.4)
        x = [each.scores[second] for each in result.front]
        y = [each.scores[first] for each in result.front]
        ax.plot(x, y, "o-", ms=3.6, lw=1.1, color=COLORS[1])
        for axis in "xy":
            logarithmic(ax, axis)
        ax.margins(0.05)
        ax.set_xlabel(f"{second.replace('_', ' ')} / start")
        ax.set_ylabel(f"{first.replace('_', ' ')} / start")
        legend(fig, ["candidate", "no stable candidate is better in both"])
        fig = finish(fig)
    return Chapter("Trade-off", f"{len(result.front)} stable sets of gains.", fig)


def _method(result: Tuning) -> str:
    cases = ", ".join(case.name for case in result.cases)
    text = (
        f"Every candidate was simulated in the cases {cases}. The resulting gains passed a check "
        "with payloads, mass errors and start errors that are 1.5 times as large, and delays that "
        "are one period longer: all eigenvalues of the linear loops lie in the unit circle, no run "
        "diverges, and the robot comes to rest after a start error. "
        f"{result.rejected} candidates with a better score failed the check."
    )
    return f"<section>\n<h2>Method</h2>\n<p>{escape(text)}</p></section>"
