"""The type checker runs again after every change of what it reads."""

from __future__ import annotations

from type_check import fingerprint


def test_every_change_gives_another_fingerprint(tmp_path):
    settings, code = tmp_path / "pyproject.toml", tmp_path / "src" / "a.py"
    settings.write_text('[tool.pyright]\ninclude = ["src"]\n')
    code.parent.mkdir()
    code.write_text("x = 1\n")
    found = [fingerprint(tmp_path)]
    assert fingerprint(tmp_path) == found[0]
    code.write_text("x = 2\n")
    found.append(fingerprint(tmp_path))
    (code.parent / "b.pyi").write_text("y: int\n")
    found.append(fingerprint(tmp_path))
    code.rename(code.with_name("c.py"))
    found.append(fingerprint(tmp_path))
    settings.write_text('[tool.pyright]\ninclude = ["src"]\ntypeCheckingMode = "strict"\n')
    found.append(fingerprint(tmp_path))
    assert len(set(found)) == len(found)
