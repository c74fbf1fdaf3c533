"""Addresses of MuJoCo's data and functions, for machine code that calls the engine.

Most arrays of an `MjData` are NumPy views, whose addresses are valid as long as the `MjData`
exists. The number of contacts, and the addresses of the contact list and the constraint forces, are
plain fields of the struct `mjData`.  MuJoCo's Python package describes this struct.  The offsets
are computed from the description by the rules of C.  They are then compared, field by field, with
the values that the Python interface reports: in a small model with no, one and two contacts, and in
every model that is used.  If a single field differs, or anything is missing, the addresses are not
used, and the simulation makes its steps in Python: the same results, slower.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from brazo.internals import Checked

CHECKED = (Checked("mujoco", "4.0.0", "4.0.0"),)

FUNCTIONS = ("mj_step", "mj_getState", "mj_rnePostConstraint", "mj_geomDistance")
ROOMY = 8  # min ratio of the arena size to the largest use so far, see `roomy`
_BALL = '<body><freejoint/><geom size="0.2"/></body>'
_BALLS = f"""<mujoco><worldbody><geom type="plane" size="9 9 1"/>
  {_BALL}{_BALL.replace("<body>", '<body pos="2 0 0">')}</worldbody></mujoco>"""
_C_TYPES: dict[str, Any] = {
    "int": ctypes.c_int,
    "mjtNum": ctypes.c_double,
    "mjtSize": ctypes.c_int64,
    "mjtBool": ctypes.c_bool,
    "mjtByte": ctypes.c_uint8,
    "size_t": ctypes.c_size_t,
    "uint64_t": ctypes.c_uint64,
    "uintptr_t": ctypes.c_size_t,
}


@dataclass(frozen=True, slots=True, eq=False)
class EngineView:
    """Addresses of the fields of one `MjData` and of MuJoCo's functions.

    Sizes and offsets are in bytes.  Offsets are relative to the start of a contact (`mjContact`).
    """

    model: int
    data: int
    functions: dict[str, int]
    time: int  # address of the simulation time, a double
    contact_count: int  # address of an int
    contacts: int  # address of a pointer to the first contact
    forces: int  # address of a pointer to the forces of all constraints
    contact_size: int  # from one contact to the next
    dist: int  # offset of the distance
    geoms: int  # offset of the two geom ids
    force_at: int  # offset of an int, the index of the first force of the contact
    warnings: int  # address of the count of the first warning, an int
    warning_size: int  # from one warning to the next


def engine_view(model: Any, data: Any) -> EngineView | None:
    """Return the addresses of the arrays of an `MjData`; None if a self-check fails."""
    library, layouts = _library(), _layouts()
    if unusable() is not None or library is None or layouts is None:
        return None
    if not agrees(layouts["mjData"], data):
        return None
    struct, contact, warning = layouts["mjData"], layouts["mjContact"], layouts["mjWarningStat"]
    at = int(data._address)
    numbers = data.warning.number
    first = at + struct.warning.offset + warning.number.offset
    size = ctypes.sizeof(warning)
    if address(numbers) != first or numbers.strides != (size,):
        return None
    return EngineView(
        int(model._address),
        at,
        library,
        at + struct.time.offset,
        at + struct.ncon.offset,
        at + struct.contact.offset,
        at + struct.efc_force.offset,
        ctypes.sizeof(contact),
        contact.dist.offset,
        contact.geom.offset,
        contact.efc_address.offset,
        first,
        size,
    )


def agrees(struct: Any, data: Any) -> bool:
    """Return whether a struct layout, applied to the memory of `data`, matches `data`.

    Numbers are compared by value and arrays by address.  Fields of other types, and pointers to
    empty arrays, are not compared.
    """
    raw = struct.from_address(int(data._address))
    for name, kind in struct._fields_:
        public, here = getattr(data, name, None), getattr(raw, name)
        if kind is ctypes.c_void_p:
            if here is None or not isinstance(public, np.ndarray) or not public.size:
                continue  # nothing there yet
            same = here == address(public)
        elif isinstance(public, (bool, int, float)):
            same = here == public
        elif isinstance(public, np.ndarray):
            same = int(data._address) + getattr(struct, name).offset == address(public)
        else:
            continue
        if not same:
            return False
    dist = data.contact.dist
    return not len(dist) or raw.contact == address(dist)


@lru_cache(maxsize=1)
def unusable() -> str | None:
    """Return the reason why machine code cannot call the engine here; None if it can."""
    if _library() is None:
        return "the engine's library is not found in its package, or is another version"
    layouts = _layouts()
    if layouts is None:
        return "the engine's package does not describe its data"
    return None if proven(layouts["mjData"]) else "the engine's data has an unexpected layout"


def proven(struct: Any) -> bool:
    """Return whether a layout of `mjData` is correct for a small model with 0, 1 and 2 contacts."""
    mujoco: Any = import_module("mujoco")
    model = mujoco.MjModel.from_xml_string(_BALLS)
    data = mujoco.MjData(model)
    for count, heights in enumerate(((1.0, 1.0), (0.1, 1.0), (0.1, 0.1))):
        data.qpos[[2, 9]] = heights
        mujoco.mj_forward(model, data)
        raw = struct.from_address(int(data._address))
        if not agrees(struct, data) or (raw.ncon, raw.time) != (count, data.time):
            return False
        if count and raw.efc_force != address(data.efc_force):
            return False
        data.time += 1.0
    return True


def roomy(data: Any) -> bool:
    """Return whether the engine has enough free memory for a step that machine code calls.

    The arena must be more than `ROOMY` times as large as the largest use so far.  If the engine
    runs out of memory in a step that is not called from Python, it terminates the process.
    """
    return ROOMY * data.maxuse_arena < data.narena


def address(array: np.ndarray) -> int:
    """Return the address of the data of an array."""
    return array.__array_interface__["data"][0]


@lru_cache(maxsize=1)
def _library() -> dict[str, int] | None:
    """Return the addresses of the functions `FUNCTIONS` of MuJoCo's shared library, by name.

    Return None if MuJoCo's Python package does not contain exactly one shared library, if the
    library and the package have different versions, or if a function is missing.
    """
    mujoco: Any = import_module("mujoco")
    folder = Path(mujoco.__file__).parent
    names = ("libmujoco*.so*", "libmujoco*.dylib", "mujoco*.dll", "libmujoco*.dll")
    found = [path for pattern in names for path in sorted(folder.glob(pattern))]
    if len(found) != 1:
        return None
    try:
        library = ctypes.CDLL(str(found[0]))
        if library.mj_version() != mujoco.mj_version():
            return None
        return {name: _function(library, name) for name in FUNCTIONS}
    except (OSError, AttributeError):
        return None


def _function(library: Any, name: str) -> int:
    return ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0


@lru_cache(maxsize=1)
def _layouts() -> dict[str, Any] | None:
    """Return ctypes classes of MuJoCo's structs by name; None if MuJoCo does not describe them."""
    try:
        structs = import_module("mujoco.introspect.structs").STRUCTS
        known = dict(_C_TYPES)
        for name in ("mjWarningStat", "mjTimerStat", "mjSolverStat", "mjContact", "mjData"):
            fields = [(one.name, _c_type(one.type, known)) for one in structs[name].fields]
            known[name] = type(name, (ctypes.Structure,), {"_fields_": fields})
        return known
    except (ImportError, AttributeError, KeyError, TypeError):
        return None


def _c_type(kind: Any, known: dict[str, Any]) -> Any:
    """Return the ctypes type for a C type description: a value, an array or a pointer."""
    if hasattr(kind, "extents"):
        found = _c_type(kind.inner_type, known)
        for extent in reversed(kind.extents):
            found = found * extent
        return found
    if hasattr(kind, "inner_type"):
        return ctypes.c_void_p
    return known[kind.name]
