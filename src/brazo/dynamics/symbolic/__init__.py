"""Symbolic equations of motion by Lagrange–Euler, and their exports.

eqs = derive(model)          # M, C, G, K as SymPy matrices, kinematics, energies
print(eqs.text())            # other exports: latex(), html(), c(), python(), octave()
fast = eqs.compile()         # compiled functions: fast.M(q), fast.C(q, qd), …
"""

from brazo.dynamics.symbolic.derivation import Cancelled, derive
from brazo.dynamics.symbolic.equations import Equations
from brazo.dynamics.symbolic.symbols import Named

__all__ = ["Cancelled", "Equations", "Named", "derive"]
