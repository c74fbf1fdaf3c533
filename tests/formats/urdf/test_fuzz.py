"""A spoilt URDF gives a model or a `BrazoError`, never anything else."""

from __future__ import annotations

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from brazo.errors import BrazoError
from brazo.formats.urdf.reader import read_urdf
from brazo.formats.urdf.writer import write_urdf
from brazo.model.motion import body_poses
from tests.formats.urdf.sample import SAMPLE
from tests.fuzzing import spoil_xml


@settings(max_examples=500, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32))
def test_corrupted_file_is_read_or_rejected(seed, tmp_path):
    path = tmp_path / "robot.urdf"
    path.write_bytes(spoil_xml(np.random.default_rng(seed), SAMPLE.encode()))
    try:
        model = read_urdf(path)
    except BrazoError as error:
        assert str(path) in str(error)
        return
    assert np.isfinite(body_poses(model, np.full(model.n, 0.3))).all()
    assert 0 <= model.tip < len(model.bodies)
    write_urdf(model)
    assert all(str(finding) for finding in model.findings)
