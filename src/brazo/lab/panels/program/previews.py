"""Kinematic previews of the program being edited: targets of the steps, and the dry run.

Targets are computed on another thread, because inverse kinematics of a long program takes longer
than a frame.  The dry run moves ghosts (transparent copies of the robots) through the whole program
in real time.  The robots in the simulation do not move.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from brazo.errors import BrazoError
from brazo.lab.app.context import PanelContext
from brazo.lab.app.jobs import Job, JobCancelled
from brazo.lab.scene.robot_copy import RobotCopy
from brazo.lab.scene.target_ghost import OPACITY, VIOLET
from brazo.program import steps as s
from brazo.program.collision import Hit
from brazo.program.preview import Preview
from brazo.program.preview_collisions import preview_collisions
from brazo.simulation import Simulation

Flat = Mapping[str, Sequence[s.Step]]
FRAME = 1.0 / 30.0  # s, between two pictures of a dry run


class Previews:
    """Joint targets of the steps of one program.  Use on the lab's thread only.

    An index counts the steps of a robot after all loops are unrolled.  `changed` is called
    when new targets are available.
    """

    def __init__(self, context: PanelContext, changed: Callable[[], None]) -> None:
        self._context, self._changed = context, changed
        self._wanted = 0  # number of the newest request
        self._busy = False
        self._request: tuple[int, Flat, Simulation, float] | None = None
        self._found: Preview | None = None

    def request(self, flat: Flat, sim: Simulation, speed: float) -> None:
        """Start to compute the targets of a new version of the program.

        `flat` maps each robot to its steps with all loops unrolled.  `speed` is the default speed
        (fraction of limits).
        """
        self._wanted += 1
        self._found = None
        self._request = (self._wanted, flat, sim, speed)
        self._start()

    def target(self, robot: str, index: int) -> np.ndarray | None:
        """Joint values (n,) after step `index` of a robot; None if unknown or not reachable."""
        one = self._step(robot, index)
        return None if one is None or one.error else one.q

    def error(self, robot: str, index: int) -> str:
        """Reason why step `index` of a robot is not feasible; empty if feasible or unknown."""
        one = self._step(robot, index)
        return "" if one is None else one.error

    def errors(self) -> dict[str, tuple[int, str]]:
        """First infeasible step of each robot that has one, as (index, reason)."""
        found = {} if self._found is None else self._found.steps
        return {
            robot: (len(done) - 1, done[-1].error)
            for robot, done in found.items()
            if done and done[-1].error
        }

    def _step(self, robot: str, index: int) -> Any:
        done = [] if self._found is None else self._found.steps.get(robot, [])
        return done[index] if 0 <= index < len(done) else None

    def _start(self) -> None:
        if self._busy or self._request is None:
            return
        number, flat, sim, speed = self._request
        self._request, self._busy = None, True

        def work() -> None:
            found = None
            try:
                with contextlib.suppress(BrazoError):
                    found = Preview(flat, sim, speed, timed=False)
            finally:  # also after an error of the preview itself, or there would be no other one
                self._context.post(lambda: done(found))

        def done(found: Preview | None) -> None:
            self._busy = False
            if number == self._wanted:
                self._found = found
                self._changed()
            self._start()

        threading.Thread(target=work, name="brazo-preview", daemon=True).start()


class DryRun:
    """Dry run of a program with ghosts (transparent copies) of the robots.

    An index counts the steps of a robot after all loops are unrolled.  `at` maps each robot to the
    index of its current step; it is empty if no dry run is active.  `hits` contains the collisions
    that were found, by robot and index of the step.  `changed` is called when `hits` changes.
    """

    def __init__(self, context: PanelContext, changed: Callable[[], None]) -> None:
        self._context, self._changed = context, changed
        self.hits: dict[str, dict[int, Hit]] = {}
        self._copies: dict[str, RobotCopy] = {}
        self._root = ""
        self._job: Job | None = None
        self.at: dict[str, int] = {}
        self.time = self.duration = 0.0  # s

    @property
    def active(self) -> bool:
        """Whether a dry run is in progress."""
        return self._job is not None

    def start(self, flat: Flat, sim: Simulation, speed: float, clearance: float) -> None:
        """Plan the program, check it for collisions and then show it, in a background job.

        `flat` maps each robot to its steps with all loops unrolled.  `speed` is the default speed
        (fraction of limits).  `clearance` is the distance (m) below which the collision check
        reports a collision.
        """
        self.stop()
        self.forget()
        context = self._context

        def found(hits: dict[str, dict[int, Hit]]) -> None:
            if job is self._job:
                self.hits = hits
                self._changed()

        def work(job: Job) -> Preview:
            job.tell(None, "planning")
            preview = Preview(flat, sim, speed)
            job.tell(None, "checking for collisions")
            hits = preview_collisions(preview, sim, clearance)
            context.post(lambda: found(hits))
            begin = time.monotonic()
            try:
                while (now := time.monotonic() - begin) < preview.duration:
                    job.tell(now / preview.duration, f"{now:.1f} of {preview.duration:.1f} s")
                    context.post(lambda now=now: self._show(job, preview, sim, now))
                    time.sleep(FRAME)
                context.post(lambda: self._show(job, preview, sim, preview.duration))
            except JobCancelled:
                context.post(lambda: self._end(job))
                raise
            return preview

        def done(preview: Preview) -> None:
            self._end(job)
            context.post(lambda: context.jobs.cancel(job.number))  # removes it from the list
            errors = [(n, steps[-1].error) for n, steps in preview.steps.items() if steps]
            bad = [f"{n}: {why}" for n, why in errors if why]
            bad += [
                f"{n}, step {i + 1}: {hit.short}"
                for n, hits in self.hits.items()
                for i, hit in hits.items()
            ]
            if bad:
                context.notices.say(f"Dry run: {'; '.join(bad)}", "error")
            else:
                context.notices.say(f"Dry run: done after {preview.duration:.1f} s")

        self._job = job = context.jobs.start("Dry run", work, done)

    def forget(self) -> None:
        """Clear the collisions, after the program or the cell changed."""
        if self.hits:
            self.hits = {}
            self._changed()

    def error(self, robot: str, index: int) -> str:
        """Message about the collision in step `index` of a robot; empty if there is none."""
        hit = self.hits.get(robot, {}).get(index)
        return "" if hit is None else f"Dry run: {hit.short}"

    def stop(self) -> None:
        """Stop the dry run and remove its ghosts."""
        if self._job is not None:
            self._job.cancel()
            self._end(self._job)

    def _show(self, job: Job, preview: Preview, sim: Simulation, now: float) -> None:
        if job is not self._job or self._context.session.shown is not sim:
            return
        if self._root != self._context.scene.root:
            self._root, self._copies = self._context.scene.root, {}
        self.time, self.duration = now, preview.duration
        for k, (name, q) in enumerate(preview.at(now).items()):
            robot = sim.robots[name]
            if name not in self._copies:
                node = f"{self._root}/run-{100 + k}"
                self._copies[name] = RobotCopy(
                    self._context.scene, node, robot.arm, VIOLET, OPACITY
                )
            self._copies[name].place(robot.base, q)
            self.at[name] = preview.step_at(name, now)

    def _end(self, job: Job) -> None:
        if job is not self._job:
            return
        self._job, self.at = None, {}
        if self._root == self._context.scene.root:
            for copy in self._copies.values():
                copy.remove()
        self._copies = {}
