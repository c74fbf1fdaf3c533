"""Checks of the compiled dynamics on this machine with a known robot, for `brazo doctor`."""

from __future__ import annotations

import time

import numpy as np

from brazo.codegen.diagnose import Check
from brazo.dynamics.tree import TreeDynamics
from brazo.formats.load import load_source

__all__ = ["robot_checks"]


def robot_checks(name: str = "puma560") -> list[Check]:
    """Check inverse dynamics against extended precision, and forward against inverse dynamics.

    Forward dynamics must return the accelerations from which inverse dynamics computed the torques.
    """
    try:
        start = time.perf_counter()
        dynamics = TreeDynamics(load_source(name).model.require_tree())
        q, qd, qdd = np.random.default_rng(0).uniform(-2, 2, (3, dynamics.n))
        tau = dynamics.inverse_dynamics(q, qd, qdd)
        ready = time.perf_counter() - start
        exact = (x.astype(np.longdouble) for x in (q, qd, qdd))
        wanted = dynamics.kernels.inverse_dynamics.reference(*exact)
        back = dynamics.forward_dynamics(q, qd, tau)
        force = float(np.abs(tau - wanted).max() / np.abs(wanted).max())
        motion = float(np.abs(back - qdd).max())
    except Exception as error:  # any failure is the result of the check
        return [Check(name, f"{type(error).__name__}: {error}", ok=False)]
    return [
        Check(
            f"{name} inverse dynamics",
            f"relative error {force:.1e}; first result after {ready:.2f} s",
            force < 1e-13,
        ),
        Check(f"{name} forward dynamics", f"round-trip error {motion:.1e}", motion < 1e-11),
    ]
