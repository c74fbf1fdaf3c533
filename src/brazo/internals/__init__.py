"""Undocumented parts of other libraries, one file per library, and nothing else.

Brazo uses documented interfaces wherever they exist.  Where it cannot (or where they are ten times
slower), the private names, struct offsets and replaced functions are used only here, so that
after a new release of a library one file has to be checked.  Every file has

- `CHECKED`: the releases it was checked with;
- `unusable()`: a self-check of this process, made once; None, or the reason why the private parts
  cannot be used here.

What happens when a self-check fails:

| file            | library        | without its private parts                               |
|-----------------|----------------|---------------------------------------------------------|
| `cpython.py`    | CPython, NumPy | kernels are called through ctypes: same results, slower |
| `mujoco.py`     | MuJoCo         | steps are made in Python: same results, slower          |
| `websockets.py` | websockets     | limits are applied per message instead of per frame     |
| `viser.py`      | viser          | the lab does not start; headless runs and replays do    |
| `xacro.py`      | xacro          | xacro files are refused; expanded ones (URDF) are read  |

The last two have no slower route on purpose: viser would act on unchecked messages, and
xacro would run the Python code of a robot file.  `tools/newest_versions.py` installs the newest
releases into a fresh environment and runs every self-check there.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Checked"]


@dataclass(frozen=True, slots=True)
class Checked:
    """A library (its name on PyPI) and the range of releases that were checked."""

    library: str
    oldest: str
    newest: str

    def __str__(self) -> str:
        if self.oldest == self.newest:
            return f"{self.library} {self.oldest}"
        return f"{self.library} {self.oldest} to {self.newest}"
