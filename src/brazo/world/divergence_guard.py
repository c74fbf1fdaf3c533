"""Detection of numerical divergence of a simulation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from brazo.errors import RunFailed
from brazo.formats.mjcf.engine import engine, last_warning
from brazo.world.stiffness import Stiffness


class Diverged(RunFailed):
    """Error: the simulation diverged at `time` (s); `where` is the joint or drive concerned."""

    def __init__(self, message: str, time: float, where: str) -> None:
        super().__init__(message)
        self.time = time
        self.where = where
        self.dump: Path | None = None  # file for replaying the last steps, if one was written


class DivergenceGuard:
    """Detector of divergence: `check` converts warnings of MuJoCo to errors."""

    def __init__(self, model: Any, data: Any, stiffness: Stiffness | None = None) -> None:
        self._stiffness = stiffness or Stiffness()
        self._mujoco = engine()
        self._model = model
        self._data = data
        self._counts = data.warning.number
        #: Warning counts that were already reported.
        self.calm: list[int] = self._counts.tolist()

    def check(self) -> None:
        """Raise `Diverged` if MuJoCo issued a new warning in the last step.

        If the memory of MuJoCo was full, `RunFailed` is raised instead.
        """
        counts = self._counts.tolist()
        if counts == self.calm:
            return
        kinds = self._mujoco.mjtWarning
        rising = [i for i, (a, b) in enumerate(zip(counts, self.calm, strict=True)) if a > b]
        self.calm = counts
        if rising:
            kind = kinds(rising[-1])
            time = float(self._data.time)
            text = last_warning() or kind.name
            if kind in (kinds.mjWARN_CONTACTFULL, kinds.mjWARN_CNSTRFULL):
                raise RunFailed(
                    f"the simulation stopped at t = {time:.4f} s: too many contacts for the memory "
                    f"of MuJoCo, so some had no effect: {text}. Remove bodies, separate "
                    "overlapping bodies, or use simpler shapes"
                )
            where = self._where(kind)
            advice = "Reduce the gains or the step size, or check for overlapping bodies"
            advice = self._stiffness.advice(self._model.opt.timestep) or advice
            if kind == kinds.mjWARN_INERTIA:
                advice = "The mass matrix is singular: check masses and inertias in the robot file"
            raise Diverged(
                f"the simulation diverged at t = {time:.4f} s, {where}: {text}. {advice}",
                time,
                where,
            )

    def _where(self, kind: Any) -> str:
        model, data, kinds = self._model, self._data, self._mujoco.mjtWarning
        if kind == kinds.mjWARN_BADCTRL:
            wrong = np.flatnonzero(~np.isfinite(data.ctrl) | (np.abs(data.ctrl) > 1e10))
            return f"drive '{model.actuator(int(wrong[0])).name}'" if len(wrong) else "a drive"
        if kind == kinds.mjWARN_INERTIA:
            dof = int(data.warning[int(kind)].lastinfo)
            return f"joint '{model.joint(int(model.dof_jntid[dof])).name}'"
        for values in (data.qacc, data.qvel):
            wrong = np.flatnonzero(~np.isfinite(values) | (np.abs(values) > 1e10))
            if len(wrong):
                joint = int(model.dof_jntid[wrong[0]])
                return f"joint '{model.joint(joint).name}'"
        return "a joint"
