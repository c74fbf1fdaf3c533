"""Picture of a robot drawn by matplotlib: its solids, or the skeleton of its frames."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from brazo.body.solids import mesh
from brazo.errors import BrazoError
from brazo.model.description import Array, Part

MOST_TRIANGLES = 60_000  # more take long to draw; the skeleton is drawn instead
_LIGHT = np.array([0.4, -0.5, 0.77])
_AXIS_COLORS = ("#d62728", "#2ca02c", "#1f77b4")


def draw_robot(
    frames: Array,
    tool: Array,
    parts: Sequence[Sequence[Part]],
    parents: Sequence[int],
    tip: int,
    title: str,
) -> Any:
    """Return a matplotlib figure of a robot.

    `frames` (bodies, 4, 4) are the poses of the bodies, `tool` (4, 4) is the pose of the tool, and
    `parts` are the solids of each body.  If there are no solids, or too many triangles, lines are
    drawn instead: from the origin of each body to that of its parent (index in `parents`), and from
    the body with index `tip` to the tool.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.0, 6.0), layout="constrained")
    FigureCanvasAgg(figure)
    axes: Any = figure.add_subplot(projection="3d")
    points = [*frames[:, :3, 3], tool[:3, 3]]
    drawn = shaded_triangles(frames, parts)
    if drawn is None:
        _skeleton(axes, frames, tool, parents, tip)
    else:
        corners, colors = drawn
        from mpl_toolkits.mplot3d.art3d import Poly3DCollection

        axes.add_collection3d(Poly3DCollection(corners, facecolors=colors, linewidths=0.0))
        points = [*points, corners.min(axis=(0, 1)), corners.max(axis=(0, 1))]
    cloud = np.array(points)
    low, high = cloud.min(axis=0), cloud.max(axis=0)
    half = 0.55 * float((high - low).max() or 1.0)
    _triad(axes, np.eye(4), 0.25 * half)
    _triad(axes, tool, 0.25 * half)
    for name, middle in zip("xyz", 0.5 * (low + high), strict=True):
        getattr(axes, f"set_{name}lim")(middle - half, middle + half)
        getattr(axes, f"set_{name}label")(f"{name} [m]")
    axes.set_box_aspect((1, 1, 1))
    axes.set_title(title)
    return figure


def shaded_triangles(frames: Array, parts: Sequence[Sequence[Part]]) -> tuple[Array, Array] | None:
    """Return the corners (k, 3, 3) and shaded colours (k, 3) of all triangles of the parts.

    `frames` (bodies, 4, 4) are the poses of the bodies, `parts` the solids of each body.  Returns
    None if there are no triangles or more than `MOST_TRIANGLES`.
    """
    corners, colors = [], []
    count = 0
    for T, solids in zip(frames, parts, strict=False):
        for part in solids:
            try:
                surface = mesh(part.shape)
            except BrazoError:
                continue  # a mesh that cannot be read is left out
            count += len(surface.faces)
            if count > MOST_TRIANGLES:
                return None
            place = T @ part.pose
            vertices = surface.vertices @ place[:3, :3].T + place[:3, 3]
            triangles = vertices[surface.faces]
            normals = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
            normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)
            light = 0.55 + 0.45 * np.clip(normals @ _LIGHT, 0.0, 1.0)
            corners.append(triangles)
            colors.append(np.clip(light[:, None] * np.array(part.color), 0.0, 1.0))
    return (np.concatenate(corners), np.concatenate(colors)) if corners else None


def _skeleton(axes: Any, frames: Array, tool: Array, parents: Sequence[int], tip: int) -> None:
    for i, parent in enumerate(parents):
        if parent >= 0:
            line = frames[[parent, i], :3, 3].T
            axes.plot(*line, color="#444", lw=3, marker="o", solid_capstyle="round")
    axes.plot(*np.stack([frames[tip, :3, 3], tool[:3, 3]]).T, color="#444", lw=3)


def _triad(axes: Any, T: Array, size: float) -> None:
    for axis, color in zip(T[:3, :3].T, _AXIS_COLORS, strict=True):
        line = np.stack([T[:3, 3], T[:3, 3] + size * axis]).T
        axes.plot(*line, color=color, lw=1.5)
