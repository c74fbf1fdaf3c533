"""Functions of xacro that are replaced: each is called, and no file is expanded without them."""

import pytest
import xacro

import brazo
from brazo.errors import BrazoError
from brazo.internals import xacro as internals

ARM = """<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">
<xacro:property name="a" value="${1 + 1}"/><link name="l${a}"/></robot>"""


@pytest.fixture(autouse=True)
def checked_again():
    internals.unusable.cache_clear()
    yield
    internals.unusable.cache_clear()


def test_every_replacement_is_called():
    assert internals.unusable() is None


@pytest.mark.parametrize("name", ["safe_eval", "NameSpace", "re_macro_arg"])
def test_missing_part_is_detected(monkeypatch, name):
    monkeypatch.delattr(xacro, name)
    assert name in str(internals.unusable())


def test_bypassed_replacement_is_detected(monkeypatch):
    monkeypatch.setattr(xacro, "eval_text", lambda text, symbols: text)
    assert "safe_eval" in str(internals.unusable())


def test_xacro_is_as_before_after_the_check():
    before = dict(vars(xacro))
    internals.unusable()
    assert {name: vars(xacro)[name] for name in internals.FUNCTIONS} == {
        name: before[name] for name in internals.FUNCTIONS
    }


def test_without_them_xacro_files_are_refused_and_urdf_is_read(monkeypatch, tmp_path):
    monkeypatch.setattr(internals, "unusable", lambda: "forced by the test")
    file = tmp_path / "arm.xacro"
    file.write_text(ARM)
    with pytest.raises(BrazoError, match=r"forced by the test; install xacro 2.1.1, or expand"):
        brazo.load(file)
