"""Imports of studies: every public name on first use, nothing of them at the start of the lab."""

import subprocess
import sys

import pytest

from brazo import study


def test_every_public_name_is_found() -> None:
    assert set(study.__all__) == set(study._MODULES) <= set(dir(study))
    for name in study.__all__:
        found = getattr(study, name)
        assert found.__name__ == name and found.__module__.startswith("brazo.study.")
    with pytest.raises(AttributeError, match=r"'brazo.study' has no attribute 'Studdy'"):
        _ = study.Studdy


def test_the_lab_starts_without_studies() -> None:
    code = (
        "import sys, brazo.study, brazo.lab.app.lab\n"
        "print(*(name for name in sys.modules if name.startswith('brazo.study.')))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == []
