"""Figure of a workspace: a vertical and a horizontal slice, and a histogram of manipulability."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from brazo.recording.canvas import drawing, finish, new_figure, save
from brazo.recording.colors import COLORS

if TYPE_CHECKING:
    from brazo.study.workspace_map import WorkspaceMap

SCALE = "viridis"


def workspace_figure(found: WorkspaceMap, path: str | Path | None = None) -> Any:
    """Draw slices of a workspace at y = 0 and at one height, and a histogram of manipulability.

    The height is that with the most cubes.  If a path is given, the figure is written to it.
    """
    with drawing():
        fig = new_figure(2.9, found.robot)
        left, middle, right = fig.subplots(1, 3, width_ratios=(1, 1, 0.8))
        layers = _cells(found)[:, 2]
        fullest = int(np.bincount(layers).argmax())
        height = float(found.points[:, 2].min()) + fullest * found.size
        across = np.abs(found.points[:, 1]) < 0.75 * found.size
        level = layers == fullest
        most = float(found.manipulability.max())
        shown: Any = None
        for ax, mask, axes, title in (
            (left, across, (0, 2), "y = 0"),
            (middle, level, (0, 1), f"z = {1e3 * height:.0f} mm"),
        ):
            shown = _slice(ax, found, mask, axes, most)
            ax.set_title(title, fontsize=8)
            ax.grid(visible=False)
            ax.set_xlabel("x [m]")
            ax.set_ylabel(f"{'xyz'[axes[1]]} [m]")
        fig.colorbar(shown, ax=[left, middle], shrink=0.8, label="manipulability")
        right.hist(found.manipulability, 40, color=COLORS[0])
        right.set_xlabel("manipulability")
        right.set_ylabel("cubes")
        fig = finish(fig)
    if path is not None:
        save(fig, path)
    return fig


def _slice(
    ax: Any, found: WorkspaceMap, mask: np.ndarray, axes: tuple[int, int], most: float
) -> Any:
    """Draw the cubes in `mask`, projected on the plane of two `axes` (0, 1, 2 for x, y, z).

    Where cubes overlap, the highest manipulability is shown.  `most` is the max of the colour
    scale.
    """
    cells = _cells(found)[:, axes]
    image = np.full(tuple(cells.max(axis=0) + 1), np.nan)
    for (i, j), value in zip(cells[mask], found.manipulability[mask], strict=True):
        image[i, j] = np.fmax(image[i, j], value)
    centres = found.points[:, axes]
    low, high = centres.min(axis=0) - found.size / 2, centres.max(axis=0) + found.size / 2
    return ax.imshow(
        image.T,
        origin="lower",
        extent=(low[0], high[0], low[1], high[1]),
        cmap=SCALE,
        vmin=0.0,
        vmax=most,
        aspect="equal",
        interpolation="nearest",
    )


def _cells(found: WorkspaceMap) -> np.ndarray:
    """Return the indices (k, 3) of the cubes, counted from the lowest cube of each axis."""
    return np.round((found.points - found.points.min(axis=0)) / found.size).astype(int)
