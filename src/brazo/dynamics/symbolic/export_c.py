"""Export of the equations as C99: a header and a source file without dependencies.

Parameters are members of a structure, with the values of the robot file as defaults.  Matrices are
stored row by row.  The C function of forward dynamics factorises M = L D Lᵀ.  It returns 0, or the
number (from 1) of the joint at which M is singular.
"""

from __future__ import annotations

from textwrap import fill, indent

from brazo.dynamics.symbolic.equations import Equations
from brazo.dynamics.symbolic.program import OUTPUTS, formulas, program_of
from brazo.dynamics.symbolic.straight_line import Syntax, identifier, identifiers, lines_of, uses
from brazo.text import one_line


def c_files(equations: Equations) -> dict[str, str]:
    """Texts of the files `NAME.h` and `NAME.c`, by file name."""
    name = identifier(equations.name.lower())
    return {f"{name}.h": _header(equations, name), f"{name}.c": _source(equations, name)}


def _signatures(equations: Equations, name: str) -> dict[str, str]:
    p = f"const {name}_parameters *p, " if equations.values else ""
    N = f"{name.upper()}_N"
    vector = f"[{N}]"
    shapes = {
        "fk": "[4][4]", "jacobian": f"[6][{N}]", "mass_matrix": f"[{N}][{N}]",
        "coriolis": f"[{N}][{N}]", "gravity": vector, "friction": vector, "energy": "[2]",
    }  # fmt: skip
    found = {}
    for key, output in OUTPUTS.items():
        inputs = "".join(f"const double {x}{vector}, " for x in output.inputs)
        found[key] = f"void {name}_{key}({p}{inputs}double {output.letter}{shapes[key]})"
    state = f"const double q{vector}, const double qd{vector}, "
    wrench = "const double *wrench, "
    found["inverse_dynamics"] = (
        f"void {name}_inverse_dynamics({p}{state}const double qdd{vector}, {wrench}"
        f"double tau{vector})"
    )
    found["forward_dynamics"] = (
        f"int {name}_forward_dynamics({p}{state}const double tau{vector}, {wrench}"
        f"double qdd{vector})"
    )
    found["rk4_step"] = (
        f"int {name}_rk4_step({p}double q{vector}, double qd{vector}, "
        f"const double tau{vector}, {wrench}double dt)"
    )
    return {key: _wrapped(text) for key, text in found.items()}


def _header(equations: Equations, name: str) -> str:
    signatures = _signatures(equations, name)
    guard = f"{name.upper()}_H"
    fields = identifiers(list(equations.symbols))
    parts = [
        f"/* Equations of motion of {_safe(equations.name)}, derived by brazo (Lagrange-Euler).\n\n"
        "     M(q) qdd + C(q, qd) qd + G(q) + friction(qd) = tau + J(q)' wrench\n\n"
        "   SI units and radians; matrices are stored row by row. */",
        f"#ifndef {guard}\n#define {guard}",
        "/* Joints: "
        + ", ".join(
            f"q[{i}] {_safe(joint)} ({kind})"
            for i, (joint, kind) in enumerate(
                zip(equations.joint_names, equations.mechanism.joint_kinds, strict=True)
            )
        )
        + f". */\n#define {name.upper()}_N {equations.n}",
    ]
    if equations.values:
        members = "\n".join(
            f"    double {fields[key]}; /* {_safe(entry.meaning)}"
            + (f" [{_safe(entry.unit)}]" if entry.unit else "")
            + (f", {_safe(str(entry.formula))}" if entry.formula is not None else "")
            + " */"
            for key, entry in equations.symbols.items()
        )
        parts.append(f"typedef struct {{\n{members}\n}} {name}_parameters;")
        parts.append(
            f"/* The values of the robot's file. */\nextern const {name}_parameters {name}_default;"
        )
        if formulas(equations):
            parts.append(
                "/* Recompute the parameters that depend on others (see their comments), after\n"
                f"   one of those was changed. */\nvoid {name}_update({name}_parameters *p);"
            )
    for key, output in OUTPUTS.items():
        parts.append(f"/* {output.meaning}. */\n{signatures[key]};")
    parts += [
        "/* Joint torques of a motion. `wrench`: external force and moment on the\n"
        "   tool point, in base axes (6 numbers), or a null pointer. */\n"
        f"{signatures['inverse_dynamics']};",
        "/* Accelerations. Returns 0, or k when the mass matrix cannot be inverted at joint k. */\n"
        f"{signatures['forward_dynamics']};",
        "/* One Runge-Kutta step of order 4 with constant torque and wrench; overwrites q and qd.\n"
        f"   Returns 0, or k as above; if it returns k, q and qd are not changed. */\n"
        f"{signatures['rk4_step']};",
        f"#endif /* {guard} */",
    ]
    return "\n\n".join(parts) + "\n"


def _source(equations: Equations, name: str) -> str:
    program = program_of(equations)
    signatures = _signatures(equations, name)
    fields = identifiers(list(equations.symbols))
    names = list(fields.values())

    def read(kind: str, i: int) -> str:
        return f"p->{names[i]}" if kind == "p" else f"{kind}[{i}]"

    syntax = Syntax(
        input=read,
        assign=lambda variable, text: f"const double {variable} = {text};",
        select=lambda test, a, b: f"({test} >= 0.0 ? {a} : {b})",
        functions={"sin": "sin", "cos": "cos", "sqrt": "sqrt", "min": "fmin", "max": "fmax"},
    )
    parts = [f'#include "{name}.h"\n\n#include <math.h>\n#include <stddef.h>']
    if equations.values:
        values = "\n".join(
            f"    {entry.value!r}, /* {fields[key]} */" for key, entry in equations.symbols.items()
        )
        parts.append(f"const {name}_parameters {name}_default = {{\n{values}\n}};")
        if formulas(equations):
            parts.append(_update(equations, name, fields, syntax))
    for key, output in OUTPUTS.items():
        nodes = program.outputs[key]
        lines, texts = lines_of(nodes, syntax)
        inputs = (*(("p",) if equations.values else ()), *output.inputs)
        unused = [f"(void){x};" for x in inputs if not uses(nodes, x)]
        shape = program.shapes[key]
        for i, text in enumerate(texts):
            place = f"[{i}]" if len(shape) == 1 else f"[{i // shape[1]}][{i % shape[1]}]"
            lines.append(f"{output.letter}{place} = {text};")
        body = indent("\n".join([*lines, *unused]), "    ")
        parts.append(f"{signatures[key]}\n{{\n{body}\n}}")
    p = "p, " if equations.values else ""
    template = _TEMPLATE
    if not equations.values:
        template = template.replace("const NAME_parameters *p, ", "")
    parts.append(template.replace("P_", p).replace("UPPER", name.upper()).replace("NAME", name))
    return "\n\n".join(parts) + "\n"


def _update(equations: Equations, name: str, fields: dict[str, str], syntax: Syntax) -> str:
    """C function that recomputes the parameters that are formulas of other parameters."""
    lines = []
    for key, node in formulas(equations):
        before, (text,) = lines_of([node], syntax)
        line = f"p->{fields[key]} = {text};"
        # In braces, so that the names of one formula do not meet those of the next.
        lines += ["{", *("    " + x for x in [*before, line]), "}"] if before else [line]
    body = indent("\n".join(lines), "    ")
    return f"void {name}_update({name}_parameters *p)\n{{\n{body}\n}}"


def _safe(text: str) -> str:
    """Text that is safe inside a C comment: one line, plain characters, no end of comment."""
    text = one_line(text).replace("²", "^2").replace("*/", "* /").replace("/*", "/ *")
    return text.encode("ascii", "replace").decode()


def _wrapped(text: str) -> str:
    # A type and its name stay on one line.
    for word in ("const ", "double ", "parameters "):
        text = text.replace(word, word[:-1] + "\x00")
    return fill(text, 96, subsequent_indent="    ", break_long_words=False).replace("\x00", " ")


_TEMPLATE = r"""/* Bias torques h = C qd + G + friction - J' wrench, so that M qdd + h = tau. */
static void bias(const NAME_parameters *p, const double q[UPPER_N], const double qd[UPPER_N],
    const double *wrench, double h[UPPER_N])
{
    double C[UPPER_N][UPPER_N], G[UPPER_N];
    NAME_coriolis(P_q, qd, C);
    NAME_gravity(P_q, G);
    NAME_friction(P_qd, h);
    for (int i = 0; i < UPPER_N; i++) {
        h[i] += G[i];
        for (int j = 0; j < UPPER_N; j++)
            h[i] += C[i][j] * qd[j];
    }
    if (wrench != NULL) {
        double J[6][UPPER_N];
        NAME_jacobian(P_q, J);
        for (int i = 0; i < UPPER_N; i++)
            for (int k = 0; k < 6; k++)
                h[i] -= J[k][i] * wrench[k];
    }
}

void NAME_inverse_dynamics(const NAME_parameters *p, const double q[UPPER_N],
    const double qd[UPPER_N], const double qdd[UPPER_N], const double *wrench,
    double tau[UPPER_N])
{
    double M[UPPER_N][UPPER_N];
    NAME_mass_matrix(P_q, M);
    bias(P_q, qd, wrench, tau);
    for (int i = 0; i < UPPER_N; i++)
        for (int j = 0; j < UPPER_N; j++)
            tau[i] += M[i][j] * qdd[j];
}

int NAME_forward_dynamics(const NAME_parameters *p, const double q[UPPER_N],
    const double qd[UPPER_N], const double tau[UPPER_N], const double *wrench,
    double qdd[UPPER_N])
{
    double M[UPPER_N][UPPER_N], D[UPPER_N], h[UPPER_N];
    NAME_mass_matrix(P_q, M);
    bias(P_q, qd, wrench, h);
    /* M = L D L'; L takes the place of M below the diagonal. */
    for (int j = 0; j < UPPER_N; j++) {
        D[j] = M[j][j];
        for (int k = 0; k < j; k++)
            D[j] -= M[j][k] * M[j][k] * D[k];
        if (!(D[j] > 1e-14 * M[j][j]))
            return j + 1;
        for (int i = j + 1; i < UPPER_N; i++) {
            for (int k = 0; k < j; k++)
                M[i][j] -= M[i][k] * M[j][k] * D[k];
            M[i][j] /= D[j];
        }
    }
    for (int i = 0; i < UPPER_N; i++) {
        qdd[i] = tau[i] - h[i];
        for (int k = 0; k < i; k++)
            qdd[i] -= M[i][k] * qdd[k];
    }
    for (int i = 0; i < UPPER_N; i++)
        qdd[i] /= D[i];
    for (int i = UPPER_N - 1; i >= 0; i--)
        for (int k = i + 1; k < UPPER_N; k++)
            qdd[i] -= M[k][i] * qdd[k];
    return 0;
}

int NAME_rk4_step(const NAME_parameters *p, double q[UPPER_N], double qd[UPPER_N],
    const double tau[UPPER_N], const double *wrench, double dt)
{
    static const double part[4] = {0.0, 0.5, 0.5, 1.0}, weight[4] = {1.0, 2.0, 2.0, 1.0};
    double dq[UPPER_N] = {0.0}, dqd[UPPER_N] = {0.0};
    double speed[UPPER_N] = {0.0}, rate[UPPER_N] = {0.0}, x[UPPER_N], v[UPPER_N];
    for (int s = 0; s < 4; s++) {
        for (int i = 0; i < UPPER_N; i++) {
            x[i] = q[i] + part[s] * dt * speed[i];
            v[i] = qd[i] + part[s] * dt * rate[i];
        }
        const int failed = NAME_forward_dynamics(P_x, v, tau, wrench, rate);
        if (failed)
            return failed;
        for (int i = 0; i < UPPER_N; i++) {
            speed[i] = v[i];
            dq[i] += weight[s] * speed[i];
            dqd[i] += weight[s] * rate[i];
        }
    }
    for (int i = 0; i < UPPER_N; i++) {
        q[i] += dt / 6.0 * dq[i];
        qd[i] += dt / 6.0 * dqd[i];
    }
    return 0;
}"""
