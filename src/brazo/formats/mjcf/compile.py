"""Compiles a tree to a MuJoCo model with its exact inertias, even those that MuJoCo rejects.

Textbook tables contain massless links and tensors that no real body has.  MuJoCo's compiler rejects
them, but its engine does not.  The model is therefore compiled with acceptable inertias.  Then the
given mass, CoM and principal inertia are written into it, the optimisations that assume regular
bodies are disabled, and the derived constants are recomputed.
"""

from __future__ import annotations

from typing import Any

from brazo.errors import BrazoError
from brazo.formats.mjcf.engine import caught_warnings, engine
from brazo.formats.mjcf.quaternion import quat_of
from brazo.formats.mjcf.writer import tree_document
from brazo.formats.mjcf.xml import Mjcf
from brazo.model.description import TreeModel
from brazo.model.inertia import principal


def mujoco_model(model: TreeModel, *, kinematic: bool = False) -> Any:
    """Compile to `mujoco.MjModel` without geoms, with one MuJoCo body per body of the model.

    Body i of the model is body i + 1 (the world is first; i if the base is the world).  `qpos` has
    an entry for every joint, including mimics.  `kinematic=True` accepts a robot with unknown
    inertia and leaves the placeholders in.
    """
    mujoco = engine()
    if model.missing_inertia and not kinematic:
        raise BrazoError(
            f"robot '{model.name}' has no inertia for {', '.join(model.missing_inertia)}: "
            "kinematics only"
        )
    document = Mjcf(model, None)
    names = tree_document(model, document, parts=False, fold=False)
    compiled = mujoco.MjModel.from_xml_string(document.text())
    for i, name in names.items():
        inertia = model.bodies[i].inertia
        if i == 0 or inertia is None:
            continue
        moments, axes = principal(inertia.tensor)
        b = compiled.body(name).id
        compiled.body_mass[b] = inertia.mass
        compiled.body_ipos[b] = inertia.com
        compiled.body_inertia[b] = moments
        compiled.body_iquat[b] = quat_of(axes)
        compiled.body_sameframe[b] = 0
        compiled.body_simple[b] = 0
    compiled.dof_simplenum[:] = 0
    with caught_warnings():  # a singular mass matrix is expected here
        mujoco.mj_setConst(compiled, mujoco.MjData(compiled))
    return compiled
