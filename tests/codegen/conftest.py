"""Compiled objects of these tests are written to a separate directory."""

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def _objects(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("objects")


# Of the module: tests of other folders in the same process use the cache that all processes share.
@pytest.fixture(autouse=True, scope="module")
def _own_cache(_objects):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BRAZO_CACHE_DIR", str(_objects))
        yield
