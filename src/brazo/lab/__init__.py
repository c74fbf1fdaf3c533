"""The lab: a cell or a robot in the browser, to look at, to move and to study.

`brazo.lab` is a package and, being what people type, also callable: `brazo.lab(cell)` is
`brazo.lab.serving.serve(cell)`.
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
