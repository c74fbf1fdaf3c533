"""HTML report of a delay study: tracking, lag and stability of each scheme over the delay."""

from __future__ import annotations

from html import escape
from pathlib import Path

import numpy as np

from brazo.recording.canvas import drawing, finish, hover, new_figure
from brazo.recording.colors import COLORS
from brazo.recording.display import number
from brazo.recording.figures import Chapter
from brazo.recording.report import chapter_section, write_page
from brazo.study.report_parts import grid_table, interval_text, legend
from brazo.study.results import StudyResults

DELAY_HEAD = ("scheme", "runs", "stable", "tracking, mm", "lag, ms", "energy, mJ")
#: Metric, label, scale and caption.
FIGURES = (
    (
        "tracking_rms",
        "tracking error [mm]",
        1e3,
        "Root mean square of the distance between the tool of the follower and that of the master, "
        "delayed by the lag that fits best.",
    ),
    ("lag", "lag [ms]", 1e3, "Delay of the follower's motion behind the master's."),
    (
        "moving",
        "motion at the end [mm]",
        1e3,
        "Peak-to-peak motion in the last half second, in which the hand is at rest; a scheme that "
        "is not stable oscillates.",
    ),
    (
        "min_energy",
        "min energy [mJ]",
        1e3,
        "Min net energy that the two robots have put into the link; a negative value means that "
        "the link is not passive.",
    ),
)


def delay_rows(results: StudyResults) -> list[tuple[str, ...]]:
    """Return one table row of text per scheme, with the columns `DELAY_HEAD`.

    Tracking error and lag are means over the stable runs.  Energy is the smallest `min_energy` of
    all runs.
    """
    rows = []
    for scheme in results.group_names("controller"):
        mask = results.select(controller=scheme)
        if mask.any():
            good = mask & (results["success"] == 1.0)
            energy = results["min_energy"][mask]
            rows.append(
                (
                    scheme,
                    str(int(mask.sum())),
                    interval_text(results.success(mask), 100.0, " %"),
                    number(1e3 * results.mean("tracking_rms", good).value),
                    number(1e3 * results.mean("lag", good).value),
                    number(1e3 * float(np.nanmin(energy))) if np.isfinite(energy).any() else "–",
                )
            )
    return rows


def write_delay_report(results: StudyResults, path: str | Path) -> Path:
    """Write the HTML report of a delay study."""
    names = results.names
    facts = f"{len(results)} runs of {number(names['duration'])} s · cell {names['cell']}"
    left = names["runs"] - len(results)
    missing = (
        f'<p class="verdict bad">Incomplete: {left} of {names["runs"]} runs are missing.</p>'
        if left
        else ""
    )
    parts = [
        f'<header>\n<h1>{escape(results.title)}</h1>\n<p class="facts">{escape(facts)}</p>\n'
        f"<p>{escape(results.about.get('description', ''))}</p>{missing}</header>",
        f"<section>\n<h2>Schemes</h2>\n{grid_table(DELAY_HEAD, delay_rows(results))}</section>",
    ]
    if "delay" in names["factors"]:
        parts += [chapter_section(_over_delay(results, *one)) for one in FIGURES]
    limits = ", ".join(f"{k} ≤ {number(v)}" for k, v in names["success"].items())
    stable = f"{limits} (SI units)" if limits else "it does not fail"
    text = (
        f"A run is stable if {stable}. Jitter is a fraction of the delay; packets may "
        "overtake each other. All schemes use the same links. Intervals are Wilson intervals."
    )
    parts.append(f"<section>\n<h2>Method</h2>\n<p>{escape(text)}</p></section>")
    return write_page(path, results.title, parts)


def _over_delay(results: StudyResults, metric: str, label: str, scale: float, text: str) -> Chapter:
    schemes = results.group_names("controller")
    with drawing():
        fig = new_figure(2.5)
        ax = fig.subplots()
        for k, scheme in enumerate(schemes):
            mask = results.select(controller=scheme)
            delays = np.unique(results["delay"][mask])
            middle, low, high = [], [], []
            for delay in delays:
                values = scale * results[metric][mask & (results["delay"] == delay)]
                values = values[np.isfinite(values)]
                some = len(values) > 0
                middle.append(float(np.median(values)) if some else np.nan)
                low.append(float(values.min()) if some else np.nan)
                high.append(float(values.max()) if some else np.nan)
            color = COLORS[k % len(COLORS)]
            (line,) = ax.plot(1e3 * delays, middle, "o-", ms=3, lw=1.2, color=color)
            hover(line, scheme)
            ax.fill_between(1e3 * delays, low, high, color=color, alpha=0.15, lw=0)
        if metric in ("tracking_rms", "moving"):
            ax.set_yscale("symlog", linthresh=0.1)
        if metric == "min_energy":
            ax.set_yscale("symlog", linthresh=1.0)
        ax.set_xlabel("delay, one way [ms]")
        ax.set_ylabel(label)
        legend(fig, schemes)
        fig = finish(fig)
    head = label.partition(" [")[0]
    more = " Median, and the range over jitter and loss."
    return Chapter(f"{head[0].upper()}{head[1:]} over the delay", text + more, fig)
