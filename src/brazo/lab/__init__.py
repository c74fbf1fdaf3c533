"""The lab: a browser application to view, move and study a cell or a robot.

The package `brazo.lab` is also callable: `brazo.lab(cell)` calls `brazo.lab.serving.serve(cell)`.
"""

from __future__ import annotations

import sys
import types
from typing import Any


class _Lab(types.ModuleType):
    def __call__(self, source: Any = "cooperative", **options: Any) -> Any:
        from brazo.lab.serving import serve

        return serve(source, **options)


sys.modules[__name__].__class__ = _Lab
