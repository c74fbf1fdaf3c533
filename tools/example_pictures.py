"""Draw the pictures of the examples' pages: `python tools/example_pictures.py [NUMBER …]`.

Each example is run, and a figure is drawn from the names that it leaves behind.  Pictures are
written to docs/_static/examples as `NAME.webp`.  Examples whose picture is a screenshot or a figure
of another page are listed in docs/extensions/generated_pages.py.
"""

from __future__ import annotations

import contextlib
import io
import os
import runpy
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("agg")

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from mpl_toolkits.mplot3d.art3d import Poly3DCollection
from PIL import Image, ImageChops

import brazo
from brazo.body.picture import shaded_triangles
from brazo.control import track
from brazo.control.benchmark import sines

ROOT = Path(__file__).parents[1]
OUT = ROOT / "docs" / "_static" / "examples"
Names = dict[str, Any]


def hello_arm(names: Names) -> Figure:
    figure, axis = _scene(1.0)
    _draw(axis, names["arm"], names["q"])
    _axes(axis, names["T"], 0.25)
    return figure


def inverse_kinematics(names: Names) -> Figure:
    figure = plt.figure(figsize=(12.0, 6.0))
    branches = names["result"].all[:4]
    for k, branch in enumerate(branches):
        axis: Any = figure.add_subplot(1, len(branches), k + 1, projection="3d")
        _frame(axis, 0.75)
        _draw(axis, names["arm"], branch.q)
        axis.set_title(branch.name, fontsize=11, y=-0.02)
    figure.subplots_adjust(0, 0.06, 1, 1, 0, 0)
    return figure


def custom_robot(names: Names) -> Figure:
    figure = plt.figure(figsize=(10.0, 6.0))
    for k, (robot, title) in enumerate(
        ((names["crane"], "L1 = 45 cm"), (names["longer"], "90 cm"))
    ):
        axis: Any = figure.add_subplot(1, 2, k + 1, projection="3d")
        _frame(axis, 1.0)
        _draw(axis, robot, robot.poses["home"])
        axis.set_title(title, fontsize=11, y=-0.02)
    figure.subplots_adjust(0, 0, 1, 1, 0, 0)
    return figure


def other_formats(names: Names) -> Figure:
    figure, axis = _scene(0.6)
    _draw(axis, names["arm"], names["arm"].poses.get("ready", np.zeros(names["arm"].n)))
    return figure


def trajectories(names: Names) -> Figure:
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.0, 3.6), layout="constrained")
    via = names["via"]
    t = np.linspace(0, via.duration, 400)
    left.plot(t, np.degrees(via.sample(t).q[:, [0, 1]]))
    left.set(xlabel="t (s)", ylabel="joints (deg)", title="through via points")
    for motion, label in ((names["motion"], "as planned"), (names["slower"], "within all limits")):
        t = np.linspace(0, motion.duration, 400)
        right.plot(t, motion.sample(t).qd[:, 1], label=label)
    right.set(xlabel="t (s)", ylabel="speed of the elbow (rad/s)", title="tool on a circle")
    right.legend()
    return figure


def control(names: Names) -> Figure:
    figure, axis = plt.subplots(figsize=(7.0, 3.8), layout="constrained")
    for name in names["names"]:
        law: Any = names["controllers"]()[name]()
        result = track(names["arm"], law, sines(names["arm"]), t_end=2.0)
        axis.semilogy(result.run.t, 1e-9 + np.abs(result.error).max(axis=1), label=name)
    axis.set(xlabel="t (s)", ylabel="max joint error (rad)", title="puma560 on sines")
    axis.legend(fontsize=8, ncols=2)
    return figure


def recording(names: Names) -> Figure:
    return names["run"].plot("scara1.q")


PICTURES: dict[str, Callable[[Names], Figure]] = {
    "00_hello_arm": hello_arm,
    "01_inverse_kinematics": inverse_kinematics,
    "02_custom_robot": custom_robot,
    "03_other_formats": other_formats,
    "04_trajectories": trajectories,
    "05_control": control,
    "08_recording": recording,
}


def _scene(size: float) -> tuple[Figure, Any]:
    figure = plt.figure(figsize=(8.0, 7.4))
    axis: Any = figure.add_axes((0, 0, 1, 1), projection="3d")
    _frame(axis, size)
    return figure, axis


def _frame(axis: Any, size: float) -> None:
    axis.set(xlim=(-size, size), ylim=(-size, size), zlim=(0, 2 * size))
    axis.set_box_aspect((1, 1, 1), zoom=1.5)
    axis.view_init(20, -50)
    axis.set_axis_off()


def _draw(axis: Any, arm: brazo.Robot, q: np.ndarray) -> None:
    """Draw the solids of a robot, shaded."""
    drawn = shaded_triangles(arm.frames(q), arm.parts)
    assert drawn is not None, f"{arm.name} has too many triangles"
    corners, colors = drawn
    axis.add_collection3d(Poly3DCollection(corners, facecolors=colors, antialiased=False))


def _axes(axis: Any, T: np.ndarray, length: float) -> None:
    for k, color in enumerate(("#d62728", "#2ca02c", "#1f77b4")):
        end = T[:3, 3] + length * T[:3, k]
        axis.plot(*np.stack([T[:3, 3], end], -1), color=color, lw=2, zorder=10)


def _save(figure: Figure, path: Path, margin: int = 12) -> None:
    """Write a figure without the white around it."""
    buffer = io.BytesIO()
    figure.savefig(buffer, dpi=130)
    plt.close(figure)
    image = Image.open(buffer).convert("RGB")
    box = ImageChops.difference(image, Image.new("RGB", image.size, "white")).getbbox()
    assert box is not None, f"{path.name} is empty"
    low = [max(0, value - margin) for value in box[:2]]
    high = [min(size, value + margin) for value, size in zip(box[2:], image.size, strict=True)]
    image.crop((low[0], low[1], high[0], high[1])).save(path, quality=80)


def main(chosen: list[str]) -> None:
    OUT.mkdir(parents=True, exist_ok=True)
    for stem, draw in PICTURES.items():
        if chosen and stem[:2] not in chosen:
            continue
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            with contextlib.redirect_stdout(io.StringIO()):
                names = runpy.run_path(os.fspath(ROOT / "examples" / f"{stem}.py"))
            figure = draw(names)
        _save(figure, OUT / f"{stem}.webp")
        print(stem)


if __name__ == "__main__":
    main(sys.argv[1:])
