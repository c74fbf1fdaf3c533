"""VRML 2.0: shapes, placements, names and colours, against trimesh and a matrix by hand."""

from __future__ import annotations

import numpy as np
import pytest
import trimesh
from scipy.spatial.transform import Rotation

from brazo.body.vrml import read_vrml
from brazo.errors import BrazoError

HEAD = "#VRML V2.0 utf8\n"


def read(text: str):
    return read_vrml((HEAD + text).encode(), 10_000)


def solid(shape) -> trimesh.Trimesh:
    return trimesh.Trimesh(shape.vertices, shape.faces)


@pytest.mark.parametrize(
    ("text", "volume", "extents"),
    [
        ("Box { size 1 2 3 }", 6.0, (1, 2, 3)),
        ("Cylinder { radius 0.5 height 2 }", np.pi * 0.25 * 2, (1, 2, 1)),
        ("Cone { bottomRadius 0.5 height 3 }", np.pi * 0.25, (1, 3, 1)),
        ("Sphere { radius 0.5 }", np.pi / 6, (1, 1, 1)),
        ("Box {}", 8.0, (2, 2, 2)),
    ],
)
def test_primitives_are_closed_and_have_their_volume(text, volume, extents):
    (shape,) = read(f"Shape {{ geometry {text} }}")
    mesh = solid(shape)
    assert mesh.is_watertight and mesh.is_winding_consistent
    assert mesh.volume == pytest.approx(volume, rel=0.02)  # round ones have 32 sides
    np.testing.assert_allclose(mesh.extents, extents, rtol=1e-12)


def test_faces_with_more_corners_are_fans_and_their_direction_counts():
    points = "point [ 0 0 0, 1 0 0, 1 1 0, 0 1 0, 0.5 0.5 1 ]"
    index = "coordIndex [ 3 2 1 0 -1, 0 1 4 -1, 1, 2, 4, -1 2 3 4 -1 3 0 4 ]"
    for ccw, sign in (("TRUE", 1.0), ("FALSE", -1.0)):
        (shape,) = read(
            "Shape { geometry IndexedFaceSet { coord Coordinate { "
            f"{points} }} ccw {ccw} solid FALSE {index} }} }} # a pyramid"
        )
        assert solid(shape).volume == pytest.approx(sign / 3.0)


def test_comments_may_be_anywhere_in_a_list_of_numbers():
    (shape,) = read(
        """Shape { geometry IndexedFaceSet {
          coord Coordinate { point [ # x y z ] of "corners" {
            0 0 0, 1e0 0 0,  # the second
            0 1 0 #]
          ] }
          coordIndex [0 1 2 -1 # one face
          ] } }"""
    )
    np.testing.assert_array_equal(shape.vertices, [[0, 0, 0], [1, 0, 0], [0, 1, 0]])
    np.testing.assert_array_equal(shape.faces, [[0, 1, 2]])


def test_scripts_and_their_declarations_are_skipped():
    (shape,) = read(
        """DEF turn Script {
          eventIn SFTime start  eventOut SFRotation value_changed
          field SFFloat speed 0.5  field MFString names [ "a" "b" ]  field SFNode target NULL
          field SFBool on TRUE
          url "javascript: function start(t) { value_changed = [0, 1]; }"
          directOutput FALSE
        }
        Shape { geometry Box { size 1 2 3 } }
        ROUTE turn.value_changed TO turn.start"""
    )
    assert solid(shape).volume == pytest.approx(6.0)


def test_transforms_nest_as_the_standard_says():
    (shape,) = read(
        """DEF outer Transform {
          translation 1 2 3  rotation 0 0 1 0.5  center 0.1 0.2 0.3  scale 2 3 4
          scaleOrientation 1 0 0 0.3
          children [ DEF inner Transform { rotation 1 1 0 0.7 children Shape { geometry Box {} } } ]
        }"""
    )
    turn, skew = Rotation.from_rotvec([0, 0, 0.5]), Rotation.from_rotvec([0.3, 0, 0])
    inner = Rotation.from_rotvec(0.7 * np.array([1, 1, 0]) / np.sqrt(2))
    centre = np.array([0.1, 0.2, 0.3])
    corners = inner.apply(trimesh.creation.box((2, 2, 2)).vertices) - centre
    corners = skew.apply(skew.inv().apply(corners) * (2, 3, 4))
    expected = turn.apply(corners) + centre + (1, 2, 3)
    order = [np.lexsort(np.round(v, 9).T) for v in (shape.vertices, expected)]
    np.testing.assert_allclose(shape.vertices[order[0]], expected[order[1]], atol=1e-13)
    assert shape.names == ("outer", "inner")


def test_names_uses_colours_and_what_is_not_drawn():
    shapes = read(
        """NavigationInfo { type "EXAMINE" headlight TRUE }
        DEF red Shape {
          appearance Appearance { material Material { diffuseColor 1 0 0.5 } } geometry Sphere {}
        }
        DEF sensor TouchSensor {}
        Group { children [ USE red  Switch { choice [ Shape { geometry Box {} } ] } ] }
        LOD { level [ Shape { geometry Box {} } Shape { geometry Sphere {} } ] }
        ROUTE sensor.isOver TO red.set_scale
        """
    )
    assert [shape.color for shape in shapes] == [(1.0, 0.0, 0.5)] * 2 + [None]
    assert [len(shape.vertices) == 8 for shape in shapes] == [False, False, True]
    assert shapes[0].names == ("red",)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Shape { geometry USE nothing }", "no node has this name"),
        ("PROTO A [] { Box {} }", "prototypes"),
        ("Shape { geometry Extrusion {} }", "Extrusion"),
        ("Shape { 5 }", "expected a field"),
        ("7", "expected a node"),
        ('WorldInfo { title "x', "a string does not end"),
        ("Transform { translation 1 2 children [] }", "translation must have 3 numbers"),
        ("Shape { geometry IndexedFaceSet { coord Coordinate { point [0 0 0 1] } "
         "coordIndex [0 0 0] } }", "expected a multiple of 3"),
        ("Shape { geometry IndexedFaceSet { coord Coordinate { point [0 0 0 1 1 1] } "
         "coordIndex [0 1 7 -1] } }", "vertices are 0 to 1"),
        ("Shape { geometry IndexedFaceSet { coord Coordinate { point [0 0 0 1 1 1] } "
         "coordIndex [0 1 0.5 -1] } }", "not a whole number"),
    ],
)  # fmt: skip
def test_mistakes_are_reported_with_a_reason(text, said):
    with pytest.raises(BrazoError, match=said):
        read(text)
