"""Data without an MJCF element, stored in `<custom>` so that the reader can restore it.

MuJoCo rejects a moving body without a valid inertia.  The writer gives such a body another inertia
and stores the original in `<custom>`: the names of bodies with unknown inertia as `brazo:no
inertia`, and an inertia that MuJoCo rejects as `brazo:inertia <body>` with ten numbers (mass,
centre of mass, xx yy zz xy xz yz).  The name of the tool site is stored as `brazo:tip`.  The poses
of a Delta robot are stored as `brazo:pose <name>`, because a keyframe would also contain the angles
of its rods.  MuJoCo ignores all of these.

A convex piece of a mesh is a geom named `<geom of the mesh> collision <k>`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from brazo.model.description import Inertia, frozen

NO_INERTIA = "brazo:no inertia"
INERTIA = "brazo:inertia "
TIP = "brazo:tip"
POSE = "brazo:pose "
PIECE = " collision "
SEPARATOR = "|"
NOT_GIVEN = object()


def piece_name(visible: str, number: int) -> str:
    """Return the geom name of a convex piece; `visible` is the name of the visible mesh geom."""
    return f"{visible}{PIECE}{number}"


def drawn_name(piece: str) -> str:
    """Return the name of the visible geom to which a convex piece belongs.

    `piece` is the name of any geom.  The result is empty if this geom is not a convex piece.
    """
    return piece.rpartition(PIECE)[0]


def inertia_numbers(inertia: Inertia) -> list[float]:
    """Return the ten numbers of an inertia: mass, centre of mass, xx yy zz xy xz yz."""
    I = inertia.tensor
    return [inertia.mass, *inertia.com, I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]]


def inertia(m: Any, mujoco: Any, body: str) -> Any:
    """Return the inertia that the `<custom>` section of a compiled model `m` has for a body.

    Returns None if the section declares the inertia unknown, and `NOT_GIVEN` if it has no entry for
    the body.
    """
    if body in _text(m, mujoco, NO_INERTIA):
        return None
    index = mujoco.mj_name2id(m, mujoco.mjtObj.mjOBJ_NUMERIC, INERTIA + body)
    if index < 0 or m.numeric_size[index] != 10:
        return NOT_GIVEN
    start = m.numeric_adr[index]
    return _inertia_from(m.numeric_data[start : start + 10])


def tip(m: Any, mujoco: Any) -> str | None:
    """Return the name of the tool site stored in `<custom>`; None if there is none."""
    names = _text(m, mujoco, TIP)
    return names[0] if names else None


def poses(m: Any, mujoco: Any, n: int) -> dict[str, np.ndarray]:
    """Return the poses stored in `<custom>` by name, each an array (n,) of joint values.

    An entry that does not have n finite numbers is ignored.
    """
    found = {}
    for index in range(m.nnumeric):
        name = mujoco.mj_id2name(m, mujoco.mjtObj.mjOBJ_NUMERIC, index) or ""
        start, size = int(m.numeric_adr[index]), int(m.numeric_size[index])
        values = m.numeric_data[start : start + size]
        if name.startswith(POSE) and size == n and np.isfinite(values).all():
            found[name.removeprefix(POSE)] = frozen(values)
    return found


def _inertia_from(numbers: Sequence[float]) -> Inertia:
    mass, x, y, z, xx, yy, zz, xy, xz, yz = (float(v) for v in numbers)
    tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return Inertia(mass, frozen([x, y, z]), frozen(tensor))


def _text(m: Any, mujoco: Any, name: str) -> list[str]:
    index = mujoco.mj_name2id(m, mujoco.mjtObj.mjOBJ_TEXT, name)
    if index < 0:
        return []
    start = m.text_adr[index]
    data = bytes(m.text_data[start : start + m.text_size[index]])
    return data.rstrip(b"\0").decode("utf-8", "replace").split(SEPARATOR)
