"""Control of a program run: start, pause, step and stop the program, and report its state."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from brazo.errors import BrazoError
from brazo.lab.app.context import PanelContext
from brazo.lab.app.program_run import GoOn, Rests, program_in
from brazo.lab.panels.program.builder import Selected
from brazo.program import Execution, Program
from brazo.program.step_paths import StepPath
from brazo.simulation import Simulation

Paths = Mapping[str, Sequence[StepPath]]


class RunControl:
    """Controls the run of the program in the editor.  Use on the lab's thread only."""

    def __init__(self, context: PanelContext, say: Callable[[str, str], None]) -> None:
        self._context, self._say = context, say
        self.execution: Execution | None = None
        self._rests: Rests | None = None
        self._began = 0.0  # s, start of the run
        self._reported = True  # whether the end of the run was reported

    @property
    def _sim(self) -> Simulation:
        return self._context.session.sim

    @property
    def over(self) -> bool:
        """True if there is no run or the run has ended; False if it is running or paused."""
        return self.execution is None or self.execution.done

    @property
    def paused(self) -> bool:
        """Whether the program is paused and can be resumed."""
        return self.execution is not None and self.execution.paused and not self.over

    def require_over(self) -> None:
        """Raise `BrazoError` if the program is running or paused."""
        if not self.over:
            raise BrazoError("the program is running or paused: stop it first")

    def forget(self) -> None:
        """Discard the run, after the program in the editor changed."""
        self.execution = None

    def reset(self) -> None:
        """Discard the run, after a reset of the simulation removed its task."""
        self.execution, self._reported = None, True

    def find(self) -> Execution | None:
        """Take control of the program in the current simulation; return its `Execution`.

        None if no program runs there.  Called after the simulation was replaced.
        """
        self.execution = program_in(self._sim)
        if self.execution is not None:
            self._watch(self.execution)
        return self.execution

    def start(
        self,
        program: Program,
        first: Mapping[str, int] | None,
        breaks: Collection[Selected],
        paths: Paths,
    ) -> Execution:
        """Start a program.

        Steps are counted after loops are unrolled.  `first` maps robots to the index of the step to
        start at; None starts at the first steps.  `breaks` are the steps with breakpoints.  `paths`
        are the paths of the unrolled steps by robot.
        """
        with self._sim.lock:
            self.execution = program.start(self._sim, first=None if first is None else dict(first))
            self.set_breakpoints(breaks, paths)
            self._watch(self.execution)
        return self.execution

    def _watch(self, execution: Execution) -> None:
        self._began, self._reported = self._sim.time, False
        self._rests = Rests(execution)
        self._sim.tasks.add(self._rests)

    def set_breakpoints(self, breaks: Collection[Selected], paths: Paths) -> None:
        """Set the breakpoints of the running program.

        A breakpoint at a loop pauses the program each time the loop is entered.
        """
        if self.execution is None:
            return
        for robot, own in paths.items():
            found = self.execution.breakpoints.get(robot)
            if found is None:
                continue
            found.clear()
            for one in breaks:
                depth = len(one.path)
                inside = [path[:depth] == one.path for path in own]
                if one.robot == robot:
                    entered = zip(inside, [False, *inside], strict=False)
                    leaf = one.path in own
                    found |= {
                        i for i, (now, was) in enumerate(entered) if now and (leaf or not was)
                    }

    def pause(self) -> None:
        """Pause the program."""
        if self.execution is not None:
            self.execution.pause()

    def end(self) -> None:
        """Stop the program."""
        if self.execution is not None:
            with self._sim.lock:
                self.execution.stop()

    def go_on(self, once: bool) -> None:
        """Resume the program; if `once`, for one step only.

        Robots that were moved during the pause first return to where the program paused.  Raises
        `BrazoError` if there is no program to resume.
        """
        execution, sim = self.execution, self._sim
        if execution is None or execution.done:
            raise BrazoError("no program to resume: press Run")

        def failed(why: str) -> None:
            self._context.post(lambda: self._say(f"cannot resume: {why}", "error"))

        self._bring_back()
        with sim.lock:
            for task in sim.tasks:
                if isinstance(task, GoOn) and task.execution is execution:
                    sim.tasks.remove(task)
            sim.tasks.add(GoOn(execution, once, failed))
        if not once:
            sim.player.play()

    def _bring_back(self) -> None:
        """Move each robot that was moved during the pause back to where the program paused."""
        sim = self._sim
        with sim.lock:
            away = {} if self._rests is None else self._rests.away(sim)
        for name, q in away.items():
            self._context.mover.go_to(sim.robots[name], q)
        if away:
            verb = "moves" if len(away) == 1 else "move"
            self._say(f"{' and '.join(away)} first {verb} back to where the program paused", "info")

    # ---- display ---------------------------------------------------------------------------------

    def report_end(self) -> None:
        """Show a message with result and duration when the run has ended, once per run."""
        execution = self.execution
        if self.over and not self._reported and execution is not None:
            self._reported = True
            end = execution.finished if execution.finished is not None else self._sim.time
            text = f"{execution.program.name}: {self._result()} after "
            kind = "error" if execution.failed else "info"
            self._say(f"{text}{max(0.0, end - self._began):.1f} s", kind)

    def bar(self) -> tuple[str, float]:
        """State ("idle", "paused" or "running") and progress (0 to 1) for the page's top bar."""
        execution, over = self.execution, self.over
        paused = execution is not None and execution.paused
        share = 0.0 if execution is None or over else execution.progress
        return "idle" if over else "paused" if paused else "running", share

    @property
    def state(self) -> str:
        """State of the run as text for the user."""
        execution = self.execution
        if execution is None:
            return "not started"
        goals = execution.reached
        done = sum(when is not None for when in goals.values())
        goals_text = f", {done} of {len(goals)} goals" if goals else ""
        if execution.failed:
            return f"failed{goals_text}"
        if execution.ended:
            return f"stopped by user{goals_text}"
        if execution.done:
            when = execution.finished
            return f"done{goals_text}" if when is None else f"done at {when:.2f} s{goals_text}"
        return ("paused" if self.paused else "running") + goals_text

    def _result(self) -> str:
        return self.state.partition(" at ")[0].partition(",")[0]

    def track(self, robot: str) -> tuple[int, str, str] | None:
        """State of one robot's steps: (index of the current unrolled step, status, text).

        None if there is no run or the program does not use the robot.
        """
        execution = self.execution
        state = None if execution is None else execution.states.get(robot)
        if state is None or execution is None:
            return None
        number = min(state.index + 1, state.count)
        status: str = state.status
        if status != "done":
            status = "stopped" if execution.ended else "paused" if self.paused else status
        kind = status if status != "stopped" else "ended" if execution.ended else "failed"
        return state.index, kind, f"{status}, {number} of {state.count}"

    def lines(self) -> list[int]:
        """Line numbers of the current steps in the program text; empty if no program is active."""
        if self.execution is None or self.over:
            return []
        states = self.execution.states.values()
        return [state.place.line for state in states if state.place is not None]
