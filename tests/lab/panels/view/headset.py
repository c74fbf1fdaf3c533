"""An emulated headset: IWER of `tools/javascript`, installed in a page before its scripts run.

What its pictures have to show is computed with pinhole cameras.
"""

from __future__ import annotations

import base64
import io
import math
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from tests.lab.panels.acting import until

IWER = Path(sys.prefix) / "javascript/node_modules/iwer/build/iwer.min.js"
IPD = 0.064  # m
FOVY = 0.7  # rad; narrower than a headset's, for more pixels per degree
HEIGHT = 1.6  # m above the floor
DOWN = math.radians(-25)  # pitch of the head

# Frames come at about 7 Hz, which leaves the processor for what is tested.
# IWER 2.5.0 ignores the transform of `getOffsetReferenceSpace`: it takes it for a matrix.
INSTALL = f"""
    window.headset = new IWER.XRDevice(IWER.metaQuest3, {{
        ipd: {IPD}, fovy: {FOVY}, stereoEnabled: true,
    }});
    headset.installRuntime({{ forceInstall: true }});
    headset.position.set(0, {HEIGHT}, 0);
    const {{ prototype }} = XRReferenceSpace;
    const offset = prototype.getOffsetReferenceSpace;
    const frame = window.requestAnimationFrame;
    window.requestAnimationFrame = (call) =>
        call.name === "onDeviceFrame" ? setTimeout(() => frame(call), 120) : frame(call);
    prototype.getOffsetReferenceSpace = function (by) {{ return offset.call(this, by.matrix); }};
"""


def script() -> str:
    """Script that gives a page a headset with two controllers."""
    return IWER.read_text("utf-8") + ";" + INSTALL


@dataclass
class Headset:
    """A page with an emulated headset, and the lab behind it."""

    opened: Any

    @property
    def lab(self):
        return self.opened.lab

    @property
    def page(self):
        return self.opened.page

    @property
    def presents(self) -> bool:
        return self.page.evaluate("() => Boolean(headset.activeSession)")

    def enter(self) -> None:
        """Begin a session and wait for its first frames."""
        self.opened.panel.get_by_role("button", name="Enter VR").click()
        until(self.page, lambda: self.presents)
        self.look(DOWN)
        self.frames(3)

    def frames(self, n: int) -> None:
        """Wait for so many frames of the headset."""
        self.page.evaluate(
            """(n) => new Promise((done) => {
                const session = headset.activeSession;
                const next = () => (n-- > 0 ? session.requestAnimationFrame(next) : done());
                next();
            })""",
            n,
        )

    def look(self, pitch: float) -> None:
        """Turn the head up or down (rad)."""
        half = pitch / 2
        turned = [math.sin(half), 0, 0, math.cos(half)]
        self.page.evaluate("(q) => headset.quaternion.set(...q)", turned)

    def hand(self, side: str, button: str = "", value: float = 0.0, stick=None) -> None:
        """Press a button of a controller, or move its stick to (right, up)."""
        if stick is not None:
            x, y = stick
            self.page.evaluate(
                "([s, x, y]) => headset.controllers[s].updateAxes('thumbstick', x, y)",
                [side, x, -y],
            )
        if button:
            self.page.evaluate(
                "([s, b, v]) => headset.controllers[s].updateButtonValue(b, v)",
                [side, button, value],
            )

    def rest(self) -> None:
        """Release everything and wait until the robot is at rest."""
        for side, buttons in (("left", "xy"), ("right", "ab")):
            self.hand(side, stick=(0, 0))
            for one in ("trigger", "squeeze", *(f"{b}-button" for b in buttons)):
                self.hand(side, one, 0.0)
        until(self.page, lambda: not self.lab.sim.moving and not self.keys.switch.held)
        if self.presents:
            self.frames(2)  # a press counts after the buttons were seen up

    @property
    def keys(self):
        return self.lab.panels["pendant"].keys

    def moves(self) -> None:
        """Hold a trigger and push a stick, and wait until the robot moves."""
        self.hand("left", stick=(0, 0.9))
        self.hand("right", "trigger", 1.0)
        until(self.page, lambda: self.keys.jog is not None and self.lab.sim.moving)

    def stays(self) -> None:
        """Wait until the robot is at rest, and for some frames more, with the trigger held."""
        until(self.page, lambda: not self.lab.sim.moving)
        self.frames(3)
        assert not self.lab.sim.moving and not self.keys.switch.held

    def picture(self) -> np.ndarray:
        """What is drawn on the canvas, (height, width, 3)."""
        url = self.page.evaluate("() => window.brazoViewer.canvas.toDataURL()")
        image = Image.open(io.BytesIO(base64.b64decode(url.split(",")[1])))
        return np.asarray(image.convert("RGB"), int)

    def marker(self) -> np.ndarray:
        """Position (3,) of the marker in three.js's world."""
        return np.array(
            self.page.evaluate(
                """() => {
                    const node = window.__viserMutable.nodeRefFromName["/marker"];
                    node.updateWorldMatrix(true, false);
                    return node.matrixWorld.elements.slice(12, 15);
                }"""
            )
        )

    def camera(self) -> tuple[np.ndarray, np.ndarray]:
        """Position (3,) and rotation (3, 3) of viser's camera."""
        m = self.page.evaluate("() => window.__viserMutable.camera.matrixWorld.elements")
        T = np.reshape(m, (4, 4)).T
        return T[:3, 3], T[:3, :3]


def centres(picture: np.ndarray) -> list[np.ndarray]:
    """Centre (x, y) of the magenta marker in the left and the right half, in pixels of the half."""
    width = picture.shape[1] // 2
    found = []
    for half in (picture[:, :width], picture[:, -width:]):
        red, green, blue = np.moveaxis(half, -1, 0)
        y, x = np.nonzero((red - green > 60) & (blue - green > 60))
        found.append(
            np.array([x.mean() + 0.5, y.mean() + 0.5]) if len(x) > 20 else np.full(2, -99.0)
        )
    return found


def projected(point, eye, R, focal: float, width: float, height: float) -> np.ndarray:
    """Pixel (x, y) of a point for a pinhole camera that looks along its -z axis."""
    x, y, z = R.T @ (point - eye)
    assert z < 0
    return np.array([width / 2 - focal * x / z, height / 2 + focal * y / z])


def eyes(head, R, ipd: float) -> list[np.ndarray]:
    return [head + side * ipd / 2 * R[:, 0] for side in (-1, 1)]
