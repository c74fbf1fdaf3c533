"""Symbolic equations of motion by Lagrange–Euler, and their exports.

eqs = derive(model)              # M, C, G, K as SymPy matrices, kinematics, energies
print(eqs.text())                # or .latex(), .c(), .python(), .octave(), .compile()
"""

from brazo.dynamics.symbolic.derivation import Cancelled, derive
from brazo.dynamics.symbolic.equations import Equations
from brazo.dynamics.symbolic.symbols import Named

__all__ = ["Cancelled", "Equations", "Named", "derive"]
