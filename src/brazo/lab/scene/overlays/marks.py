"""Overlays attached to bodies: link frames, centres of mass and names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from brazo.body.solids import mesh
from brazo.lab.scene.overlays.base import Overlay
from brazo.model.shapes import Sphere

if TYPE_CHECKING:
    from brazo.lab.scene.shown import Shown

MASS_COLOR = (250, 204, 21)


class LinkFrames(Overlay):
    """Overlay with the frames of all robot links; bodies are transparent to show the frames."""

    id, title = "axes", "Link frames"
    hint = "Axes of each link: x red, y green, z blue; the links are transparent."

    def build(self, sim: Shown) -> None:
        for name in sim.robots:
            for i in sim.world.robots[name].drawn:
                node = f"{self.scene.names[i]}/axes"
                self.handles.append(self.scene.add_axes(node, 0.06 * self.scene.size))
        self.scene.colors.see_through = True

    def remove(self) -> None:
        super().remove()
        self.scene.colors.see_through = False


class MassCentres(Overlay):
    """Overlay with spheres at the centres of mass; heavier bodies have larger spheres."""

    id, title = "com", "Centres of mass"
    hint = "Spheres at the centres of mass; heavier bodies have larger spheres."

    def build(self, sim: Shown) -> None:
        world = sim.world
        model = world.mj_model
        found = {}
        for i, one in enumerate(world.drawn):
            if one.body is not None and float(model.body_mass[one.body.id]) > 0.0:
                found.setdefault(int(one.body.id), i)
        heaviest = max((float(model.body_mass[b]) for b in found), default=1.0)
        for body, i in found.items():
            share = (float(model.body_mass[body]) / heaviest) ** (1.0 / 3.0)
            ball = mesh(Sphere((0.006 + 0.014 * share) * self.scene.size))
            handle = self.scene.server.scene.add_mesh_simple(
                f"{self.scene.names[i]}/com",
                ball.vertices,
                ball.faces,
                color=MASS_COLOR,
                position=model.body_ipos[body],
                cast_shadow=False,
                receive_shadow=False,
            )
            self.handles.append(handle)


class Labels(Overlay):
    """Overlay with the names of robots and free bodies."""

    id, title = "labels", "Labels"
    hint = "Names of robots and bodies."

    def build(self, sim: Shown) -> None:
        world = sim.world
        scene = self.scene.server.scene
        places = {name: int(world.robots[name].drawn[0]) for name in sim.robots}
        places |= {one.name: i for i, one in enumerate(world.drawn) if one.kind == "object"}
        for name, i in places.items():
            handle = scene.add_label(
                f"{self.scene.names[i]}/label", name, anchor="bottom-center", font_screen_scale=0.8
            )
            self.handles.append(handle)
