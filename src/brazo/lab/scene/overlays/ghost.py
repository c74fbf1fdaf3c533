"""Reference robots (ghosts): each robot at its reference position, in transparent blue."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from brazo.body.solids import mesh
from brazo.lab.scene.figure import visible_parts
from brazo.lab.scene.overlays.base import Overlay
from brazo.lab.server import hooks

if TYPE_CHECKING:
    from brazo.lab.scene.shown import Shown
    from brazo.lab.scene.snapshot import Snapshot

BLUE, OPACITY = (51, 133, 255), 0.3


class DesiredRobots(Overlay):
    """Transparent copies of the robots at their reference positions."""

    id, title = "desired", "Reference robot (ghost)"
    hint = "Robots at their reference positions, in blue."

    def build(self, sim: Shown) -> None:
        from brazo.lab.scene.scene import STILL, node_name, placed

        self._still, self._placed = STILL, placed
        scene = self.scene.server.scene
        self._robots = []
        for k, (name, robot) in enumerate(sim.robots.items()):
            nodes = []
            for i, parts in enumerate(visible_parts(robot.arm)):
                node = f"{self.scene.root}/desired-{k}-{i}"
                self.handles.append(scene.add_frame(node, show_axes=False))
                nodes.append(node)
                for j, part in enumerate(parts):
                    surface = mesh(part.shape)
                    _, position, wxyz = placed([""], part.pose[None])[0]
                    scene.add_mesh_simple(
                        f"{node}/{node_name(part.name)}-{j}",
                        surface.vertices,
                        surface.faces,
                        color=BLUE,
                        opacity=OPACITY,
                        position=position,
                        wxyz=wxyz,
                        cast_shadow=False,
                        receive_shadow=False,
                    )
            shown = np.full((len(nodes), 4, 4), np.nan)
            self._robots.append((name, robot.arm, np.array(robot.base), nodes, shown))

    def update(self, snapshot: Snapshot) -> None:
        moves: list[hooks.Pose] = []
        for name, arm, base, nodes, shown in self._robots:
            poses = base @ arm.frames(snapshot.references[name])
            changed = np.flatnonzero(~(np.abs(poses - shown).max(axis=(1, 2)) <= self._still))
            if len(changed):
                shown[changed] = poses[changed]
                moves += self._placed([nodes[i] for i in changed], poses[changed])
        if moves:
            hooks.move(self.scene.server, moves)
