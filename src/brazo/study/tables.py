"""Tables of the results of a study as text, for the shell and the lab."""

from __future__ import annotations

from dataclasses import dataclass

from brazo.recording.display import number
from brazo.study.cell_report import SUCCESS_HEAD, success_rows
from brazo.study.delay_report import DELAY_HEAD, delay_rows
from brazo.study.results import StudyResults


@dataclass(frozen=True, slots=True)
class TextTable:
    """Table with title, columns and rows."""

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]
    names: int = 2  # number of first columns with names or ranks; the others have numbers


def result_tables(results: StudyResults) -> list[TextTable]:
    """Return the tables of the results.

    A `Study` has a ranking for each robot.  A `CellStudy` has one table of success rates, and a
    `DelayStudy` one table of the schemes.
    """
    if results.names.get("kind") == "cell":
        return [TextTable(results.title, SUCCESS_HEAD, success_rows(results))]
    if results.names.get("kind") == "delay":
        return [TextTable(results.title, DELAY_HEAD, delay_rows(results), names=1)]
    return [
        ranking_table(results, robot)
        for robot in results.group_names("robot")
        if results.select(robot=robot).any()
    ]


def ranking_table(results: StudyResults, robot: str) -> TextTable:
    """Return the ranking of the controllers on a robot: error (mm), success (%) and energy (J)."""
    rows = []
    for rank in results.ranking(robot):
        mask = results.select(robot=robot, controller=rank.controller)
        score, good = rank.score, rank.success
        first, last = rank.ranks
        rows.append(
            (
                str(rank.rank),
                rank.controller,
                number(1e3 * score.value, 3),
                f"{number(1e3 * score.low, 3)} to {number(1e3 * score.high, 3)}",
                str(first) if first == last else f"{first} to {last}",
                f"{100 * good.value:.1f}",
                f"{100 * good.low:.1f} to {100 * good.high:.1f}",
                number(results.mean("energy", mask).value, 2),
            )
        )
    columns = (
        "", "controller", "RMS tool error, mm", "95 %", "rank, 95 %", "success, %", "95 %",
        "energy, J",
    )  # fmt: skip
    return TextTable(robot, columns, rows)
