"""The STEP assembly of the RV-2AJ and the tool tip of the paper."""

from __future__ import annotations

import pytest
import rv2aj_assembly as assembly

from brazo.formats.library import mesh_directory

FOLDER = mesh_directory() / "rv2aj"


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
