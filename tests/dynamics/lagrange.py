"""Lagrange's equations from the two energies alone: an independent route to M, C q̇ and G.

    M_ij = ∂²K/∂q̇_i∂q̇_j      C q̇ = Ṁ q̇ − ∂K/∂q      G = ∂P/∂q

The energies run on the expression graph and are differentiated there; neither Newton–Euler nor
composite bodies take part.
"""

from __future__ import annotations

import numpy as np

from brazo.codegen import Graph
from brazo.codegen.derivative import derivative, directional
from brazo.codegen.evaluation import GraphEvaluation
from brazo.dynamics.energy import kinetic_energy, potential_energy
from brazo.dynamics.links import links_of
from brazo.dynamics.newton_euler import joint_transforms
from brazo.model.description import TreeModel


class Lagrange:
    def __init__(self, model: TreeModel) -> None:
        self.n = n = model.n
        links = links_of(model, regroup=False)
        g = Graph()
        q, qd = g.inputs("q", n), g.inputs("qd", n)
        transforms = joint_transforms(links, q)
        K = kinetic_energy(links, transforms, qd)
        P = potential_energy(links, transforms, [float(x) for x in model.gravity])
        momentum = [derivative([K], x)[0] for x in qd]
        M = [derivative(momentum, x) for x in qd]  # column by column
        # Ṁ q̇: rate of the momentum due to q alone, along q̇.
        along = directional(momentum, dict(zip(q, qd, strict=True)))
        slope = [derivative([K], x)[0] for x in q]
        G = [derivative([P], x)[0] for x in q]
        outputs = [m for row in zip(*M, strict=True) for m in row]
        outputs += [a - b for a, b in zip(along, slope, strict=True)] + G
        self.evaluation = GraphEvaluation(outputs)

    def __call__(self, q, qd) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        n = self.n
        values = np.array(self.evaluation({"q": list(q), "qd": list(qd)}), dtype=float)
        return values[: n * n].reshape(n, n), values[n * n : n * n + n], values[n * n + n :]
