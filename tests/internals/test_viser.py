"""Undocumented parts of viser: there, and no lab without them."""

import socket

import pytest
import viser

from brazo.errors import BrazoError
from brazo.internals import viser as internals


@pytest.fixture(autouse=True)
def checked_again():
    internals.unusable.cache_clear()
    yield
    internals.unusable.cache_clear()


def test_the_parts_are_there():
    assert internals.unusable() is None


def test_another_release_is_noticed(monkeypatch):
    monkeypatch.setattr(viser, "__version__", "9.0.0")
    assert "9.0.0" in str(internals.unusable())


def test_a_part_that_is_missing_is_noticed(monkeypatch):
    monkeypatch.delattr(viser.ViserServer, "_run_garbage_collector")
    assert "_run_garbage_collector" in str(internals.unusable())


def test_without_them_no_server_starts(monkeypatch):
    monkeypatch.setattr(internals, "unusable", lambda: "forced by the test")
    with (
        socket.create_server(("127.0.0.1", 0)) as sock,
        pytest.raises(BrazoError, match=r"forced by the test.*pip install viser=="),
    ):
        internals.start(sock, lambda *_, **__: None)
