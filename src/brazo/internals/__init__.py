"""Use of undocumented parts of other libraries, one file per library (two for viser).

Brazo uses documented interfaces wherever they exist.  Where there are none (or where they are ten
times slower), private names, struct offsets and replaced functions are needed.  They are used only
in this package, so that after a new release of a library only its file has to be checked.  Every
file in the table below has

- `CHECKED`: the releases with which the file was checked;
- `unusable()`: a self-check that runs once per process and returns None, or the reason why the
  private parts cannot be used here.

Consequences of a failed self-check:

| file            | library        | without its private parts                               |
|-----------------|----------------|---------------------------------------------------------|
| `cpython.py`    | CPython, NumPy | kernels are called through ctypes: same results, slower |
| `mujoco.py`     | MuJoCo         | steps are made in Python: same results, slower          |
| `websockets.py` | websockets     | limits are applied per message instead of per frame     |
| `viser.py`      | viser          | the lab does not start; headless runs and replays do    |
| `xacro.py`      | xacro          | xacro files are refused; expanded ones (URDF) are read  |

The last two have no slower alternative on purpose: viser would act on unchecked messages, and xacro
would run the Python code of a robot file.  `tools/newest_versions.py` installs the newest releases
into a new environment and runs every self-check there.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Checked"]


@dataclass(frozen=True, slots=True)
class Checked:
    """Library (its name on PyPI, or python) and the range of releases that were checked."""

    library: str
    oldest: str
    newest: str

    def __str__(self) -> str:
        if self.oldest == self.newest:
            return f"{self.library} {self.oldest}"
        return f"{self.library} {self.oldest} to {self.newest}"
