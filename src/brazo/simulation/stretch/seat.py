"""One robot's part in a stretch of steps: where its law, state and references lie in memory."""

from __future__ import annotations

import numpy as np

from brazo.codegen.native import address
from brazo.control import CompiledController, Controller
from brazo.simulation.motion import Motion, Rest, Sampled
from brazo.simulation.robot import SimRobot
from brazo.simulation.stretch.loop_code import ARITIES, ROBOT

_SIGNALS = 5  # q, qd and the reference's q, qd, qdd: what a law is given first


class Seat:
    """Fills a robot's record before a stretch, and tells the robot what became of it."""

    def __init__(self, robot: SimRobot, words: np.ndarray, place: int) -> None:
        self._robot = robot
        self._words = words.data
        self._law: CompiledController | None = None
        self._arguments: list[np.ndarray] | None = None
        self._motion: Motion | None = None
        self._start = 0
        self._states: tuple[np.ndarray, np.ndarray] | None = None
        self._wanted = np.zeros(0)
        self._words[ROBOT.n], self._words[ROBOT.place] = robot.n, 8 * place

    def begin(self) -> bool:
        """Take down law, state and motion; False where they are not for machine code."""
        robot, words = self._robot, self._words
        if not robot.plain:
            return False
        law = robot.controller
        if law is None:
            self._law = self._arguments = None
            words[ROBOT.law] = 0
        else:
            mine = self._law
            known = mine is not None and mine is law and mine.arguments is self._arguments
            if not known and not self._take(law):
                return False
            self._begin_state()
        return self._follow(robot.motion)

    def _begin_state(self) -> None:
        """The law's state into the first of two places between which it goes to and fro."""
        if self._states is not None and self._arguments is not None:
            self._states[0][:] = self._arguments[-1]
            state, following = self._places
            self._given[state], self._given[following] = map(address, self._states)

    def end(self, steps: int, whole: int) -> None:
        """So many steps were begun, and so many of them are over."""
        motion, law = self._motion, self._law
        if isinstance(motion, Sampled):
            motion.skip(whole)
        if law is None or not steps:
            return
        state = None
        if self._states is not None:
            first, second = self._states
            now = first if self._given[self._places[0]] == address(first) else second
            state = now.copy()
        law.took(self._wanted.copy(), state)

    def _follow(self, motion: Motion) -> bool:
        words = self._words
        if motion is not self._motion:
            if type(motion) is Sampled:
                table = motion.table
                if not table.flags.c_contiguous or table.dtype != np.float64:
                    return False
                self._start, words[ROBOT.row_step] = address(table), table.strides[0]
                words[ROBOT.rest] = address(motion.end.row)
            elif type(motion) is Rest:
                words[ROBOT.rest] = address(motion.row)
            else:
                return False
            self._motion = motion
        words[ROBOT.left], words[ROBOT.row] = 0, words[ROBOT.rest]
        if type(motion) is Sampled:
            place, count = motion.place, len(motion.table)
            if place < count:
                words[ROBOT.row] = self._start + place * words[ROBOT.row_step]
                words[ROBOT.left] = count - 1 - place
        return True

    def _take(self, law: Controller) -> bool:
        """Write down where a law's kernel, its inputs and outputs lie."""
        self._law = self._arguments = None
        live, torque = self._robot.world.live, self._robot.world.torque
        if not isinstance(law, CompiledController) or live is None:
            return False
        if type(law).torque is not CompiledController.torque:
            return False
        kernel, inputs = law.compiled.kernel, law.arguments
        count = _SIGNALS + len(inputs) + len(kernel.outputs)
        arrays = (*live, torque, *inputs)
        if kernel.address is None or count not in ARITIES or not all(map(plain, arrays)):
            return False
        n, words = self._robot.n, self._words
        self._results = [np.zeros(len(v)) for v in kernel.outputs.values()]
        given = [*live, *[live[0]] * 3, *inputs, *self._results]
        self._given_array = np.array([address(array) for array in given], np.int64)
        self._given = self._given_array.data
        self._kept = kernel, given  # the addresses hold as long as these live
        self._states = None
        words[ROBOT.state] = words[ROBOT.next_state] = 0
        if law.compiled.state_sizes:
            self._places = _SIGNALS + len(inputs) - 1, count - 1
            words[ROBOT.state], words[ROBOT.next_state] = self._places
            self._states = inputs[-1].copy(), self._results[-1]
        words[ROBOT.law], words[ROBOT.arity] = kernel.address, count
        words[ROBOT.arguments] = address(self._given_array)
        tau, self._wanted, total = self._results[:3]
        words[ROBOT.tau], words[ROBOT.total] = address(tau), address(total)
        words[ROBOT.torque], words[ROBOT.n] = address(torque), n
        self._law, self._arguments = law, inputs
        return True


def plain(array: np.ndarray) -> bool:
    """Whether an array is doubles one after the other."""
    return array.dtype == np.float64 and array.flags.c_contiguous
