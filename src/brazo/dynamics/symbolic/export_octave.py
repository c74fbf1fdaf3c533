"""Export of the equations as functions for GNU Octave and MATLAB, one file per function."""

from __future__ import annotations

from textwrap import indent

from brazo.dynamics.symbolic.equations import Equations
from brazo.dynamics.symbolic.program import OUTPUTS, formulas, program_of
from brazo.dynamics.symbolic.straight_line import Syntax, identifier, identifiers, lines_of
from brazo.text import one_line


def octave_files(equations: Equations) -> dict[str, str]:
    """Texts of the files `NAME_parameters.m`, `NAME_fk.m`, …, by file name."""
    name = identifier(equations.name.lower())
    fields = identifiers(list(equations.symbols))
    names = list(fields.values())
    program = program_of(equations)

    def read(kind: str, i: int) -> str:
        return f"p.{names[i]}" if kind == "p" else f"{kind}({i + 1})"

    syntax = Syntax(
        input=read,
        assign=lambda variable, text: f"{variable} = {text};",
        select=lambda test, a, b: f"choose({test}, {a}, {b})",
        functions={"sin": "sin", "cos": "cos", "sqrt": "sqrt", "min": "min", "max": "max"},
    )
    files = {f"{name}_parameters.m": _parameters(equations, name, fields)}
    if formulas(equations):
        lines = []
        for key, node in formulas(equations):
            before, (text,) = lines_of([node], syntax)
            lines += [*before, f"p.{fields[key]} = {text};"]
        files[f"{name}_update.m"] = _function(
            f"p = {name}_update(p)", "Recompute parameters that depend on others.", lines
        )
    default = f"p = {name}_parameters();"
    for key, output in OUTPUTS.items():
        shape = program.shapes[key]
        lines, texts = lines_of(program.outputs[key], syntax)
        rows, columns = shape if len(shape) == 2 else (shape[0], 1)
        lines.append(f"{output.letter} = zeros({rows}, {columns});")
        for i, text in enumerate(texts):
            if text != "0.0":
                place = f"{i // columns + 1}, {i % columns + 1}"
                lines.append(f"{output.letter}({place}) = {text};")
        inputs = ", ".join(output.inputs)
        head = [f"if nargin < {len(output.inputs) + 1}, {default} end"]
        body = _function(
            f"{output.letter} = {name}_{key}({inputs}, p)", f"{output.meaning}.", [*head, *lines]
        )
        files[f"{name}_{key}.m"] = body + (_CHOOSE if "choose(" in body else "")
    for key, text in _TEMPLATES.items():
        files[f"{name}_{key}.m"] = text.replace("NAME", name)
    return files


def _function(signature: str, about: str, lines: list[str]) -> str:
    body = indent("\n".join(lines), "    ")
    return f"function {signature}\n% {about}\n{body}\nend\n"


def _parameters(equations: Equations, name: str, fields: dict[str, str]) -> str:
    lines = ["p = struct();"]
    for key, entry in equations.symbols.items():
        unit = f" [{entry.unit}]" if entry.unit else ""
        formula = "" if entry.formula is None else f", {entry.formula}"
        about = one_line(f"{entry.meaning}{unit}{formula}")
        lines.append(f"p.{fields[key]} = {entry.value!r}; % {about}")
    joints = ", ".join(
        f"q({i + 1}) {joint} ({kind})"
        for i, (joint, kind) in enumerate(
            zip(equations.joint_names, equations.mechanism.joint_kinds, strict=True)
        )
    )
    about = (
        f"Equations of motion of {one_line(equations.name)}, derived by brazo "
        "(Lagrange-Euler).\n%\n"
        "%   M(q) qdd + C(q, qd) qd + G(q) + friction(qd) = tau + J(q)' wrench\n%\n"
        f"% SI units and radians. Joints: {one_line(joints)}.\n"
        "% This function returns the parameter values of the robot file."
    )
    return _function(f"p = {name}_parameters()", about, lines)


_CHOOSE = """
function y = choose(test, a, b)
% a where the test is not negative, otherwise b.
    if test >= 0, y = a; else, y = b; end
end
"""

_TEMPLATES = {
    "inverse_dynamics": """function tau = NAME_inverse_dynamics(q, qd, qdd, wrench, p)
% Joint torques of a motion. wrench: force and moment on the tool point in base axes, or [].
    if nargin < 4, wrench = []; end
    if nargin < 5, p = NAME_parameters(); end
    tau = NAME_mass_matrix(q, p)*qdd(:) + NAME_coriolis(q, qd, p)*qd(:);
    tau = tau + NAME_gravity(q, p) + NAME_friction(qd, p);
    if ~isempty(wrench), tau = tau - NAME_jacobian(q, p)'*wrench(:); end
end
""",
    "forward_dynamics": """function qdd = NAME_forward_dynamics(q, qd, tau, wrench, p)
% Joint accelerations. wrench: force and moment on the tool point in base axes, or [].
    if nargin < 4, wrench = []; end
    if nargin < 5, p = NAME_parameters(); end
    M = NAME_mass_matrix(q, p);
    if ~(rcond(M) > 0), error('NAME: the mass matrix is singular'); end
    qdd = M \\ (tau(:) - NAME_inverse_dynamics(q, qd, zeros(size(M, 1), 1), wrench, p));
end
""",
    "rk4_step": """function [q, qd] = NAME_rk4_step(q, qd, tau, dt, wrench, p)
% One Runge-Kutta step of order 4 with constant tau and wrench.
    if nargin < 5, wrench = []; end
    if nargin < 6, p = NAME_parameters(); end
    q = q(:); v1 = qd(:);
    a1 = NAME_forward_dynamics(q, v1, tau, wrench, p);
    v2 = v1 + dt/2*a1;
    a2 = NAME_forward_dynamics(q + dt/2*v1, v2, tau, wrench, p);
    v3 = v1 + dt/2*a2;
    a3 = NAME_forward_dynamics(q + dt/2*v2, v3, tau, wrench, p);
    v4 = v1 + dt*a3;
    a4 = NAME_forward_dynamics(q + dt*v3, v4, tau, wrench, p);
    q = q + dt/6*(v1 + 2*v2 + 2*v3 + v4);
    qd = v1 + dt/6*(a1 + 2*a2 + 2*a3 + a4);
end
""",
}
