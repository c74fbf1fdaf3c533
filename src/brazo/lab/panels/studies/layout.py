"""Layout of the studies panel: study selector, progress and results."""

from __future__ import annotations

from collections.abc import Sequence

from brazo.lab.panels.common.html import (
    button,
    buttons,
    caution,
    column,
    escape,
    note,
    number,
    row,
    section,
    select,
    table,
    text,
    toggle,
)
from brazo.study.tables import TextTable

FILES = (
    "The list shows shipped studies and study files in the project folder “studies”. A study runs "
    "in the background. If it is cancelled, finished runs are kept."
)


def layout(tables: Sequence[TextTable], cores: int) -> str:
    """HTML of the panel; `tables` are the result tables, `cores` is the max number of processes."""
    return section(
        "Study",
        row("Study", select("chosen", label="Study", event="choose", options_from="sources")),
        f'<p class="brazo-note">{text("about", wide=True)}</p>',
        row("Size", text("size", wide=True)),
        row(
            "Processes",
            number("jobs", label="Processes", digits=0, least=1, most=cores),
            title="Number of runs computed in parallel",
        ),
        toggle(
            "replace",
            "Replace outdated results",
            title="Discards results made before the study file, its robots or brazo changed",
        ),
        buttons(
            button("Run", "run", look="primary", icon="play", enabled="may-run"),
            button("Cancel", "cancel", icon="stop", enabled="running"),
        ),
        '<brazo-study-bar name="progress"></brazo-study-bar>',
        row("Progress", text("progress-text", wide=True)),
        caution("problem"),
        note(FILES),
        id="study",
    ) + section(
        "Results",
        row("Runs", text("runs", wide=True)),
        *(_table(k, one) for k, one in enumerate(tables)),
        "" if tables else note("No results yet: run the study."),
        buttons(
            button(
                "Report",
                "report",
                icon="file",
                enabled="any",
                title="HTML file with figures, tables and failed runs",
            ),
            button("Table CSV", "csv", icon="table", enabled="any", title="One row per run"),
        ),
        id="results",
    )


def _table(k: int, shown: TextTable) -> str:
    # Names that do not distinguish rows, such as the only case, would take the space of numbers.
    columns = [
        column(f"c{i}", title, digits=None if i < shown.names else 3)
        for i, title in enumerate(shown.columns)
        if i >= shown.names or len({row[i] for row in shown.rows}) > 1
    ]
    return f"<h4>{escape(shown.title)}</h4>" + table(
        f"table{k}", columns, label=shown.title, empty="No runs."
    )


def table_rows(shown: TextTable) -> list[dict[str, str | int]]:
    """Rows of a result table as sent to the page."""
    return [
        {"id": k} | {f"c{i}": cell for i, cell in enumerate(cells)}
        for k, cells in enumerate(shown.rows)
    ]
