"""The windows of the lab, one file each; see `brazo.lab.panels.base` for how one is written."""

from __future__ import annotations

import importlib
import pkgutil

from brazo.lab.panels.base import Panel

__all__ = ["Panel", "panel_types"]


def panel_types() -> tuple[type[Panel], ...]:
    """Every panel in this folder, in the order of the tabs."""
    found: dict[str, type[Panel]] = {}
    for module in pkgutil.iter_modules(__path__):
        loaded = importlib.import_module(f"{__name__}.{module.name}")
        for value in vars(loaded).values():
            if (
                isinstance(value, type)
                and issubclass(value, Panel)
                and value.__module__ == loaded.__name__
                and "id" in vars(value)
            ):
                found[value.id] = value
    return tuple(sorted(found.values(), key=lambda panel: (panel.order, panel.title)))
