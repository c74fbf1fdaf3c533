"""Location of an error in user code."""

import runpy

import numpy as np
import pytest

from brazo.errors import BrazoError, at, user_place


def test_location_is_in_user_code_not_in_a_library(tmp_path):
    file = tmp_path / "own.py"
    file.write_text("import numpy as np\ndef f():\n    return np.linalg.inv(np.zeros((2, 2)))\n")
    own = runpy.run_path(str(file))
    with pytest.raises(np.linalg.LinAlgError) as raised:
        own["f"]()
    assert user_place(raised.value) == f"{file}:3"


def test_error_without_a_traceback_has_no_location():
    assert user_place(BrazoError("x")) == ""
    assert at("a.yaml", 3, "joints") == "a.yaml:3: joints: "
