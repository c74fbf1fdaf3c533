"""Which OpenGL is used, and what is said where there is none."""

from __future__ import annotations

import pytest

from brazo.errors import BrazoError
from brazo.video import offscreen


@pytest.fixture(autouse=True)
def fresh():
    offscreen.backend.cache_clear()
    yield
    offscreen.backend.cache_clear()


def test_the_first_backend_that_works_is_taken(monkeypatch):
    tried = []

    def failure(name):
        tried.append(name)
        return None if name == "osmesa" else "no driver"

    monkeypatch.delenv("MUJOCO_GL", raising=False)
    monkeypatch.setattr(offscreen.sys, "platform", "linux")
    monkeypatch.setattr(offscreen, "_failure", failure)
    assert offscreen.backend() == "osmesa"
    assert tried == ["egl", "osmesa"]


def test_without_opengl_the_packages_to_install_are_named(monkeypatch):
    monkeypatch.delenv("MUJOCO_GL", raising=False)
    monkeypatch.setattr(offscreen.sys, "platform", "linux")
    monkeypatch.setattr(offscreen, "_failure", lambda name: "no driver")
    with pytest.raises(BrazoError, match=r"egl: no driver; osmesa: no driver.*libegl1.*libosmesa6"):
        offscreen.backend()


def test_the_environment_selects_a_backend(monkeypatch):
    monkeypatch.setattr(offscreen.sys, "platform", "linux")
    monkeypatch.setenv("MUJOCO_GL", "osmesa")
    assert offscreen.candidates() == ("osmesa",)
    for value, said in (("off", "switches OpenGL off"), ("vulkan", "egl, osmesa, glfw")):
        monkeypatch.setenv("MUJOCO_GL", value)
        with pytest.raises(BrazoError, match=said):
            offscreen.candidates()


def test_a_backend_is_tried_in_a_process_of_its_own():
    assert "nowhere" in (offscreen._failure("nowhere") or "")
