"""Dump of a diverged simulation: a file from which its last steps can be replayed.

The file (.npz, plain arrays) contains the compiled model, the state at the start of each of the
last steps including the drive commands, and a JSON description.  A replay needs neither the cell
nor the controllers: the engine repeats the steps bit for bit.
"""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from brazo.codegen.cache import cache_dir
from brazo.errors import BrazoError, RunFailed
from brazo.files import replacing, require_file
from brazo.formats.mjcf.engine import engine
from brazo.permissions import make_private, prune
from brazo.world.divergence_guard import Diverged, DivergenceGuard
from brazo.world.last_steps import model_bytes, model_of

Array = np.ndarray
FORMAT = 1
MAX_DUMPS = 100
MAX_BYTES = 200 << 20


@dataclass(frozen=True, slots=True, eq=False)
class Replay:
    """Result of replaying the last steps of a dump."""

    time: float  # s, of the step that diverged
    where: str  # joint or drive
    message: str
    reproduced: bool  # the replay failed in the same step and at the same place
    exact: bool  # all earlier steps were bit-identical to those of the run
    t: Array  # (steps,) s
    qpos: Array  # (steps, nq) the engine's positions
    qvel: Array  # (steps, nv) the engine's velocities
    ctrl: Array  # (steps, nu) drive commands
    about: Mapping[str, Any]  # description of the run: cell, robots, controllers


def own_folder() -> Path | None:
    """Return the user's default folder for dumps, or None if there is no home directory."""
    try:
        return cache_dir() / "dumps"
    except RuntimeError:
        return None


def prepare_folder(folder: Path) -> None:
    """Create a folder for dumps.

    The default folder of the user is made private.  Its oldest dumps are deleted until fewer than
    `MAX_DUMPS` files and at most `MAX_BYTES` bytes remain; the newest dump is always kept.
    """
    if folder != own_folder():
        folder.mkdir(parents=True, exist_ok=True)
        return
    make_private(folder)
    prune(folder, ".npz", files=MAX_DUMPS - 1, size=MAX_BYTES)


def write_dump(
    path: Path, model: Any, states: Array, error: Diverged, about: Mapping[str, Any]
) -> None:
    """Write a dump file atomically.

    `states` (steps, size) are the engine's states at the start of the last steps, and `about` is
    the description of the run.
    """
    mujoco = engine()
    description = {
        "format": FORMAT,
        "mujoco": mujoco.__version__,
        "time": error.time,
        "where": error.where,
        "message": str(error),
        **about,
    }
    with replacing(path) as temporary, temporary.open("wb") as file:
        np.savez_compressed(
            file,
            model=model_bytes(model),
            states=states,
            about=np.frombuffer(json.dumps(description).encode(), dtype=np.uint8),
        )


def save_dump(
    folder: Path, name: str, model: Any, states: Array, error: Diverged, about: Mapping[str, Any]
) -> Diverged:
    """Write a dump into a folder and return `error` with a note appended.

    The note contains the path of the dump, or the reason why it could not be written.  `name` is
    the name of the cell.  The other arguments are those of `write_dump`.
    """
    dump = None
    try:
        prepare_folder(folder)
        dump = free_name(folder, f"{name}-{error.time:.4f}s", ".npz")
        write_dump(dump, model, states, error, about)
    except (OSError, BrazoError) as problem:
        dump, note = None, f"The last steps could not be saved: {problem}"
    else:
        note = f"The last steps are in {dump}: replay them with Simulation.replay_dump"
    found = Diverged(f"{error}. {note}", error.time, error.where)
    found.dump = dump
    return found


def replay_dump(path: str | Path) -> Replay:
    """Repeat the steps of a dump file and compare the states with those in the file.

    Raises `BrazoError` if the file was written with another version of MuJoCo.
    """
    model_data, states, about = _read(Path(path))
    mujoco = engine()
    if about["mujoco"] != mujoco.__version__:
        raise BrazoError(
            f"{path}: written with MuJoCo {about['mujoco']}, but MuJoCo {mujoco.__version__} is "
            "installed; a replay needs the same version"
        )
    model = model_of(model_data)
    data = mujoco.MjData(model)
    kind = mujoco.mjtState.mjSTATE_INTEGRATION
    if states.ndim != 2 or states.shape[1] != mujoco.mj_stateSize(model, kind):
        raise BrazoError(f"{path}: the states do not match the model; the file is damaged")
    guard = DivergenceGuard(model, data)
    rows: list[tuple[float, Array, Array, Array]] = []
    exact, broke = True, None
    for state in states:
        if rows:
            here = np.zeros(len(state))
            mujoco.mj_getState(model, data, here, kind)
            exact = exact and _same_motion(mujoco, model, here, state)
        mujoco.mj_setState(model, data, state, kind)
        rows.append((data.time, data.qpos.copy(), data.qvel.copy(), data.ctrl.copy()))
        mujoco.mj_step(model, data)
        try:
            guard.check()
        except RunFailed as error:
            broke = error
            break
    # A failure that is not a divergence (full memory) has no place.
    where = broke.where if isinstance(broke, Diverged) else about["where"]
    same = broke is not None and (data.time, where) == (about["time"], about["where"])
    return Replay(
        time=about["time"],
        where=about["where"],
        message=about["message"],
        reproduced=same,
        exact=exact,
        t=np.array([row[0] for row in rows]),
        qpos=np.array([row[1] for row in rows]),
        qvel=np.array([row[2] for row in rows]),
        ctrl=np.array([row[3] for row in rows]),
        about=about,
    )


def free_name(folder: Path, name: str, suffix: str) -> Path:
    """Return the path of a file that does not exist yet: `name` and `suffix` in a folder.

    Special characters in `name` become hyphens; a number is appended if the file exists.
    """
    name = re.sub(r"[^\w.-]+", "-", name).lstrip(".-") or "run"
    path, k = folder / f"{name}{suffix}", 1
    while path.exists():
        k += 1
        path = folder / f"{name}-{k}{suffix}"
    return path


def _same_motion(mujoco: Any, model: Any, here: Array, there: Array) -> bool:
    """Whether two state vectors have the same time, positions and velocities."""
    kind = mujoco.mjtState
    size = mujoco.mj_stateSize(
        model, kind.mjSTATE_TIME | kind.mjSTATE_QPOS | kind.mjSTATE_QVEL
    )  # time, positions and velocities come first in the state vector
    return bool((here[:size] == there[:size]).all())


def _read(path: Path) -> tuple[Array, Array, dict[str, Any]]:
    require_file(path)
    try:
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            about = json.loads(file["about"].tobytes())
            model, states = file["model"], file["states"]
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise BrazoError(f"{path}: not a dump of a diverged simulation ({error})") from None
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise BrazoError(
            f"{path}: the dump was written by an incompatible version of brazo; replay it with "
            "that version"
        )
    return model, states, about
