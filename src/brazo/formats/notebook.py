"""Tables of a robot for notebooks: joints as HTML, D-H table as LaTeX."""

from __future__ import annotations

import math

from brazo.model.description import Model
from brazo.text import html_table


def robot_html(model: Model) -> str:
    """Return an HTML table of the joints: name, type, D-H row (if there is one), limits, link mass.

    Lengths are in mm, angles in degrees and masses in kg.
    """
    rows = getattr(model, "dh", ())
    header = ["joint", "type"]
    header += ["θ, °", "d, mm", "a, mm", "α, °"] if rows else []
    header += ["limits", "mass, kg"]
    masses = _masses(model)
    lines = []
    for i, (name, kind) in enumerate(zip(model.joint_names, model.joint_kinds, strict=True)):
        line = [name, kind]
        if rows:
            row = rows[i]
            revolute = row.kind == "revolute"
            theta, d = math.degrees(row.constant_theta), 1e3 * row.constant_d
            line += [
                _shifted("q", theta) if revolute else f"{theta:g}",
                f"{d:g}" if revolute else _shifted("q", d),
                f"{1e3 * row.a:g}",
                f"{math.degrees(row.alpha):g}",
            ]
        lines.append([*line, _limits(kind, *model.limits[i].tolist()), masses[i]])
    dynamics = ", kinematic only" if model.missing_inertia else ""
    convention = f", {model.require_tree().convention} D-H" if rows else ""
    return html_table(f"{model.name}: {model.n} joints{convention}{dynamics}", header, lines)


def dh_latex(model: Model) -> str | None:
    """Return the D-H table as LaTeX (m and degrees); None for a robot without a D-H table."""
    rows = getattr(model, "dh", ())
    if not rows:
        return None
    lines = [r"i & \theta_i & d_i & a_i & \alpha_i \\ \hline"]
    for i, row in enumerate(rows, start=1):
        theta, q = f"{math.degrees(row.constant_theta):g}^\\circ", f"q_{{{i}}}"
        d = f"{row.constant_d:g}"
        if row.kind == "revolute":
            theta = q if not row.constant_theta else f"{q} + {theta}"
        else:
            d = q if not row.constant_d else f"{q} + {d}"
        alpha = f"{math.degrees(row.alpha):g}^\\circ"
        lines.append(f"{i} & {theta} & {d} & {row.a:g} & {alpha} \\\\")
    return r"$$\begin{array}{c|cccc} " + " ".join(lines) + r" \end{array}$$"


def _shifted(variable: str, value: float) -> str:
    return f"{variable} {'+' if value > 0 else '−'} {abs(value):g}" if value else variable


def _limits(kind: str, low: float, high: float) -> str:
    factor, unit = (math.degrees(1.0), "°") if kind == "revolute" else (1e3, " mm")
    if math.isinf(low) and math.isinf(high):
        return "none"
    return f"{factor * low:g} … {factor * high:g}{unit}"


def _masses(model: Model) -> list[str]:
    """Return, as text, the mass (kg) of the body that each joint coordinate moves.

    If a coordinate moves several bodies (mimic joints), the mass is that of the last body.  The
    text is empty if the mass is unknown.  All texts are empty for a robot with closed loops.
    """
    if model.closed_loops:
        return [""] * model.n
    bodies = zip(model.body_joints[1:], model.inertias, strict=True)
    masses = {joint: inertia.mass for joint, (_, inertia) in bodies if inertia is not None}
    return [f"{masses[i]:g}" if i in masses else "" for i in range(model.n)]
