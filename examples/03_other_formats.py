"""# URDF and MJCF

URDF, xacro and MJCF files load like robot files, and every robot can be exported as URDF or MJCF.
Missing data, such as masses, is reported and never guessed.
"""

import tempfile
from pathlib import Path

import numpy as np

import brazo
from brazo.formats.mjcf.writer import export_mjcf
from brazo.formats.urdf.writer import export_urdf

folder = Path(tempfile.mkdtemp())
arm = brazo.load("rv2aj")
export_urdf(arm.model, folder / "rv2aj.urdf")
export_mjcf(arm.model, folder / "rv2aj.xml")

q = arm.random_q(1000, seed=2)
for name in ("rv2aj.urdf", "rv2aj.xml"):
    again = brazo.load(folder / name)
    gap = np.abs(again.fk(q) - arm.fk(q)).max()
    print(f"{name}: {again.n} joints, poses differ by {gap:.1e}")
    for finding in again.findings[:2]:
        print("  ", finding.message)
