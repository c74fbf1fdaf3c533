"""A spoilt URDF gives a model or a `BrazoError`, never anything else."""

from __future__ import annotations

import copy

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from brazo.errors import BrazoError
from brazo.model.etree import etree
from brazo.model.motion import body_poses
from brazo.model.urdf.reader import read_urdf
from brazo.model.urdf.writer import write_urdf
from tests.model.urdf.sample import SAMPLE

ROOT = etree.fromstring(SAMPLE.encode())
ODD = st.one_of(
    st.sampled_from(
        ["", " ", "nan", "inf", "-inf", "1e400", "-1e308", "1e308 1e308 1e308", "1 2", "0 0 0"]
        + [
            "0,0,1",
            "0x10",
            "1e-320",
            "½",
            "1 2 3 4",
            "..",
            "${x}",
            "$(find a)",
            "true",
            "base_link",
        ]
        + ["upper", "left", "pan", "fixed", "floating", "prismatic", "package://", "file://"]
        + ["package://a/../../b.stl", "//", "C:\\a.stl", "a\x85b", "-0", "1e9", "9" * 400]
    ),
    st.floats(allow_nan=True).map(repr),
    st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), max_size=12),
)


@st.composite
def spoilt(draw, whole=ROOT) -> bytes:
    """A document with a few elements, attributes and bytes changed."""
    root = copy.deepcopy(whole)
    for _ in range(draw(st.integers(1, 5))):
        items = list(root.iter())
        one, other = (draw(st.sampled_from(items)) for _ in range(2))
        match draw(st.sampled_from(["set", "drop", "cut", "copy", "move", "tag", "more"])):
            case "set" if one.attrib:
                one.set(draw(st.sampled_from(sorted(one.attrib))), draw(ODD))
            case "drop" if one.attrib:
                del one.attrib[draw(st.sampled_from(sorted(one.attrib)))]
            case "cut" if one is not root:
                one.getparent().remove(one)
            case "copy":
                root.append(copy.deepcopy(one))
            case "move" if one is not root and one not in list(other.iterancestors()):
                if other is not one:
                    other.append(one)
            case "tag":
                one.tag = draw(st.sampled_from(["link", "joint", "origin", "inertia", "x", "mesh"]))
            case "more":
                one.set(draw(st.sampled_from(["name", "xyz", "rpy", "type", "link"])), draw(ODD))
    data = etree.tostring(root)
    if draw(st.integers(0, 3)) == 0:
        at = draw(st.integers(0, len(data) - 1))
        data = data[:at] + draw(st.binary(max_size=3)) + data[at + draw(st.integers(0, 30)) :]
    return data


@settings(max_examples=500, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=spoilt())
def test_a_spoilt_file_is_read_or_refused(data, tmp_path):
    path = tmp_path / "robot.urdf"
    path.write_bytes(data)
    try:
        model = read_urdf(path)
    except BrazoError as error:
        assert str(path) in str(error)
        return
    assert np.isfinite(body_poses(model, np.full(model.n, 0.3))).all()
    assert 0 <= model.tip < len(model.bodies)
    write_urdf(model)
    assert all(str(finding) for finding in model.findings)
