"""An emulated headset: IWER of `tools/javascript`, installed in a page before its scripts run."""

from __future__ import annotations

import sys
from pathlib import Path

IWER = Path(sys.prefix) / "javascript/node_modules/iwer/build/iwer.min.js"
IPD = 0.064  # m
FOVY = 0.7  # rad; narrower than a headset's, for more pixels per degree
HEIGHT = 1.6  # m above the floor

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
