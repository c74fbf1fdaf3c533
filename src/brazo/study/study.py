"""`Study`: many runs of robots, tasks, cases and controllers, with factors and repetitions.

    study = brazo.Study(
        robots=["puma560"],
        controllers={"PID": brazo.control.PID()},
        tasks=["sines"],
        factors={"payload": grid(0.0, 3.0, 4), "PID.kp.scale": loguniform(0.5, 2.0)},
        samples=256,
        duration=1.0,
    )
    results = study.run("results/pid")

Runs are numbered.  Every combination of robot, task, case and controller is a group, and each group
has one run for each row of the factors (one value of each factor) and each repetition.  The random
numbers of a run depend only on the seed of the study, the row and the repetition, so all
controllers have the same noise, payloads and start positions.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from brazo.control import CompiledController, Controller
from brazo.dynamics.reading import sample_trajectory
from brazo.dynamics.simulate import sample_times
from brazo.errors import BrazoError
from brazo.recording.metrics import TOOL
from brazo.robot import Robot, load
from brazo.study.factors import Factor, Sampling
from brazo.study.plan import ChunkTable, RunGroup, StudyPlan
from brazo.study.scenario import (
    CASE_FACTORS,
    COMPILED,
    Case,
    ControllerChoice,
    Task,
    joint_index,
    listed,
    make_controller,
    make_task,
    named_controllers,
)
from brazo.world.cell import GREATEST_STEP, LEAST_STEP, STEP_RANGE

#: Metrics of each joint; those in `TOOL_METRICS` also of the tool, as `NAME.tool`.
JOINT_METRICS = (
    "rms_error", "max_error", "overshoot", "settling_time", "energy", "peak_torque", "saturation",
    "jerk",
)  # fmt: skip
TOOL_METRICS = ("rms_error", "max_error", "overshoot", "settling_time")
TOTALS = ("energy", "saturation")  # sum of the joints; largest of the joints
PHYSICS = ("exact", "contact")
_PERIODS = 4_000_000  # of one chunk; also limits what Ctrl+C or a lost process can lose
_NOISY_PERIODS = 500_000  # with random numbers for each period, which need memory
_SIMULATED_PERIODS = 20_000
_RULES = 2  # in the fingerprint; to be increased when the results of unchanged studies change


class Study(StudyPlan):
    """Study of controllers on robots; `brazo.study.load_study` reads one from a file.

    Parameters
    ----------
    robots : one or more names, paths or `Robot` objects.
    controllers : mapping of a name to a controller, or one or more names of controllers.
    tasks : one or more of "sines", "quintic", "step", paths of via-point files, and functions
        robot -> trajectory.
    cases : conditions of the runs; default: nominal.
    factors : factors that vary, by name.  A factor is a numeric field of `Case` (payload,
        mass_error, position_noise, velocity_noise, start_error, delay, disturbance) or a gain:
        "PID.kp" for all joints, "PID.kp.elbow" for one joint, or "PID.kp.scale", by which the
        controller's gains kp are multiplied.
    samples, sampling : number of rows for factors that are distributions, and sampling method.
    repetitions : number of runs of each row, with different random numbers.
    seed : seed of all random numbers.
    duration, dt, substeps : length of a run and control period (s); Runge–Kutta steps per period.
        Runs with contacts, controllers in Python or some kinds of faults cannot be compiled.  They
        are simulated with the step size `dt`, from 0.01 ms to 10 ms, and `substeps` must be 1.
    success : max value of metrics, e.g. {"max_error.tool": 5e-3}.  A run is successful if it does
        not fail and each of these metrics is at most its max value; NaN is not successful.
    physics : "exact" (no contacts), or "contact": `brazo.Simulation` with contacts, on a floor.
    """

    def __init__(
        self,
        robots: Sequence[str | Path | Robot] | str | Path | Robot,
        controllers: Mapping[str, Controller | ControllerChoice] | Sequence[str],
        tasks: Sequence[str | Path | Callable[[Robot], Task]]
        | str
        | Path
        | Callable[[Robot], Task] = ("sines",),
        *,
        name: str = "study",
        about: str = "",
        cases: Sequence[Case] = (Case(),),
        factors: Mapping[str, Factor] | None = None,
        samples: int = 1,
        sampling: Sampling = "random",
        repetitions: int = 1,
        seed: int = 0,
        duration: float = 2.0,
        dt: float = 1e-3,
        substeps: int = 1,
        success: Mapping[str, float] | None = None,
        physics: str = "exact",
    ) -> None:
        super().__init__(name, about, factors, samples, sampling, repetitions, seed, success)
        given = [robots] if isinstance(robots, (str, Path, Robot)) else list(robots)
        self.robots = [r if isinstance(r, Robot) else load(r) for r in given]
        self.controllers: dict[str, Controller | ControllerChoice] = named_controllers(controllers)
        self.tasks: list[str | Path | Callable[[Robot], Task]] = listed(tasks)
        self.cases = list(cases)
        self.duration, self.dt, self.substeps = duration, dt, substeps
        self.physics = physics
        self._check()

    def __repr__(self) -> str:
        return f"<brazo.Study {self.name}: {self.runs} runs of {self.duration:g} s>"

    def _make_caches(self) -> None:
        """Create the empty caches of bound controllers and references, and their locks."""
        self._bound: dict[tuple[int, int], Controller] = {}
        self._references: dict[tuple[int, int], np.ndarray] = {}
        self._locks: dict[tuple[int, int], threading.Lock] = {}

    # ---- plan ------------------------------------------------------------------------------

    @cached_property
    def groups(self) -> list[RunGroup]:
        """All combinations of robot, task, case and controller."""
        return [
            RunGroup(r, t, s, c)
            for r in range(len(self.robots))
            for t in range(len(self.tasks))
            for s in range(len(self.cases))
            for c in range(len(self.controllers))
        ]

    def chunk_size(self, group: RunGroup) -> int:
        """Return the number of runs per chunk of a group."""
        return max(1, min(self._periods(group) // round(self.duration / self.dt), 8192))

    def compiled(self, group: RunGroup) -> bool:
        """Return whether the runs of a group are computed by a compiled closed loop.

        All other runs are computed with `brazo.Simulation`.
        """
        controller = list(self.controllers.values())[group.controller]
        case = self.cases[group.case]
        return (
            self.physics == "exact"
            and isinstance(make_controller(controller), CompiledController)
            and all(fault.kind in COMPILED for fault in case.faults)
        )

    def compute(self, number: int) -> ChunkTable:
        """Compute the runs of chunk `number`."""
        from brazo.study.chunk_runs import compute_runs

        return compute_runs(self, number)

    def _periods(self, group: RunGroup) -> int:
        if not self.compiled(group):
            return _SIMULATED_PERIODS
        case = self.cases[group.case]
        noisy = case.position_noise or case.velocity_noise
        noisy = noisy or {"position_noise", "velocity_noise"} & self.factors.keys()
        return _NOISY_PERIODS if noisy else _PERIODS

    def bound(self, group: RunGroup) -> Controller:
        """Return the controller of a group, bound to its robot.

        Groups with the same robot and controller share this object and its machine code.
        """
        key = group.robot, group.controller
        if key not in self._bound:
            controller = make_controller(list(self.controllers.values())[group.controller])
            controller.bind(self.robots[group.robot], self.dt)
            self._bound[key] = controller
        return self._bound[key]

    def compiling(self, group: RunGroup) -> threading.Lock:
        """Return the lock for compiling the code of a group, so that it is compiled only once."""
        return self._locks.setdefault((group.robot, group.controller), threading.Lock())

    def task(self, group: RunGroup) -> Task:
        """Return the reference trajectory of a group, a function t -> (q, qd, qdd)."""
        return make_task(self.robots[group.robot], self.tasks[group.task])

    def reference(self, group: RunGroup) -> np.ndarray:
        """Return q, qd and qdd (3, m, n) of the trajectory of a group at the m times 0, dt, ….

        The last time is `duration`.
        """
        key = group.robot, group.task
        if key not in self._references:
            t = sample_times(self.duration, self.dt)
            self._references[key] = sample_trajectory(self.task(group), t, self.robots[key[0]])
        return self._references[key]

    # ---- results ---------------------------------------------------------------------------

    @cached_property
    def columns(self) -> dict[str, str]:
        """Units of the result columns, by column name."""
        found = {"run": "", "robot": "", "task": "", "case": "", "controller": ""}
        found |= {"row": "", "repetition": ""}
        found |= dict.fromkeys(self.factors, "")
        found |= {"success": "", "failed_at": "s"}
        for metric in TOOL_METRICS:
            found[f"{metric}.{TOOL}"] = unit_of(metric, "prismatic")
        for metric in TOTALS:
            found[metric] = unit_of(metric, "revolute")
        for metric in JOINT_METRICS:
            for robot in self.robots:
                for joint, kind in zip(robot.joint_names, robot.joint_kinds, strict=True):
                    found[f"{metric}.{joint}"] = unit_of(metric, kind)
        return found

    @property
    def task_names(self) -> list[str]:
        """Names of the tasks."""
        return [
            getattr(task, "__name__", str(task)) if callable(task) else Path(task).stem
            for task in self.tasks
        ]

    @cached_property
    def fingerprint(self) -> str:
        """Hash of the inputs of the study, which identifies its results."""
        from importlib.metadata import version

        content = {
            "brazo": version("brazo"),
            "rules": _RULES,
            "robots": [_robot_text(robot) for robot in self.robots],
            "controllers": {k: _controller_text(v) for k, v in self.controllers.items()},
            "tasks": [self._task_text(k) for k in range(len(self.tasks))],
            "cases": [asdict(case) for case in self.cases],
            "factors": {name: asdict(factor) for name, factor in self.factors.items()},
            "numbers": [
                self.samples, self.sampling, self.repetitions, self.seed, self.duration, self.dt,
                self.substeps, self.success, self.physics,
            ],
        }  # fmt: skip
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    def _task_text(self, k: int) -> str | list[str]:
        """Return text that identifies the trajectories of task k.

        For a file, it is the content of the file.  For a function, it is the name and a hash of the
        trajectory of each robot, because neither the name nor the source of a function contains the
        values that it uses.
        """
        name, task = self.task_names[k], self.tasks[k]
        if callable(task):
            references = (self.reference(RunGroup(r, k, 0, 0)) for r in range(len(self.robots)))
            return [name, *(hashlib.sha256(one.tobytes()).hexdigest() for one in references)]
        return Path(task).read_text() if Path(task).is_file() else name

    @property
    def names(self) -> dict[str, Any]:
        """Data for reports, by key, with lists of names of robots, tasks, cases and controllers.

        The results contain indices of these lists instead of names.
        """
        return {
            "robots": [robot.name for robot in self.robots],
            "tasks": self.task_names,
            "cases": [case.name for case in self.cases],
            "controllers": list(self.controllers),
            "factors": list(self.factors),
            "joints": {robot.name: list(robot.joint_names) for robot in self.robots},
            "success": self.success,
            "duration": self.duration,
            "runs": self.runs,
        }

    # ---- checks ----------------------------------------------------------------------------

    def _check(self) -> None:
        for what, parts in (
            ("robots", self.robots),
            ("controllers", self.controllers),
            ("tasks", self.tasks),
            ("cases", self.cases),
        ):
            if not parts:
                raise BrazoError(f"study: no {what}; give at least one")
        names = [robot.name for robot in self.robots]
        cases = [case.name for case in self.cases]
        for what, given in (("robots", names), ("cases", cases)):
            if len(set(given)) < len(given):
                raise BrazoError(f"study: two {what} have the same name: {', '.join(given)}")
        self.check_numbers("substeps")
        if self.physics not in PHYSICS:
            raise BrazoError(f"study: physics '{self.physics}'; expected {' or '.join(PHYSICS)}")
        sample_times(self.duration, self.dt)
        for name in self.factors:
            self.check_factor(name)
        self.check_success()
        for case in self.cases:
            for name in self.factors.keys() & CASE_FACTORS:
                if getattr(case, name):
                    raise BrazoError(
                        f"'{name}' is both a factor and a value of case '{case.name}'; remove one"
                    )
            for robot in self.robots:
                for fault in case.faults:
                    fault.index(robot)
                if case.disturbance or "disturbance" in self.factors:
                    joint_index(robot, case.disturbance_joint, "disturbance")
        self._check_simulated()

    def _check_simulated(self) -> None:
        """Raise BrazoError if simulated runs do not support `substeps` or `dt`."""
        if self.substeps == 1 and LEAST_STEP <= self.dt <= GREATEST_STEP:
            return
        for group in self.groups:
            if self.compiled(group):
                continue
            case = self.cases[group.case].name
            controller = list(self.controllers)[group.controller]
            runs = f"the runs of case '{case}' with controller '{controller}' are simulations"
            if self.substeps != 1:
                raise BrazoError(
                    f"study: substeps = {self.substeps}; {runs}, which support only substeps = 1: "
                    "use a smaller dt"
                )
            raise BrazoError(
                f"study: dt = {1e3 * self.dt:g} ms; {runs}, which support only step sizes from "
                f"{STEP_RANGE}: change dt"
            )

    def check_factor(self, name: str) -> None:
        """Raise BrazoError if `name` is not the name of a factor that this study supports."""
        if name in CASE_FACTORS:
            return
        owner, _, gain = name.partition(".")
        if owner in self.controllers and gain:
            gain, _, entry = gain.partition(".")
            controller = make_controller(self.controllers[owner])
            kinds = {one.name: one for one in controller.GAINS}
            if gain not in kinds:
                raise BrazoError(
                    f"factor '{name}': {owner} has no gain '{gain}'; gains: {', '.join(kinds)}"
                )
            for robot in self.robots:
                labels = kinds[gain].entries or tuple(robot.joint_names)
                if entry and entry != "scale" and entry not in labels:
                    raise BrazoError(
                        f"factor '{name}': no entry '{entry}'; entries: scale, {', '.join(labels)}"
                    )
            return
        gains = ", ".join(f"{one}.GAIN" for one in self.controllers)
        raise BrazoError(f"unknown factor '{name}'; factors: {', '.join(CASE_FACTORS)}, {gains}")


def unit_of(metric: str, kind: str) -> str:
    """Return the unit of a metric of a joint; `kind` is "revolute" or "prismatic".

    Metrics of the tool have the units of a prismatic joint.
    """
    length = "rad" if kind == "revolute" else "m"
    units = {"rms_error": length, "max_error": length, "settling_time": "s", "energy": "J"}
    units |= {"peak_torque": "N m" if kind == "revolute" else "N", "jerk": f"{length}/s³"}
    return units.get(metric, "")


def _robot_text(robot: Robot) -> str:
    try:
        return robot.to_yaml()
    except BrazoError:
        return robot.to_urdf()


def _controller_text(choice: Controller | ControllerChoice) -> str:
    if isinstance(choice, ControllerChoice):
        return f"{choice.kind} {sorted(choice.options.items())}"
    options = {
        name: value
        for name, value in vars(choice).items()
        if not name.startswith("_") and isinstance(value, (int, float, str, list, tuple))
    }
    given = {k: np.asarray(v).tolist() for k, v in choice._given.items()}
    return f"{type(choice).__qualname__} {sorted(options.items())} {sorted(given.items())}"
