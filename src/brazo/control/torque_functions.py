"""`TorqueFunctions`: torques given as expressions of time and state, without a reference.

    TorqueFunctions("2*sin(3*t); -0.5*qd2; 0")

There is one expression per joint.  The expressions may use `t` (s), the positions `q1` to `qn` (rad
or m), the velocities `qd1` to `qdn` (rad/s or m/s) and `pi`.  Torques are in N m, forces in N.  An
empty string means zero torque for all joints.  The text is parsed like the expressions in robot
files and never evaluated as Python.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from brazo.control.base import Controller, Reference
from brazo.errors import BrazoError
from brazo.robot import Robot
from brazo.units.expressions import Expression, parse_expression
from brazo.units.quantities import UNITS, UndefinedResult

_FUNCTIONS = {
    "sin": math.sin, "cos": math.cos, "tan": math.tan, "sqrt": math.sqrt, "abs": abs,
}  # fmt: skip


class _Floats:
    """Evaluates expressions with floats in SI units; implements the protocol `Scalars`."""

    pi = math.pi

    def literal(self, number: str, unit: str | None, per_second: bool) -> float:
        return float(number) * (1.0 if unit is None else UNITS[unit][0])

    def call(self, function: str, argument: float) -> float:
        try:
            return _FUNCTIONS[function](argument)
        except ValueError as error:
            raise UndefinedResult(" is not a real number") from error


_SCALARS = _Floats()


class TorqueFunctions(Controller):
    """Controller whose torques are given functions of time and state; it ignores the reference.

    Parameters
    ----------
    torques
        One expression per joint in N m or N, separated by semicolons.  An empty string means
        zero torque for all joints.  Variables: `t`, `q1` …, `qd1` …, in SI units.
    """

    listed: ClassVar[bool] = False
    torques: str

    def __init__(self, torques: str = "") -> None:
        super().__init__()
        self.torques = torques
        self._functions: list[Expression] = []
        self._names: list[str] = []

    def prepare(self, robot: Robot) -> None:
        """Parse the expressions, so that invalid expressions are found before the run."""
        texts = [one.strip() for one in self.torques.split(";")] if self.torques.strip() else []
        if texts and len(texts) != robot.n:
            raise BrazoError(f"{len(texts)} torque functions; expected {robot.n}, one per joint")
        numbers = range(1, robot.n + 1)
        self._names = ["t", *(f"q{i}" for i in numbers), *(f"qd{i}" for i in numbers)]
        self._functions = []
        for joint, text in zip(robot.joint_names, texts or ["0"] * robot.n, strict=True):
            function = parse_expression(text)
            unknown = function.names - {*self._names, "pi"}
            if unknown:
                known = f"t, q1 to q{robot.n}, qd1 to qd{robot.n}, pi"
                raise BrazoError(
                    f"torque of {joint}: unknown name '{min(unknown)}'; names: {known}"
                )
            self._functions.append(function)

    def command(self, t: float, q: np.ndarray, qd: np.ndarray, reference: Reference) -> Any:
        names = dict(zip(self._names, [t, *q.tolist(), *qd.tolist()], strict=True))
        found = []
        for function in self._functions:
            try:
                found.append(function.over(_SCALARS, names))
            except (ArithmeticError, TypeError):
                raise BrazoError(
                    f"torque '{function.text}' has no finite value at t = {t:g} s"
                ) from None
            if isinstance(found[-1], complex):
                raise BrazoError(f"torque '{function.text}' is not a real number at t = {t:g} s")
        return found
