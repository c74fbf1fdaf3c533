"""Discovery of the panels: each subfolder of `panels` contains one panel, except `common`."""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path

from brazo.lab.app.panel import Panel


def panel_types() -> tuple[type[Panel], ...]:
    """Return the panel classes defined in `<folder>/panel.py`, in the order of the tabs."""
    found: dict[str, type[Panel]] = {}
    for folder in pkgutil.iter_modules([str(Path(__file__).parent)]):
        if not folder.ispkg or folder.name == "common":
            continue
        loaded = importlib.import_module(f"{__package__}.{folder.name}.panel")
        for value in vars(loaded).values():
            if (
                isinstance(value, type)
                and issubclass(value, Panel)
                and value.__module__ == loaded.__name__
                and "id" in vars(value)
            ):
                found[value.id] = value
    return tuple(sorted(found.values(), key=lambda panel: (panel.order, panel.title)))
