"""The flags of a present configuration: which way the arm stands, in the words of its branches.

    >>> configuration(solver, q).name
    'LEFTY ABOVE NOFLIP'

What the words mean is said where the closed form of the arm's family is (`closed_form/`); the
names are the very ones the inverse kinematics give their branches, so a name read here can be
asked for there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from brazo.kinematics.chain import Chain
from brazo.kinematics.closed_form import ClosedForm, delta, recognise
from brazo.model.description import DeltaModel


@dataclass(frozen=True, slots=True)
class Configuration:
    """How an arm stands; no flags where its family has no closed form."""

    name: str  # e.g. "LEFTY ABOVE NOFLIP"; "" without flags
    flags: Mapping[str, str]  # e.g. {"arm": "LEFTY", "elbow": "ABOVE", "wrist": "NOFLIP"}

    def __str__(self) -> str:
        return self.name


def configuration(arm: ClosedForm | Chain | DeltaModel, q: ArrayLike) -> Configuration:
    """The flags of one configuration q (n,) of an arm."""
    q = np.asarray(q, dtype=float)
    if isinstance(arm, DeltaModel):
        name = delta.BRANCH_NAMES[int(delta.branch_of(arm, q))]
        return Configuration(name, dict(zip(arm.joint_names, name.split(), strict=True)))
    solver = recognise(arm) if isinstance(arm, Chain) else arm
    if not isinstance(solver, ClosedForm):
        return Configuration("", {})
    values = solver.flag_values(q[None])[0]
    words = {flag: names[value] for (flag, names), value in zip(solver.flags, values, strict=True)}
    return Configuration(" ".join(words.values()), words)
