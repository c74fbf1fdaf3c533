"""Layout of the compare panel: runs, plot, metrics and export."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from brazo.lab.panels.common.feeds import plot
from brazo.lab.panels.common.html import (
    button,
    buttons,
    column,
    note,
    row,
    section,
    segments,
    select,
    table,
    text,
    toggle,
    upload,
)

MODES = {"time": "Over time", "xy": "XY"}


def layout(
    robots: Sequence[str],
    runs: Mapping[int, str],
    controllers: Mapping[str, str],
    mode: str,
    replayed: bool,
) -> str:
    """HTML of the panel.

    `runs` maps the numbers of the compared runs to their names, `controllers` maps controller names
    to labels.  `mode` is a key of `MODES`.  `replayed` is true while a recording is open.
    """
    again = (
        row(
            "Repeat with",
            select(
                "",
                controllers,
                label="Repeat with",
                event="run-with",
                placeholder="Choose controller…",
            ),
            title="Repeats the last trajectory with this controller and adds the run",
        ),
        buttons(
            button(
                "Repeat",
                "run-again",
                icon="restart",
                enabled="may-run",
                title="Repeats the last trajectory with the current controller and gains",
            ),
            button(
                "Keep run",
                "keep",
                icon="plus",
                title="Adds the last motion of the selected robot, for example a jog",
            ),
        ),
    )
    return (
        section(
            "Runs",
            row("Robot", select("robot", robots, label="Robot")) if len(robots) > 1 else "",
            table(
                "runs",
                [
                    column("dot", ""),
                    column("name", "Run", event="rename"),
                    column("duration", "Duration", digits=2),
                    column("remove", "×", event="remove", kind="button"),
                ],
                label="Runs",
                empty="No runs yet. A trajectory, program or step response is added when it ends.",
            ),
            *(() if replayed else again),
            buttons(button("Add this recording", "keep", icon="plus")) if replayed else "",
            row(
                "Recording",
                select(
                    "",
                    label="Add a recording",
                    event="add-recording",
                    placeholder="Add from the list…",
                    options_from="stored",
                ),
            ),
            buttons(
                upload("Open file…", "open-file", ".parquet", ".csv"),
                button("Save runs", "save", icon="save", enabled="may-save", title=SAVE),
            ),
            buttons(button("Remove all runs", "clear", icon="trash", enabled="any-held")),
            id="runs",
        )
        + section("Plot", *_plot(mode), id="plot")
        + section(
            "Metrics",
            row("Joint or tool", select("part", label="Metrics of", options_from="parts")),
            table(
                "metrics",
                [
                    column("name", ""),
                    *(column(f"run{k}", name, digits=3) for k, name in runs.items()),
                ],
                label="Metrics",
                empty="No metrics yet: add a run.",
            ),
            note(
                "Time span: from the start of the motion until 1 s after its end. Settling band: "
                "2 % of the range of the reference. Energy: ∫|τ q̇| dt."
            ),
            id="metrics",
        )
        + section(
            "Export",
            buttons(
                *(
                    button(
                        f"Figure {kind.upper()}",
                        "figure",
                        kind,
                        icon="download",
                        enabled="any",
                        title="Tool path, tool error and tracking errors of all runs",
                    )
                    for kind in ("svg", "png")
                ),
            ),
            buttons(
                button("Figure PDF", "figure", "pdf", icon="download", enabled="any"),
                button("Table CSV", "table", icon="table", enabled="any", title="All metrics"),
            ),
            id="export",
        )
    )


SAVE = "Saves the runs in the folder of recordings"


def _plot(mode: str) -> list[str]:
    chosen = (
        [
            row("X", select("x", label="X signal", options_from="signals")),
            row("Y", select("y", label="Y signal", options_from="signals")),
            '<brazo-xy name="xy" label="XY" height="280" empty="No runs."></brazo-xy>',
        ]
        if mode == "xy"
        else [
            row("Signal", select("signal", label="Signal", options_from="signals")),
            plot("plot", "Comparison", height=200, empty="No runs."),
        ]
    )
    return [
        segments("mode", MODES, label="Plot"),
        *chosen,
        row(
            "Cursor",
            text("cursor", "s"),
            button("", "play", icon="play", title="Play in simulation time", enabled="any"),
            button("", "pause", icon="pause", title="Stop the cursor", enabled="cursor-moves"),
        ),
        toggle("ghosts", "Ghosts in the scene", title="Shows the robot of each run at the cursor"),
    ]
