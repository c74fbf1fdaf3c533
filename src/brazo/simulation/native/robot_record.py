"""Record of one robot: data for simulation steps in machine code ("native steps").

The record contains the addresses of the controller's kernel, of the robot's state and of its
reference.
"""

from __future__ import annotations

import numpy as np

from brazo.codegen.native import address
from brazo.control import CompiledController, Controller, Drives
from brazo.simulation.motion import Motion, Rest, Sampled
from brazo.simulation.native.batch_code import ARITIES, DRIVE_ARITY, ROBOT
from brazo.simulation.robot import SimRobot


class RobotRecord:
    """Writer of the record of one robot, which native steps read."""

    def __init__(self, robot: SimRobot, words: np.ndarray, place: int) -> None:
        self._robot = robot
        self._words = words.data
        self._controller: Controller | None = None
        self._arguments: list[np.ndarray] | None = None
        self._motion: Motion | None = None
        self._wanted: np.ndarray | None = None
        self._drives: Drives | None = None
        self._rows = 0  # address of the reference rows
        words[ROBOT.n], words[ROBOT.place] = robot.n, 8 * place

    def ready(self) -> bool:
        """Update the record; return False if steps of this robot must be made in Python."""
        robot = self._robot
        if not robot.control.plain:
            return False
        controller = robot.controller
        changed = controller is not self._controller or robot.motion is not self._motion
        if changed or robot.control.drives is not self._drives:
            return self._take(controller, robot.motion)
        if controller is None:
            return True
        assert isinstance(controller, CompiledController)
        if controller.arguments is not self._arguments:
            return self._take(controller, robot.motion)
        assert self._wanted is not None
        controller.share_wanted(self._wanted)
        return True

    def begin(self) -> bool:
        """Write the address and number of the remaining reference rows.

        Return False if the references are not known in advance, as with a live source.
        """
        words, motion = self._words, self._motion
        if type(motion) is Sampled:
            following, table = motion.following, motion.table
            words[ROBOT.left] = len(table) - following
            words[ROBOT.next_row] = self._rows + following * words[ROBOT.row_step]
            return True
        return type(motion) is Rest

    def end(self, steps: int) -> None:
        """Advance the reference after `steps` completed steps."""
        if type(self._motion) is Sampled:
            self._motion.passed(steps)  # machine code has advanced the row
        elif steps and type(self._motion) is not Rest:
            self._robot.control.advance()

    def _take(self, controller: Controller | None, motion: Motion) -> bool:
        words = self._words
        self._motion = None  # invalid until the whole record is written
        if not is_plain(motion.row):
            return False
        words[ROBOT.reference] = address(motion.row)
        words[ROBOT.left] = words[ROBOT.rest] = words[ROBOT.next_row] = 0
        if type(motion) is Sampled:
            if not is_plain(motion.table):
                return False
            self._rows, words[ROBOT.row_step] = address(motion.table), motion.table.strides[0]
            words[ROBOT.rest] = address(motion.end)
        words[ROBOT.kernel] = 0
        if controller is not None and not self._take_controller(controller, motion):
            return False
        words[ROBOT.drive] = 0
        self._drives = self._robot.control.drives
        if self._drives is not None and not self._take_drives(self._drives, motion):
            return False
        self._controller, self._motion = controller, motion
        return True

    def _take_controller(self, controller: Controller, motion: Motion) -> bool:
        """Write the addresses of the controller's kernel and data.

        Return False if the controller has no machine code.
        """
        robot, words = self._robot, self._words
        live, torque = robot.world.live, robot.world.torque
        if not isinstance(controller, CompiledController) or live is None:
            return False
        if type(controller).torque is not CompiledController.torque:
            return False
        kernel, inputs = controller.compiled.kernel, controller.arguments
        signals = (*live, motion.q, motion.qd, motion.qdd, *inputs)
        results = [np.zeros(len(values)) for values in kernel.outputs.values()]
        count = len(signals) + len(results)
        if kernel.address is None or count not in ARITIES:
            return False
        if not all(map(is_plain, (*signals, torque))):
            return False
        arguments = np.array([address(array) for array in (*signals, *results)], np.int64)
        self._kept = kernel, signals, results, arguments  # keeps the addresses valid
        tau, self._wanted, total = results[:3]
        words[ROBOT.kernel], words[ROBOT.arity] = kernel.address, count
        words[ROBOT.arguments] = address(arguments)
        words[ROBOT.tau], words[ROBOT.total] = address(tau), address(total)
        words[ROBOT.torque], words[ROBOT.state] = address(torque), 0
        if controller.compiled.state_sizes:
            words[ROBOT.state], words[ROBOT.next_state] = address(inputs[-1]), address(results[3])
            words[ROBOT.state_size] = len(inputs[-1])
        self._arguments = inputs
        controller.share_wanted(self._wanted)
        return True

    def _take_drives(self, drives: Drives, motion: Motion) -> bool:
        """Write the addresses of the kernel and data of the drive model.

        Return False if the drive model has no machine code.
        """
        control, world, words = self._robot.control, self._robot.world, self._words
        if drives.kernel.address is None or world.live is None:
            return False
        following = np.zeros(len(drives.state))
        inputs = (*world.live, motion.q, motion.qd, world.torque, drives.state)
        arrays = (*inputs, control.applied, following, drives.signals)
        assert len(arrays) == DRIVE_ARITY
        if not all(map(is_plain, arrays)):
            return False
        arguments = np.array([address(array) for array in arrays], np.int64)
        self._kept_drives = drives, arrays, arguments
        words[ROBOT.drive], words[ROBOT.drive_arguments] = drives.kernel.address, address(arguments)
        words[ROBOT.drive_state] = address(drives.state)
        words[ROBOT.drive_next], words[ROBOT.drive_size] = address(following), len(following)
        return True


def is_plain(array: np.ndarray) -> bool:
    """Whether an array is a contiguous array of doubles."""
    return array.dtype == np.float64 and array.flags.c_contiguous
