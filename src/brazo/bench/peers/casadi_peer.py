"""CasADi as a peer: CasADi generates C code from brazo's expressions.

Both libraries compile the same arithmetic, so only the generated code and the call interface are
compared.  CasADi's buffer interface is used, because it is the fastest one.
"""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from brazo.bench.arms import States
from brazo.bench.peers import NotAPeer, Peer, TimedCall, optional
from brazo.codegen import Kernel
from brazo.codegen.evaluation import evaluate
from brazo.dynamics.kernels import TreeDynamicsKernels
from brazo.kinematics.kernels import TreeKernels
from brazo.robot import Robot

_FLAGS = ("-O3", "-march=native", "-shared", "-fPIC")


class CasADi(Peer):
    name = "CasADi C"

    def __init__(self, arm: Robot) -> None:
        compiler = shutil.which("gcc") or shutil.which("clang")
        if compiler is None:
            raise NotAPeer("it needs a C compiler; install gcc or clang")
        self.casadi: Any = optional("casadi")
        self.casadi.GlobalOptions.setNumpyMode(-1)  # np.sin of its symbols, without a warning
        self.compiler = compiler
        model = arm.model.require_tree()
        kernels, forward = TreeDynamicsKernels(model), TreeKernels(model)
        self.functions = {
            "inverse_dynamics": self._compiled(kernels.inverse_dynamics),
            "fk": self._compiled(forward.fk),
            "jacobian": self._compiled(forward.tool_jacobian),
            "mass_matrix": self._compiled(kernels.mass_matrix),
            "forward_dynamics": self._compiled(kernels.forward_dynamics),
        }

    def single(self, arm: Robot, at: States) -> dict[str, TimedCall]:
        given = {
            "inverse_dynamics": (at.q, at.qd, at.qdd),
            "forward_dynamics": (at.q, at.qd, at.tau),
        }
        tasks = {}
        for name, (function, shape) in self.functions.items():
            inputs = [x[0].copy() for x in given.get(name, (at.q,))]
            tasks[name] = _buffered(function, inputs, np.empty(shape))
        return tasks

    def batch(self, arm: Robot, at: States, threads: int) -> dict[str, TimedCall]:
        if threads > 1:
            return {}
        tasks = {}
        for name, last in (("inverse_dynamics", at.qdd), ("forward_dynamics", at.tau)):
            function, _ = self.functions[name]
            # One column per state in CasADi's column-major order is a row in C order: no copy.
            many = function.map(len(at.q))
            tasks[name] = _buffered(many, [at.q, at.qd, last], np.empty(at.q.shape))
        return tasks

    def _compiled(self, kernel: Kernel) -> tuple[Any, tuple[int, ...]]:
        ca = self.casadi
        symbols = {key: ca.SX.sym(key, size) for key, size in kernel.inputs.items()}
        columns = {key: ca.vertsplit(x) for key, x in symbols.items()}
        ((key, expressions),) = kernel.outputs.items()
        result = ca.vertcat(*evaluate(expressions, columns))
        function = ca.Function(kernel.name, list(symbols.values()), [result])
        # A loaded library may be deleted; systems that do not allow it keep the folder.
        with tempfile.TemporaryDirectory("brazo-casadi", ignore_cleanup_errors=True) as name:
            folder = Path(name)
            with contextlib.chdir(folder):
                function.generate(f"{kernel.name}.c")
            library = folder / f"{kernel.name}.so"
            command = [self.compiler, *_FLAGS, f"{kernel.name}.c", "-o", library.name, "-lm"]
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
            if done.returncode:
                raise NotAPeer(
                    f"{Path(self.compiler).name} failed to compile its code: {done.stderr[-200:]}"
                )
            return ca.external(kernel.name, str(library)), kernel.shapes[key]


@dataclass(frozen=True, slots=True)
class _KeptTask(TimedCall):
    kept: Any


def _buffered(function: Any, inputs: list[np.ndarray], out: np.ndarray) -> TimedCall:
    buffer, call = function.buffer()
    for i, array in enumerate(inputs):
        buffer.set_arg(i, array.data)
    buffer.set_res(0, out.data)
    # `call` does not keep them alive.
    kept = (function, buffer, inputs)

    def numbers() -> np.ndarray:
        call()
        return out.copy()

    return _KeptTask(call, numbers, kept)
