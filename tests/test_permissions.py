"""Folders and files that only their owner may write."""

import contextlib
import os
import stat

import pytest

import brazo
from brazo.codegen import cache
from brazo.permissions import make_private, prune, read_secret
from brazo.simulation.dump import own_folder, prepare_folder

unix = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="Unix permissions")
as_root = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give a folder away"
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("BRAZO_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(cache, "_refused", set())
    return tmp_path / "cache"


@unix
def test_cache_and_dumps_are_private(folder):
    assert cache.store("key", b"code") and cache.load("key") == b"code"
    dumps = own_folder()
    assert dumps is not None
    prepare_folder(dumps)
    for path in (folder, dumps):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / "key.obj").stat().st_mode) == 0o600


@unix
@pytest.mark.parametrize("mode", [0o770, 0o702, 0o777, 0o1777])
def test_cache_writable_by_others_is_rejected_with_one_warning(folder, mode, recwarn):
    assert cache.store("key", b"code")
    folder.chmod(mode)
    assert cache.load("key") is None and not cache.store("other", b"code")
    assert cache.load("key") is None
    (warning,) = [w for w in recwarn if w.category is RuntimeWarning]
    text = str(warning.message)
    assert "without a cache" in text and str(folder) in text and "chmod 700" in text
    folder.chmod(0o700)
    assert cache.load("key") == b"code"


@unix
@as_root
def test_cache_of_another_user_is_rejected(folder, recwarn):
    assert cache.store("key", b"code")
    os.chown(folder / "key.obj", 65534, 65534)
    assert cache.load("key") is None  # one planted file
    assert cache.store("key", b"code") and cache.load("key") == b"code"
    os.chown(folder, 65534, 65534)
    assert cache.load("key") is None and not cache.store("other", b"code")
    assert any("another user (uid 65534" in str(w.message) for w in recwarn)
    with pytest.raises(brazo.BrazoError, match="another user"):
        make_private(folder)


@unix
def test_cached_file_writable_by_others_is_not_loaded(folder):
    assert cache.store("key", b"code")
    (folder / "key.obj").chmod(0o620)
    assert cache.load("key") is None


def test_prune_limits_number_and_size(tmp_path):
    for k in range(6):
        path = tmp_path / f"{k}.obj"
        path.write_bytes(bytes(100))
        os.utime(path, (k, k))
    (tmp_path / "other.txt").write_bytes(bytes(1000))

    def left():
        return sorted(path.stem for path in tmp_path.glob("*.obj"))

    prune(tmp_path, ".obj", files=4, size=10_000)
    assert left() == ["2", "3", "4", "5"]
    prune(tmp_path, ".obj", files=4, size=250)
    assert left() == ["4", "5"]
    prune(tmp_path, ".obj", files=4, size=10)
    assert left() == ["5"] and (tmp_path / "other.txt").exists()


def test_prune_skips_a_file_that_disappears(tmp_path, monkeypatch):
    for k in range(3):
        path = tmp_path / f"{k}.obj"
        path.touch()
        os.utime(path, (k, k))
    listed = os.scandir

    @contextlib.contextmanager
    def scandir(folder):
        with listed(folder) as entries:
            found = list(entries)
        (tmp_path / "1.obj").unlink()
        yield iter(found)

    monkeypatch.setattr(os, "scandir", scandir)
    prune(tmp_path, ".obj", files=1, size=10_000)
    assert [path.name for path in tmp_path.iterdir()] == ["2.obj"]


def test_token_is_read_only_from_a_private_file(tmp_path):
    path = tmp_path / "token"
    path.write_text("a token for two machines\n")
    path.chmod(0o600)
    assert read_secret(path) == "a token for two machines"
    if hasattr(os, "geteuid"):
        path.chmod(0o640)
        with pytest.raises(brazo.BrazoError, match="chmod 600"):
            read_secret(path)
    with pytest.raises(brazo.BrazoError, match="cannot be read"):
        read_secret(tmp_path / "none")
