"""The Dimensions panel without a browser."""

from __future__ import annotations


def test_a_body_of_meshes_has_no_width(running):
    with running("robot:rv2aj") as lab:
        found = []
        lab.do(lambda: found.append(lab.panels["dimensions"].html()))
    (html,) = found
    assert 'label="Width"' not in html
    assert "follow the parameters" in html
