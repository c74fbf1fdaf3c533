"""Export of the equations as a Python module that needs only NumPy."""

from __future__ import annotations

from textwrap import indent

from brazo.dynamics.symbolic.equations import Equations
from brazo.dynamics.symbolic.program import OUTPUTS, formulas, program_of
from brazo.dynamics.symbolic.straight_line import Syntax, lines_of
from brazo.text import one_line


def python_module(equations: Equations) -> str:
    """Source text of the Python module."""
    program = program_of(equations)
    names = list(equations.symbols)

    def read(kind: str, i: int) -> str:
        return f"p[{names[i]!r}]" if kind == "p" else f"{kind}[{i}]"

    syntax = Syntax(
        input=read,
        assign=lambda variable, text: f"{variable} = {text}",
        select=lambda test, a, b: f"({a} if {test} >= 0.0 else {b})",
        functions={"sin": "sin", "cos": "cos", "sqrt": "sqrt", "min": "min", "max": "max"},
    )
    parts = [_head(equations)]
    if formulas(equations):
        lines = []
        for key, node in formulas(equations):
            before, (text,) = lines_of([node], syntax)
            lines += [*before, f"p[{key!r}] = {text}"]
        body = indent("\n".join(lines), "    ")
        parts.append(
            "def update(p):\n"
            '    """Recompute, in place, the parameters that depend on others."""\n'
            f"{body}\n    return p"
        )
    for key, output in OUTPUTS.items():
        shape = program.shapes[key]
        lines, texts = lines_of(program.outputs[key], syntax)
        lines.append(f"{output.letter} = np.zeros({shape})")
        for i, text in enumerate(texts):
            place = f"{i}" if len(shape) == 1 else f"{i // shape[1]}, {i % shape[1]}"
            if text != "0.0":
                lines.append(f"{output.letter}[{place}] = {text}")
        body = indent("\n".join(lines), "    ")
        inputs = ", ".join(output.inputs)
        parts.append(
            f'def {key}({inputs}, p=PARAMETERS):\n    """{output.meaning}."""\n{body}\n'
            f"    return {output.letter}"
        )
    return "\n\n\n".join([*parts, _TEMPLATE])


def _head(equations: Equations) -> str:
    joints = ", ".join(
        f"q[{i}] {joint} ({kind})"
        for i, (joint, kind) in enumerate(
            zip(equations.joint_names, equations.mechanism.joint_kinds, strict=True)
        )
    )
    title = f"Equations of motion of {equations.name}, derived by brazo (Lagrange-Euler)."
    values = "".join(
        f"    {key!r}: {entry.value!r},  # "
        + one_line(
            entry.meaning
            + (f" [{entry.unit}]" if entry.unit else "")
            + (f", {entry.formula}" if entry.formula is not None else "")
        )
        + "\n"
        for key, entry in equations.symbols.items()
    )
    return (
        f'"""{_safe(title)}\n\n'
        "    M(q) qdd + C(q, qd) qd + G(q) + friction(qd) = tau + J(q)^T wrench\n\n"
        f'SI units and radians.  Joints: {_safe(joints)}.\n"""\n\n'
        "from math import cos, sin, sqrt  # noqa: F401\n\nimport numpy as np\n\n"
        f"N = {equations.n}\n" + (f"PARAMETERS = {{\n{values}}}" if values else "PARAMETERS = {}")
    )


def _safe(text: str) -> str:
    return one_line(text).replace("\\", "/").replace('"', "'")


_TEMPLATE = '''def inverse_dynamics(q, qd, qdd, wrench=None, p=PARAMETERS):
    """Joint torques of a motion; `wrench` is force and moment on the tool point, base axes."""
    return mass_matrix(q, p) @ np.asarray(qdd, dtype=float) + _bias(q, qd, wrench, p)


def forward_dynamics(q, qd, tau, wrench=None, p=PARAMETERS):
    """Joint accelerations; raises numpy.linalg.LinAlgError when the mass matrix is singular."""
    rest = np.asarray(tau, dtype=float) - _bias(q, qd, wrench, p)
    return np.linalg.solve(mass_matrix(q, p), rest)


def rk4_step(q, qd, tau, dt, wrench=None, p=PARAMETERS):
    """(q, qd) after one Runge-Kutta step of order 4 with constant tau and wrench."""
    q, qd = np.asarray(q, dtype=float), np.asarray(qd, dtype=float)
    v1, a1 = qd, forward_dynamics(q, qd, tau, wrench, p)
    v2 = qd + dt / 2 * a1
    a2 = forward_dynamics(q + dt / 2 * v1, v2, tau, wrench, p)
    v3 = qd + dt / 2 * a2
    a3 = forward_dynamics(q + dt / 2 * v2, v3, tau, wrench, p)
    v4 = qd + dt * a3
    a4 = forward_dynamics(q + dt * v3, v4, tau, wrench, p)
    return q + dt / 6 * (v1 + 2 * v2 + 2 * v3 + v4), qd + dt / 6 * (a1 + 2 * a2 + 2 * a3 + a4)


def _bias(q, qd, wrench, p):
    """Bias torques h = C qd + G + friction - J^T wrench, so that M qdd + h = tau."""
    h = coriolis(q, qd, p) @ np.asarray(qd, dtype=float) + gravity(q, p) + friction(qd, p)
    return h if wrench is None else h - jacobian(q, p).T @ np.asarray(wrench, dtype=float)
'''
