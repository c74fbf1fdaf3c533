"""The panels of the lab, one folder each; see `brazo.lab.app.panel` for how one is written."""

from __future__ import annotations

import importlib
import pkgutil

from brazo.lab.app.panel import Panel

__all__ = ["Panel", "panel_types"]


def panel_types() -> tuple[type[Panel], ...]:
    """Every panel below this folder (`<name>/panel.py`), in the order of the tabs."""
    found: dict[str, type[Panel]] = {}
    for folder in pkgutil.iter_modules(__path__):
        if folder.name == "common":
            continue
        loaded = importlib.import_module(f"{__name__}.{folder.name}.panel")
        for value in vars(loaded).values():
            if (
                isinstance(value, type)
                and issubclass(value, Panel)
                and value.__module__ == loaded.__name__
                and "id" in vars(value)
            ):
                found[value.id] = value
    return tuple(sorted(found.values(), key=lambda panel: (panel.order, panel.title)))
