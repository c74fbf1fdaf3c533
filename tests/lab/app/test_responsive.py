"""The interpreter's settings while a lab is open."""

from __future__ import annotations

import gc
import sys

from brazo.lab.app.responsive import SWITCH_INTERVAL


def test_a_lab_switches_threads_often_and_restores_what_was_set(running):
    before = sys.getswitchinterval()
    with running() as first, running():
        assert sys.getswitchinterval() <= SWITCH_INTERVAL * 1.01
        assert gc.get_freeze_count() > 10_000
        first.stop()
        assert sys.getswitchinterval() <= SWITCH_INTERVAL * 1.01
    assert sys.getswitchinterval() == before
    assert gc.get_freeze_count() == 0
