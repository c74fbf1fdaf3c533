"""Compilation of a tree to a MuJoCo model with exact inertias, even those that MuJoCo rejects.

Textbook tables contain massless links and tensors that no real body has.  MuJoCo's compiler rejects
them, but its engine does not.  The model is therefore compiled with acceptable inertias.  Then the
given masses, centres of mass and principal inertias are written into the compiled model,
optimisations that assume regular bodies are disabled, and the derived constants are recomputed.
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
    """Return a `mujoco.MjModel` without geoms, with one MuJoCo body per body of the model.

    MuJoCo body 0 is the world, so body i of the model is MuJoCo body i + 1.  If the base of the
    model is named "world", it is MuJoCo body 0, and body i is MuJoCo body i.  In both cases the
    bodies of the model must be in depth-first order.  `qpos` has an entry for every joint,
    including mimic joints.  `kinematic=True` accepts a robot with unknown inertias and keeps
    placeholder values for them; otherwise BrazoError is raised.
    """
    mujoco = engine()
    if model.missing_inertia and not kinematic:
        raise BrazoError(
            f"robot '{model.name}' has no dynamics, because the inertia is missing for "
            f"{', '.join(model.missing_inertia)}; give it in the robot's file"
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
