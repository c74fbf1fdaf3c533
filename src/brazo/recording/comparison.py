"""Comparison of runs: the same signals over time since the start of the motion, and metrics.

Runs are synchronised at the start of the motion, and all times of signals are measured from it.  By
default, the motion starts at the last row before the reference of the robot first changes.  A
recording may specify another start; see `motion_span` of `brazo.recording.metrics`.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from brazo.checks import positive
from brazo.errors import BrazoError
from brazo.files import replacing
from brazo.recording.display import display_unit, number
from brazo.recording.export_methods import Exports
from brazo.recording.metrics import AFTER, MotionMetrics, metrics_of, motion_span, tool_error
from brazo.recording.names import choose
from brazo.recording.part_file import PART
from brazo.recording.recording import Recording
from brazo.recording.robots import RecordedRobot, robots_of
from brazo.text import html_table

Source = Recording | Exports | str | Path
TOOL_ERROR = "tool_error"  # derived signal of a robot: distance of the tool from its reference


@dataclass(frozen=True, eq=False)
class ComparedRun:
    """One run of a comparison: a robot of a recording, with times since the start of its motion."""

    name: str
    recording: Recording
    robot: RecordedRobot
    start: float  # s, time of the recording at which the motion starts
    stop: float  # s, and at which it ends

    @property
    def t(self) -> np.ndarray:
        """Times (rows,) in s since the start of the motion."""
        return self.recording.t - self.start

    @cached_property
    def signals(self) -> dict[str, str]:
        """Signal name without the name of the robot (`q.elbow`, `tool_error`) -> unit."""
        prefix = f"{self.robot.name}." if self.robot.name else ""
        found = {
            name.removeprefix(prefix): self.recording.unit(name)
            for name in self.recording.names
            if name.startswith(prefix)
        }
        for joint, name in self._errors.items():  # derived where only the reference was recorded
            found.setdefault(f"error.{joint}", self.recording.unit(name))
        if tool_error(self.robot) is not None:
            found[TOOL_ERROR] = "m"
        return found

    @cached_property
    def _errors(self) -> dict[str, str]:
        """Joints with a tracking error: joint name -> name of the position signal.

        A joint has a tracking error if its error or its reference was recorded.
        """
        start = len(self.robot.prefix("q")) + 1
        return {name[start:]: name for name in self.robot.errors()}

    def end(self, after: float = AFTER) -> float:
        """Return the time (s) since the start of the motion up to which the run is evaluated.

        It is `after` (s) after the end of the motion, or the end of the recording if that is
        earlier.
        """
        return min(self.stop - self.start + after, float(self.t[-1]))

    def values(self, signal: str) -> np.ndarray:
        """Return the values (rows,) of a signal of the robot in SI units.

        `signal` is one of `signals`.
        """
        if signal == TOOL_ERROR:
            error = tool_error(self.robot)
            if error is not None:
                return np.linalg.norm(error, axis=1)
        group, _, joint = signal.partition(".")
        if group == "error" and joint in self._errors:
            return self.robot.errors()[self._errors[joint]]
        return self.recording[self.robot.prefix(signal)]

    @cached_property
    def positions(self) -> np.ndarray:
        """Joint positions (rows, n) in rad and m."""
        return np.column_stack([self.recording[name] for name in self.robot.group("q")])

    def positions_at(self, t: float) -> np.ndarray:
        """Return the joint positions (n,) at a time (s) since the start of the motion.

        Positions are interpolated linearly.  Before the first row and after the last row, they are
        constant.
        """
        return row_at(self.t, self.positions, t)


class Comparison:
    """Comparison of several runs of a robot; see `brazo.compare`.

    Parameters
    ----------
    runs : mapping of name to Recording
        The runs, in the order of the legend.
    robot : str, optional
        Name of the robot to compare; default: the first robot of the first run.  The name is
        ignored in a run with a single robot.
    after : float
        The evaluation of a run ends this time (s) after the end of the motion.  A settling time
        longer than `after` is undefined.
    """

    def __init__(
        self, runs: Mapping[str, Recording], robot: str | None = None, after: float = AFTER
    ) -> None:
        if not runs:
            raise BrazoError("compare: no runs; give at least one recording")
        self.after = positive(after, "compare: after (s)", zero=True)
        wanted = robot
        if wanted is None:
            wanted = next(iter(_robots(*next(iter(runs.items())))))
        self.runs = [compared_run(name, one, wanted) for name, one in runs.items()]
        self.robot = wanted or self.runs[0].robot.title

    @property
    def names(self) -> list[str]:
        """Names of the runs."""
        return [run.name for run in self.runs]

    @property
    def signals(self) -> dict[str, str]:
        """Signals of the robot in any of the runs, and their units."""
        found: dict[str, str] = {}
        for run in self.runs:
            found = {**run.signals, **found}
        return found

    @cached_property
    def metrics(self) -> dict[str, list[MotionMetrics]]:
        """Metrics of each run: of the tool, of each joint, and the energy of all joints."""
        return {run.name: metrics_of(run.robot, self.after) for run in self.runs}

    @property
    def end(self) -> float:
        """Time (s) since the start of the motion up to which the longest run is evaluated."""
        return max(run.end(self.after) for run in self.runs)

    def rows(self) -> list[list[Any]]:
        """Return the metrics as rows of a table with the columns `COLUMNS`.

        Errors are in degrees and mm; energies, torques and forces are in SI units.  NaN means
        undefined.
        """
        found = []
        for run, metrics in self.metrics.items():
            for one in metrics:
                unit, factor = display_unit(one.unit) if one.unit else ("", 1.0)
                found.append(
                    [
                        run,
                        one.part,
                        unit,
                        factor * one.rms_error,
                        factor * one.max_error,
                        100.0 * one.overshoot,
                        one.settling_time,
                        one.energy,
                        one.peak_torque,
                        one.torque_unit,
                    ]
                )
        return found

    def csv_text(self) -> str:
        """Return the table of metrics as CSV text."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(COLUMNS)
        for row in self.rows():
            writer.writerow([_cell(value) for value in row])
        return out.getvalue()

    def to_csv(self, path: str | Path) -> Path:
        """Write the metrics as .csv.

        Each run has one row for the tool, one for each joint and one for all joints together.
        """
        path = Path(path)
        if path.suffix.lower() != ".csv":
            raise BrazoError(f"{path}: the name of a table must end in .csv")
        with replacing(path) as temporary:
            temporary.write_text(self.csv_text(), encoding="utf-8")
        return path

    def plot(
        self,
        signals: str | Sequence[str] | None = None,
        path: str | Path | None = None,
        title: str = "",
    ) -> Any:
        """Plot signals of all runs over time since the start of the motion.

        Parameters
        ----------
        signals : str or sequence of str, optional
            Signal names or patterns, without the name of the robot: `"q.elbow"`, `"torque"`,
            `"tool_error"`.  Each signal has its own axis.  Default: tool path, tool error, and the
            tracking errors of the joints, or joint positions if no run has tracking errors.
        path : path, optional
            The figure is also written to this file: .png, .svg or .pdf.

        Returns
        -------
        matplotlib.figure.Figure
        """
        from brazo.recording.comparison_figures import overlay_figure, overview_figure

        if signals is None:
            return _saved(overview_figure(self, title), path)
        return _saved(overlay_figure(self, self.choose(signals), title), path)

    def plot_xy(self, x: str, y: str, path: str | Path | None = None, title: str = "") -> Any:
        """Plot one signal of all runs over another signal, such as `"tool.x"` and `"tool.y"`.

        Both axes have the same scale if the signals have the same unit.  Returns the matplotlib
        figure. If `path` is given, the figure is also written to this file.
        """
        from brazo.recording.comparison_figures import xy_figure

        (x,), (y,) = self.choose([x], one=True), self.choose([y], one=True)
        return _saved(xy_figure(self, x, y, title), path)

    def choose(self, signals: str | Sequence[str], one: bool = False) -> list[str]:
        """Return the signals that match names, prefixes or patterns.

        Patterns may be given with or without the name of the robot.  With `one`, several matches
        raise an error.
        """
        given = [signals] if isinstance(signals, str) else list(signals)
        prefixes = {f"{run.robot.name}." for run in self.runs if run.robot.name}
        bare = [
            next((name[len(p) :] for p in prefixes if name.startswith(p)), name) for name in given
        ]
        found = choose(list(self.signals), bare)
        if one and len(found) > 1:
            raise BrazoError(f"'{given[0]}' matches {', '.join(found[:4])}; give one signal")
        return found

    def __repr__(self) -> str:
        return f"<brazo.Comparison of {self.robot}: {', '.join(self.names)}>"

    def _repr_html_(self) -> str:
        return html_table(repr(self).strip("<>"), HEADINGS, self.texts())

    def texts(self) -> list[list[str]]:
        """Return the rows of the table as text, with the columns `HEADINGS`; – means undefined."""
        return [
            [
                run,
                part,
                _with_unit(rms_error, unit),
                _with_unit(max_error, unit),
                *map(number, (overshoot, settling, energy)),
                _with_unit(torque, torque_unit),
            ]
            for run, part, unit, rms_error, max_error, overshoot, settling, energy, torque, (
                torque_unit
            ) in self.rows()
        ]


COLUMNS = (
    "run", "part", "error_unit", "rms_error", "max_error", "overshoot_percent",
    "settling_time_s", "energy_J", "peak_torque", "torque_unit",
)  # fmt: skip
HEADINGS = (
    "run", "part", "RMS error", "max error", "overshoot, %", "settling time, s",
    "energy, J", "peak torque",
)  # fmt: skip


def compare(
    runs: Mapping[str, Source] | Sequence[Source],
    robot: str | None = None,
    after: float = AFTER,
) -> Comparison:
    """Compare runs: overlaid plots and a table of metrics.

    Parameters
    ----------
    runs : mapping or sequence
        Recordings, results with a recording (`brazo.Run`, `brazo.control.track`) or paths of
        .parquet and .csv files.  The keys of a mapping are the names of the runs.
    robot : str, optional
        Robot to compare; default: the first robot of the first run.
    after : float
        The evaluation of a run ends this time (s) after the end of the motion.

    Returns
    -------
    Comparison
        `metrics`, `plot`, `plot_xy`, `to_csv`.

    Examples
    --------
    >>> both = brazo.compare({"PID": "pid.parquet", "LQR": "lqr.parquet"})  # doctest: +SKIP
    >>> both.plot(path="both.svg"), both.to_csv("both.csv")  # doctest: +SKIP
    """
    if isinstance(runs, str | Path | Recording | Exports):
        raise BrazoError("compare: expected a list or a mapping of runs, got one run")
    if isinstance(runs, Mapping):
        return Comparison({str(n): _opened(run) for n, run in runs.items()}, robot, after)
    found: dict[str, Recording] = {}
    for run in runs:
        recording = _opened(run)
        found[unused(_name_of(run, recording), found)] = recording
    return Comparison(found, robot, after)


def row_at(times: np.ndarray, rows: np.ndarray, t: float) -> np.ndarray:
    """Return the row (k,) of `rows` (m, k) at time t, interpolated linearly.

    Before the first time it is the first row, after the last time the last row.
    """
    k = int(np.clip(np.searchsorted(times, t), 1, len(times) - 1))
    share = (t - times[k - 1]) / (times[k] - times[k - 1])
    return rows[k - 1] + min(max(share, 0.0), 1.0) * (rows[k] - rows[k - 1])


def unused(name: str, taken: Mapping[str, Any]) -> str:
    """Return the name, with a number appended if it is already in `taken`: `PID`, `PID 2`."""
    k, first = 2, name
    while name in taken:
        name, k = f"{first} {k}", k + 1
    return name


def name_of_file(path: str | Path) -> str:
    """Return the name of a run: `pid` for the files `pid.parquet` and `pid.parquet.part`."""
    return Path(path).name.removesuffix(PART).rpartition(".")[0] or str(path)


def _opened(source: Any) -> Recording:
    if isinstance(source, Recording):
        return source
    if isinstance(source, Exports):
        return source.recording
    if isinstance(source, str | Path):
        return Recording.open(source)
    raise BrazoError(
        f"compare: {type(source).__name__} is not a run; expected a Recording, a result of "
        "simulate or track, or a path"
    )


def _name_of(source: Any, recording: Recording) -> str:
    if isinstance(source, str | Path):
        return name_of_file(source)
    return recording.about.get("method", "").partition(",")[0] or "run"


def _robots(name: str, recording: Recording) -> dict[str, RecordedRobot]:
    found = {robot.name: robot for robot in robots_of(recording)}
    if not found:
        raise BrazoError(f"compare: run '{name}' has no robot: no signals named q.JOINT")
    if len(recording) < 2:
        raise BrazoError(f"compare: run '{name}' has {len(recording)} rows; at least 2 are needed")
    return found


def compared_run(name: str, recording: Recording, wanted: str) -> ComparedRun:
    """Return the run of the robot `wanted` in a recording.

    If the recording has a single robot, that robot is used, whatever its name.  Otherwise
    BrazoError is raised if no robot has this name.
    """
    robots = _robots(name, recording)
    robot = robots.get(wanted) or (next(iter(robots.values())) if len(robots) == 1 else None)
    if robot is None:
        raise BrazoError(
            f"compare: run '{name}' has no robot '{wanted}'; it has {', '.join(robots)}"
        )
    return ComparedRun(name, recording, robot, *motion_span(robot))


def _saved(figure: Any, path: str | Path | None) -> Any:
    if path is not None:
        from brazo.recording.canvas import save

        save(figure, path)
    return figure


def _with_unit(value: float, unit: str) -> str:
    text = number(value)
    return text if math.isnan(value) else f"{text} {unit}"


def _cell(value: Any) -> Any:
    if not isinstance(value, float):
        return value
    return "" if math.isnan(value) else f"{value:.6g}"
