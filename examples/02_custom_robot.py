"""# A custom robot

A robot is described by a YAML file: names, a D-H table, and optional data.  Numbers may have units
and may be expressions of parameters; a changed parameter rebuilds the model.  Errors contain file,
line and field.
"""

import tempfile
from pathlib import Path

import numpy as np

import brazo

TEXT = """\
name: crane
about: A small crane, made up for this example.
parameters: {H: 60cm, L1: 45cm, reach: 30cm}
joints:
  - {name: slew, d: H, alpha: 90deg, limits: [-170deg, 170deg]}
  - {name: boom, offset: 90deg, alpha: 90deg, limits: [-20deg, 40deg]}
  - {name: telescope, type: prismatic, offset: L1, limits: [0, reach]}
poses: {home: [0, 30deg, 10cm]}
"""

folder = Path(tempfile.mkdtemp())
path = folder / "crane.yaml"
path.write_text(TEXT, encoding="utf-8")

crane = brazo.load(path)
print(crane, "mobility", crane.mobility)
print("tool at home:", crane.fk(crane.poses["home"])[:3, 3].round(3))

longer = crane.with_parameters(L1=0.9)
print("with a longer boom:", longer.fk(longer.poses["home"])[:3, 3].round(3))

path.write_text(TEXT.replace("45cm", "45kg"), encoding="utf-8")
try:
    brazo.load(path)
except brazo.BrazoError as error:
    print("rejected:", str(error).replace(str(folder), "…"))

point = crane.fk(np.array([0.4, 0.5, 0.2]))[:3, 3]
print("back from a point:", crane.ik(point).q.round(6))
