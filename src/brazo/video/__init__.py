"""Videos without a browser: a recording, a cell or a robot rendered offscreen by MuJoCo.

`brazo.video` is a package and also callable: `brazo.video(source, path)` writes a video.
"""

from __future__ import annotations

import sys
import types
from pathlib import Path
from typing import Any


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
        from brazo.video.render import VideoOptions, render

        return render(source, path, VideoOptions(**options), cell=cell, progress=progress).path


sys.modules[__name__].__class__ = _Video
