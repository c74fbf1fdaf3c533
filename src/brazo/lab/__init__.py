"""The lab: a robot in the browser, to look at and to move.

`brazo.lab` is a package and, being what people type, also callable: `brazo.lab(arm)` is
`brazo.lab.app.serve(arm)`.
"""

from __future__ import annotations

import sys
import types
from typing import Any


class _Lab(types.ModuleType):
    def __call__(self, robot: Any, **options: Any) -> Any:
        from brazo.lab.app import serve

        return serve(robot, **options)


sys.modules[__name__].__class__ = _Lab
