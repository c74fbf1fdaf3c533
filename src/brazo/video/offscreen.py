"""Offscreen OpenGL: selection of a working backend, and images of a MuJoCo model.

A missing driver may end the process instead of raising an exception, so each backend is first tried
in a separate process.  The environment variable MUJOCO_GL (such as egl, osmesa or glfw) selects one
backend.  An OpenGL context can be used only in the thread that created it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from functools import lru_cache
from importlib import import_module
from types import TracebackType
from typing import Any

import numpy as np

from brazo.errors import BrazoError
from brazo.formats.mjcf.engine import engine

# Number of seconds after which an attempt counts as failed; a first import can be slow.
_PATIENCE = 60.0
_ATTEMPT = """
import sys
sys.path[:] = sys.argv[2].split("\\n")
from brazo.video.offscreen import try_backend
try_backend(sys.argv[1])
"""
_SWITCHED_OFF = ("disable", "disabled", "off", "false", "0")
_ANY = ("", "enable", "enabled", "on", "true", "1")
_HINTS = {
    "linux": "on Debian and Ubuntu: apt install libegl1 libgl1-mesa-dri libopengl0 (EGL), or "
    "libosmesa6 (OSMesa); both render without a display and without a graphics card",
    "darwin": "rendering needs a session with access to the graphics system",
    "win32": "rendering needs an OpenGL driver: install the one of the graphics card",
}


@lru_cache(maxsize=1)
def backend() -> str:
    """Return the name of an OpenGL backend that works on this machine.

    Raises BrazoError if none works.
    """
    reasons = []
    for name in candidates():
        reason = _failure(name)
        if reason is None:
            return name
        reasons.append(f"{name}: {reason}")
    platform = "linux" if sys.platform.startswith("linux") else sys.platform
    hint = _HINTS.get(platform, _HINTS["linux"])
    raise BrazoError(f"no OpenGL for rendering without a window ({'; '.join(reasons)}); {hint}")


def candidates() -> tuple[str, ...]:
    """Return the names of the OpenGL backends to try, in order; MUJOCO_GL may select one.

    Raises BrazoError if MUJOCO_GL switches OpenGL off or names an unknown backend.
    """
    wanted = os.environ.get("MUJOCO_GL", "").lower().strip()
    if wanted in _SWITCHED_OFF:
        raise BrazoError(
            f"MUJOCO_GL={wanted} switches OpenGL off: unset this environment variable to render"
        )
    if sys.platform == "darwin":
        known: tuple[str, ...] = ("cgl", "glfw")
    elif sys.platform == "win32":
        known = ("glfw",)
    else:
        known = ("egl", "osmesa", "glfw")
    wanted = {"glx": "glfw", "wgl": "glfw"}.get(wanted, wanted)
    if wanted in _ANY:
        screen = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
        return tuple(one for one in known if one != "glfw" or screen or "egl" not in known)
    if wanted not in known:
        raise BrazoError(f"MUJOCO_GL={wanted}: unknown OpenGL backend; choose {', '.join(known)}")
    return (wanted,)


def try_backend(name: str) -> None:
    """Render one small image with a backend; entry point of a separate process."""
    mujoco = engine()
    model = mujoco.MjModel.from_xml_string(
        "<mujoco><worldbody><light pos='0 0 3'/><geom size='.2'/></worldbody></mujoco>"
    )
    with Renderer(model, 16, 16, name) as renderer:
        data = mujoco.MjData(model)
        mujoco.mj_forward(model, data)
        picture = renderer.render(data, mujoco.MjvCamera())
    if picture.min() == picture.max():
        raise SystemExit("the picture is empty")


def _failure(name: str) -> str | None:
    """Return the reason why a backend does not work here; None if it works."""
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-c", _ATTEMPT, name, "\n".join(sys.path)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            timeout=_PATIENCE,
        )
    except subprocess.TimeoutExpired:
        return f"no answer within {_PATIENCE:g} s"
    except OSError as error:
        return str(error)
    if done.returncode == 0:
        return None
    return (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]


class Renderer:
    """Renderer of images of a MuJoCo model into memory; a context manager.

    `width` and `height` are in px.  `lines` is the number of geoms that `decorate` may add.
    """

    def __init__(
        self, model: Any, width: int, height: int, backend: str, *, lines: int = 0
    ) -> None:
        mujoco = engine()
        self._mujoco, self._model = mujoco, model
        self._size = mujoco.MjrRect(0, 0, width, height)
        context = import_module(f"mujoco.{backend}").GLContext
        self._gl = context(width, height)
        self._gl.make_current()
        self._context = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_100)
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, self._context)
        self.scene = mujoco.MjvScene(model, maxgeom=model.ngeom + lines + 10)
        self._options = mujoco.MjvOption()
        self._pixels = np.empty((height, width, 3), np.uint8)

    def __enter__(self) -> Renderer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._context.free()
        self._gl.free()

    def flag(self, name: str, on: bool) -> None:
        """Switch a rendering flag of MuJoCo on or off: `shadow`, `reflection`, `fog`, …"""
        self.scene.flags[getattr(self._mujoco.mjtRndFlag, f"mjRND_{name.upper()}")] = on

    def render(self, data: Any, camera: Any, decorate: Any = None) -> np.ndarray:
        """Return an image (height, width, 3), 8-bit RGB, which is valid until the next call.

        `data` (an `MjData`) is the state to show, and `camera` is an `MjvCamera`.  `decorate` is
        called with the MuJoCo scene before rendering and may add geoms.
        """
        mujoco = self._mujoco
        mujoco.mjv_updateScene(
            self._model, data, self._options, None, camera, mujoco.mjtCatBit.mjCAT_ALL, self.scene
        )
        if decorate is not None:
            decorate(self.scene)
        mujoco.mjr_render(self._size, self.scene, self._context)
        mujoco.mjr_readPixels(self._pixels, None, self._size, self._context)
        return self._pixels[::-1]
