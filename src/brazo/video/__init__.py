"""Videos without a browser: a recording, a cell or a robot rendered offscreen by MuJoCo.

`brazo.video` is a package and also callable: `brazo.video(source, path, **options)` writes a video
with the options of `VideoOptions` and returns its path.  `render` takes a `VideoOptions` object and
returns a `Rendered` object.  `animate` returns an `Animation` for a notebook.
"""

from __future__ import annotations

import sys
import types
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from brazo.video.animation import Animation, animate
    from brazo.video.rendering import Rendered, VideoOptions, render

__all__ = ["Animation", "Rendered", "VideoOptions", "animate", "render"]

_MODULES = {
    "Animation": "animation",
    "Rendered": "rendering",
    "VideoOptions": "rendering",
    "animate": "animation",
    "render": "rendering",
}


class _Video(types.ModuleType):
    def __call__(
        self,
        source: Any,
        path: str | Path,
        *,
        cell: Any = None,
        progress: Any = None,
        **options: Any,
    ) -> Path:
        from brazo.video.rendering import VideoOptions, render

        return render(source, path, VideoOptions(**options), cell=cell, progress=progress).path

    def __getattr__(self, name: str) -> Any:
        if name not in _MODULES:
            raise AttributeError(f"module 'brazo.video' has no attribute '{name}'")
        return getattr(import_module(f"brazo.video.{_MODULES[name]}"), name)


sys.modules[__name__].__class__ = _Video
