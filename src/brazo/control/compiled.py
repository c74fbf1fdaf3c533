"""Controllers that are compiled for a robot: one native call per control period.

A `CompiledController` gives its control law as

    law(x, gains, state) -> (tau, next state)

where `x` has the signals of one control period (`ControlSignals`), and `gains` and `state` are
dictionaries of lists.  The scalars may be floats, arrays or nodes of an expression graph.  The
control law may therefore use arithmetic, the functions of `brazo.codegen.ring`, and the robot's
equations of motion in `self.equations`.  `bind` evaluates the control law on an expression graph
and compiles the graph to a kernel.  Gains, load and state are inputs of the kernel, so changing
them does not require recompilation.

`bind` stores the kernel in a `CompiledControlLaw`.  `CompiledControlLaw.step` evaluates the
control law for any scalar type: with floats for checking, and with graph nodes to compile robot and
controller together into one loop.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from brazo.codegen import Graph, Kernel, absolute, compile_kernel, maximum, minimum, where
from brazo.control.base import Controller, Reference
from brazo.control.equations import ControlEquations, equations_of
from brazo.control.gains import Gains
from brazo.dynamics.reading import read_vector
from brazo.errors import BrazoError
from brazo.robot import Robot

Scalar = Any
Vector = list[Scalar]
State = dict[str, Vector]
_SIGNALS = ("q", "qd", "reference q", "reference qd", "reference qdd")


@dataclass(frozen=True, slots=True, eq=False)
class ControlSignals:
    """Inputs of a control law in one control period; vectors are lists of scalars of any type."""

    q: Vector
    qd: Vector
    ref: Reference  # of lists
    dt: Scalar
    tables: Mapping[str, Vector]
    limits: Sequence[float]  # inf if the drive has none

    @property
    def error(self) -> Vector:
        """Position error e = r − q."""
        return [r - q for r, q in zip(self.ref.q, self.q, strict=True)]

    @property
    def error_rate(self) -> Vector:
        """Velocity error ė = ṙ − q̇."""
        return [r - q for r, q in zip(self.ref.qd, self.qd, strict=True)]

    def saturate(self, wanted: Vector) -> Vector:
        """Return the commanded torques `wanted` clipped to the limits of the drives."""
        return [
            minimum(maximum(u, -limit), limit) if np.isfinite(limit) else u
            for u, limit in zip(wanted, self.limits, strict=True)
        ]

    def unless_saturated(self, wanted: Vector, values: Vector, otherwise: Vector) -> Vector:
        """Return `values` for joints whose drive is not saturated, `otherwise` for saturated ones.

        A drive is saturated if its commanded torque in `wanted` exceeds the limit.
        """
        return [
            where(limit - absolute(u), a, b) if np.isfinite(limit) else a
            for u, limit, a, b in zip(wanted, self.limits, values, otherwise, strict=True)
        ]


class CompiledController(Controller):
    """Base class of controllers that are compiled when they are bound to a robot."""

    uses_model: bool = False  # needs the robot's equations and accounts for a load

    def __init__(self, **gains: Any) -> None:
        super().__init__(**gains)
        self._equations: ControlEquations | None = None
        self._compiled: CompiledControlLaw | None = None
        self._tables: dict[str, np.ndarray] = {}
        self._inputs: list[np.ndarray] = []

    # -- to override --------------------------------------------------------------------------

    @abstractmethod
    def law(
        self, x: ControlSignals, gains: Mapping[str, Vector], state: State
    ) -> tuple[Vector, State]:
        """Control law: return commanded torque and next state, for any scalar type."""

    def initial_state(self, q: np.ndarray, qd: np.ndarray) -> Mapping[str, np.ndarray]:
        """Initial state at (q, q̇) by name; names and sizes must be the same for all q and q̇."""
        return {}

    def tables(self) -> Mapping[str, np.ndarray]:
        """Additional inputs of the control law by name, recomputed when gains or load change."""
        return {}

    # -- interface ----------------------------------------------------------------------------

    @property
    def equations(self) -> ControlEquations:
        """The robot's equations of motion, for any scalar type."""
        if self._equations is None:
            raise self._unbound()
        return self._equations

    @property
    def compiled(self) -> CompiledControlLaw:
        """The control law compiled for the robot: kernel, input sizes and `step`."""
        if self._compiled is None:
            raise self._unbound()
        return self._compiled

    @property
    def fixed(self) -> dict[str, np.ndarray]:
        """Copies of the kernel inputs other than signals and state, by name: gains, dt, tables."""
        return {name: self._inputs[i].copy() for i, name in enumerate(self.compiled.fixed)}

    @property
    def state(self) -> dict[str, np.ndarray]:
        """Copy of the controller's state (integrators, estimates), by name; may be assigned."""
        sizes = self.compiled.state_sizes
        return _split(self._inputs[-1].copy(), sizes) if sizes else {}

    @state.setter
    def state(self, values: Mapping[str, Any]) -> None:
        sizes = self.compiled.state_sizes
        if set(values) != set(sizes):
            raise BrazoError(
                f"{self.name}: the keys of the state must be: {', '.join(sizes) or 'none'}"
            )
        parts = []
        for name, size in sizes.items():
            part = np.array(values[name], dtype=float)
            if part.shape != (size,) or not np.isfinite(part).all():
                raise BrazoError(
                    f"{self.name}: state '{name}' has shape {part.shape}; expected ({size},), and "
                    "every value must be finite"
                )
            parts.append(part)
        if sizes:
            self._inputs[-1][:] = np.concatenate(parts)

    @property
    def arguments(self) -> list[np.ndarray]:
        """Kernel inputs that follow the signals: gains, dt, tables and, if there is one, the state.

        The arrays are not copies.  Machine code can therefore call the kernel with these arrays
        instead of calling the controller.  `bind` creates a new list.
        """
        return self._inputs

    def share_wanted(self, wanted: np.ndarray) -> None:
        """Use the array `wanted` (n,), which machine code writes, as the last commanded torque.

        The next call of `torque` or `reset` replaces the array.
        """
        if self._wanted is not wanted:
            _set(self, "_wanted", wanted)

    def prepare(self, robot: Robot) -> None:
        self._compiled, self._tables = None, {}
        if self.uses_model:
            self._equations = equations_of(robot.model)
            self._tables["load"] = np.zeros(self.equations.load_size)
        self._refresh_tables()
        self._compile(robot)
        self._inputs = [self.gains.vector, np.array([self.dt]), *self._tables.values()]
        if self.compiled.state_sizes:
            self._inputs.append(np.zeros(sum(self.compiled.state_sizes.values())))

    def _compile(self, robot: Robot) -> None:
        zero = np.zeros(robot.n)
        state = {name: len(v) for name, v in self.initial_state(zero, zero).items()}
        self._compiled = CompiledControlLaw(self, robot, self.gains, self._tables, state)
        _ = self._compiled.entry  # compile now, not in the first period

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes for pickling, without equations and machine code."""
        return {**vars(self), "_compiled": None, "_equations": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        if self._robot is not None:
            if self.uses_model:
                self._equations = equations_of(self._robot.model)
            self._compile(self._robot)

    def start(self, q: np.ndarray, qd: np.ndarray) -> None:
        if self.compiled.state_sizes:
            self._inputs[-1][:] = np.concatenate(list(self.initial_state(q, qd).values()))

    def gains_changed(self) -> None:
        if self._compiled is not None:
            self._refresh_tables()

    def payload(self, mass: float, com=(0.0, 0.0, 0.0), inertia=(0.0, 0.0, 0.0)) -> None:
        if self.uses_model:
            self._tables["load"][:] = self.equations.load_vector(mass, com, inertia)
            self._refresh_tables()

    def torque(self, t: float, q: Any, qd: Any, reference: Reference) -> np.ndarray:
        """Return the torques (n,) to apply until the next call, clipped to the drive limits."""
        compiled = self._compiled
        if compiled is None:
            raise self._unbound()
        try:
            r, rd, rdd = reference.q, reference.qd, reference.qdd
        except AttributeError:
            r, rd, rdd = self._reference(reference)
        inputs = self._inputs
        results = compiled.entry(q, qd, r, rd, rdd, *inputs)
        wanted = results[1]
        if not -_HUGE < results[2].item() < _HUGE:
            self._refuse_nonfinite(wanted, "the torque")
        if compiled.state_sizes:
            inputs[-1][:] = results[3]
        _set(self, "_wanted", wanted)  # called every period: bypasses the check of `Declared`
        return results[0]

    def command(self, t: float, q: np.ndarray, qd: np.ndarray, reference: Reference) -> Any:
        """Commanded torque (n), evaluated with floats; the controller state does not change."""
        signals = [q, qd, *reference]
        values = [array.tolist() for array in (*signals, *self._inputs)]
        return self.compiled.step(*values)[1]

    def closed_loop(self, robot: Robot, trajectory: Any, t_end: float, **options: Any) -> Any:
        """Simulate many closed loops in one call; see `brazo.Robot.closed_loop`."""
        from brazo.control.closed_loop import closed_loop

        return closed_loop(robot, self, trajectory, t_end, **options)

    def _refresh_tables(self) -> None:
        for name, values in self.tables().items():
            flat = np.array(values, dtype=float).ravel()
            if name in self._tables:
                self._tables[name][:] = flat  # the kernel's own memory
            else:
                self._tables[name] = flat


class CompiledControlLaw:
    """Control law compiled for one robot.

    `inputs` maps the names of the input vectors, in order, to their sizes.
    """

    def __init__(
        self,
        controller: CompiledController,
        robot: Robot,
        gains: Gains,
        tables: Mapping[str, np.ndarray],
        state_sizes: dict[str, int],
    ) -> None:
        self.name, self.robot = controller.name, robot
        self.state_sizes = state_sizes
        self._law: Callable[..., tuple[Vector, State]] = controller.law
        self._gains = gains
        self._tables = {name: len(values) for name, values in tables.items()}
        self._limits = controller.limits.tolist()
        n = robot.n
        signals = {name.replace(" ", "_"): n for name in _SIGNALS}
        self.inputs: dict[str, int] = {**signals, "gains": len(gains.vector), "dt": 1}
        self.inputs |= {f"table_{name}": size for name, size in self._tables.items()}
        self.fixed = tuple(name for name in self.inputs if name not in signals)
        if state_sizes:
            self.inputs["state"] = sum(state_sizes.values())
        # Compiled here, once: the law is a method of the controller, whose options may change
        # later.
        self.kernel: Kernel = self._compile()
        # Compiled closed loops: of `track` by (dynamics, substeps), of `closed_loop` by
        # ("runs", dynamics, substeps, plan).
        self.loops: dict[Any, Any] = {}

    def __deepcopy__(self, memo: dict[int, Any]) -> CompiledControlLaw:
        return self  # immutable: copies of a controller share the machine code

    def step(self, *inputs: Sequence[Scalar]) -> tuple[Vector, Vector, Vector]:
        """Return clipped torque, commanded torque and next state, for any scalar type."""
        q, qd, r, rd, rdd, gains, dt = inputs[:7]
        tables = {name: list(v) for name, v in zip(self._tables, inputs[7:], strict=False)}
        state = _split(inputs[-1], self.state_sizes) if self.state_sizes else {}
        x = ControlSignals(
            q=list(q),
            qd=list(qd),
            ref=Reference(list(r), list(rd), list(rdd)),
            dt=dt[0],
            tables=tables,
            limits=self._limits,
        )
        wanted, after = self._law(x, self._gains.split(gains), state)
        flat = [value for name in self.state_sizes for value in after[name]]
        return x.saturate(wanted), wanted, flat

    @cached_property
    def entry(self) -> Callable[..., Any]:
        """Compiled function `entry(q, qd, r, rd, rdd, gains, dt, tables…, state)`.

        It returns the clipped torques, the commanded torques and the sum of the commanded torques.
        The sum is finite only if all commanded torques are finite.  If the controller has a state,
        the next state is the fourth result.
        """
        return self.kernel.entry_or(self._other_call)

    def _compile(self) -> Kernel:
        graph = Graph()
        vectors = [graph.inputs(name, size) for name, size in self.inputs.items()]
        tau, wanted, state = self.step(*vectors)
        total: Scalar = 0.0
        for u in wanted:
            total = total + u  # not finite if any term is not
        outputs = {"tau": tau, "wanted": wanted, "total": [total]}
        if state:
            outputs["next_state"] = state
        return compile_kernel(self.name.lower(), graph, outputs)

    def _other_call(self, *inputs: Any) -> Any:
        """Check inputs that the machine code of `entry` does not accept, and call the kernel.

        Such inputs are lists, arrays of other types or shapes, and NaN.  Raises a BrazoError if a
        signal has a wrong shape or is not finite, or if the state is not finite.
        """
        signals = [
            read_vector(value, self.robot, f"{self.name}: {what}")
            for value, what in zip(inputs, _SIGNALS, strict=False)
        ]
        if self.state_sizes and not np.isfinite(inputs[-1]).all():
            raise BrazoError(f"{self.name}: the state is not finite; call reset(q, qd)")
        return self.kernel(*signals, *inputs[len(signals) :])


_HUGE = float(np.finfo(float).max)
_set = object.__setattr__


def _split(vector: Any, sizes: Mapping[str, int]) -> dict[str, Any]:
    parts, start = {}, 0
    for name, size in sizes.items():
        parts[name] = vector[start : start + size]
        start += size
    return parts
