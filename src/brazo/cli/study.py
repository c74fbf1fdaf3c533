"""`brazo study`: run studies and compare controllers."""

from __future__ import annotations

import contextlib
import itertools
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import typer

from brazo.cli.design import register_design
from brazo.cli.interruption import INTERRUPTED
from brazo.cli.output import print_json, print_line, table
from brazo.cli.tune import tune
from brazo.text import one_line

OUT = typer.Option(None, "--out", "-o", help="Folder of the results; default: the study's name.")
JOBS = typer.Option(None, "--jobs", "-j", help="Threads and processes; default: one per CPU.")
REPLACE = typer.Option(False, "--replace", help="Replace the results of another study.")
CLUSTER = typer.Option(
    None, "--cluster", help="Address of a Dask scheduler that computes the runs."
)
JSON = typer.Option(False, "--json", help="Print JSON (SI).")


def register(app: typer.Typer) -> None:
    group = typer.Typer(
        help="Run many simulations: compare controllers, sweep gains, payloads, faults."
    )
    group.command("run")(run)
    group.command("compare")(compare)
    register_design(group)
    group.command("tune")(tune)
    app.add_typer(group, name="study")


def run(
    file: str = typer.Argument(help="A study file (.yaml), or the name of a shipped study."),
    out: Path = OUT,
    jobs: int = JOBS,
    replace: bool = REPLACE,
    cluster: str = CLUSTER,
    json: bool = JSON,
) -> None:
    """Run a study, or continue one that was interrupted; write results and report."""
    from brazo.study import load_study

    _run(load_study(file), out, jobs, replace, cluster, json)


def compare(
    robots: list[str] = typer.Argument(None, help="Robots; default: puma560 and scara2."),
    out: Path = OUT,
    samples: int = typer.Option(None, help="Runs of each controller, task and case."),
    jobs: int = JOBS,
    replace: bool = REPLACE,
    cluster: str = CLUSTER,
    json: bool = JSON,
) -> None:
    """Compare all controllers on the same tasks, payloads and faults; write a report."""
    from brazo.study import Study, load_study

    study = load_study("compare")
    assert isinstance(study, Study)
    if robots or samples is not None:
        study = Study(
            robots or study.robots,
            study.controllers,
            study.tasks,
            name=study.name,
            about=study.about,
            cases=study.cases,
            factors=study.factors,
            samples=study.samples if samples is None else samples,
            sampling=study.sampling,
            duration=study.duration,
            dt=study.dt,
            success=study.success,
        )
    _run(study, out, jobs, replace, cluster, json)


def _run(
    study: Any,
    out: Path | None,
    jobs: int | None,
    replace: bool,
    cluster: str | None,
    json: bool,
) -> None:
    from brazo.study import read_results

    folder = Path(study.name) if out is None else out
    stopped, results = False, None
    with _progress(f"{study.name}: {study.runs} runs") as show:
        try:
            results = study.run(folder, jobs=jobs, replace=replace, progress=show, cluster=cluster)
        except KeyboardInterrupt:
            stopped = True
    if results is None:
        if not (folder / "results.parquet").exists():
            print("stopped by user before the first results", file=sys.stderr)
            raise typer.Exit(INTERRUPTED)
        results = read_results(folder)
    report = results.to_html(folder / "report.html") if len(results) else None
    if json:
        print_json(_numbers(results))
    else:
        _print_results(results)
        if results.failures:
            print_line(f"{len(results.failures)} runs failed; the report has their reasons")
        print_line(f"results: {folder / 'results.parquet'}")
        if report is not None:
            print_line(f"report: {report}")
        _print_cost(results, folder / "results.parquet")
    if stopped:
        done, total = len(results), results.names["runs"]
        print(f"stopped by user after {done} of {total} runs", file=sys.stderr)
        print("the same command continues", file=sys.stderr)
        raise typer.Exit(INTERRUPTED)


def _print_results(results: Any) -> None:
    from brazo.study.tables import result_tables

    for found in result_tables(results):
        table(found.title, found.columns, found.rows, left=found.names)


def _print_cost(results: Any, file: Path) -> None:
    """Print the number and duration of the runs, and the CPU time and file size per run.

    For studies of a cell, the simulation steps per second are printed too.  If the cost of the runs
    is not known, only the file size is printed.
    """
    size = file.stat().st_size / max(len(results), 1)
    cost = results.cost
    if cost is None or not cost.runs:
        print_line(f"{size:.0f} bytes per run")
        return
    parts = [f"{cost.runs} runs in {cost.seconds:.1f} s"]
    if cost.jobs is not None:
        parts[0] += f" on {cost.jobs} cores"
        parts.append(f"{1e3 * cost.core_seconds:.3g} ms of one core per run")
    if results.names.get("kind") == "cell" and cost.runs == len(results):
        steps = float(results["steps"][results["steps"] > 0].sum())
        parts.append(f"{steps / cost.seconds:.0f} cell steps/s")
    print_line(", ".join([*parts, f"{size:.0f} bytes per run"]))


def _numbers(results: Any) -> dict[str, Any]:
    if results.names.get("kind") in ("cell", "delay"):
        return _success_numbers(results)
    return {
        "study": results.title,
        "runs": len(results),
        "complete": results.complete,
        "failed": {str(run): text for run, text in results.failures.items()},
        "ranking": {
            robot: [
                {
                    "controller": rank.controller,
                    "rank": rank.rank,
                    "ranks": rank.ranks,
                    "rms_error.tool": [rank.score.value, rank.score.low, rank.score.high],
                    "success": [rank.success.value, rank.success.low, rank.success.high],
                    "best": rank.best,
                }
                for rank in results.ranking(robot)
            ]
            for robot in results.group_names("robot")
            if results.select(robot=robot).any()
        },
    }


def _success_numbers(results: Any) -> dict[str, Any]:
    """Return the results of a cell or delay study for --json.

    They include the success rate of all runs, and that of each case and controller.
    """
    kinds = [kind for kind in ("case", "controller") if f"{kind}s" in results.names]
    groups = []
    for names in itertools.product(*(results.group_names(kind) for kind in kinds)):
        group = dict(zip(kinds, names, strict=True))
        mask = results.select(**group)
        if mask.any():
            rate = results.success(mask)
            groups.append({**group, "success": [rate.value, rate.low, rate.high]})
    rate = results.success()
    return {
        "study": results.title,
        "runs": len(results),
        "complete": results.complete,
        "success": [rate.value, rate.low, rate.high],
        "groups": groups,
        "failed": {str(run): text for run, text in results.failures.items()},
    }


@contextlib.contextmanager
def _progress(text: str) -> Iterator[Callable[[Any], None]]:
    """Show a progress bar on stderr, if stderr is a terminal; yield a function `show(progress)`.

    The bar shows the number of runs, the runs per second and the remaining time.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    errors = Console(stderr=True)
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}", markup=False),
    )
    with Progress(*columns, console=errors, transient=True, disable=not errors.is_terminal) as bar:
        task = bar.add_task(one_line(text), total=None, rate="")

        def show(now: Any) -> None:
            rate = f"{now.rate:.3g} runs/s, {now.remaining:.0f} s left" if now.rate > 0.0 else ""
            bar.update(task, completed=now.done, total=now.total, rate=rate)

        yield show
