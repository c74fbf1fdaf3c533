"""Compiled objects of a test session are written to a separate directory."""

import pytest


@pytest.fixture(autouse=True, scope="session")
def _own_cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BRAZO_CACHE_DIR", str(tmp_path_factory.mktemp("objects")))
        yield
