"""The shipped assembly of the RV-2AJ is the one its script makes, on the axes of the paper."""

from __future__ import annotations

import numpy as np
import pytest
import rv2aj_assembly as assembly

from brazo.body.binary_stl import read_binary_stl
from brazo.body.mesh_inertia import open_edges, solid_inertia
from brazo.formats.library import mesh_directory

FOLDER = mesh_directory() / "rv2aj"


def test_the_shipped_meshes_are_those_of_the_script(tmp_path):
    files = assembly.mesh_files()
    shipped = {path.name for path in FOLDER.glob("*.stl")}
    assert shipped == files.keys()
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
        made, kept = (read_binary_stl(folder / name, 10**5) for folder in (tmp_path, FOLDER))
        assert open_edges(*kept) == 0
        one, other = solid_inertia(*made, 1.0), solid_inertia(*kept, 1.0)
        assert one.mass == pytest.approx(other.mass, rel=1e-6)
        np.testing.assert_allclose(one.com, other.com, atol=1e-7)
        assert len(data) < 500_000


def test_the_step_file_has_seven_named_products_and_is_small():
    text = (FOLDER / "rv2aj.step").read_text()
    assert len(text) < 500_000
    for name in assembly.PARTS:
        assert f"PRODUCT('{name}'," in text
    assert text.count("NEXT_ASSEMBLY_USAGE_OCCURRENCE") == 7


def test_the_fingers_end_at_the_tool_tip_of_the_paper():
    casting, trim = assembly.parts()["end-effector"]
    assert (casting + trim).bounding_box()[5] == pytest.approx(0.8521, abs=1e-9)
    tip = assembly.C + 0.1446
    assert tip == pytest.approx(0.2975 + 0.250 + 0.160 + 0.1446)
