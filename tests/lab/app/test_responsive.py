"""The interpreter's settings while a lab is open."""

from __future__ import annotations

import gc
import sys
import weakref

import pytest

from brazo.lab.app import responsive
from brazo.lab.app.responsive import DUE, LATEST, SWITCH_INTERVAL, THRESHOLDS


class Cyclic:
    def __init__(self) -> None:
        self.itself = self


@pytest.fixture
def settings():
    responsive.begin()
    yield
    responsive.end()


def frozen_garbage() -> weakref.ref[Cyclic]:
    one = Cyclic()
    gc.collect()  # freezes it
    return weakref.ref(one)


def test_a_lab_switches_threads_often_and_restores_what_was_set(running):
    before, thresholds, callbacks = sys.getswitchinterval(), gc.get_threshold(), len(gc.callbacks)
    with running() as first, running():
        assert sys.getswitchinterval() <= SWITCH_INTERVAL * 1.01
        assert gc.get_freeze_count() > 10_000
        assert gc.get_threshold() == THRESHOLDS
        first.stop()
        assert sys.getswitchinterval() <= SWITCH_INTERVAL * 1.01
        assert gc.get_threshold() == THRESHOLDS
    assert sys.getswitchinterval() == before
    assert gc.get_freeze_count() == 0
    assert gc.get_threshold() == thresholds
    assert len(gc.callbacks) == callbacks


def test_a_full_collection_does_not_visit_what_survived_an_earlier_one(settings):
    kept = [Cyclic() for _ in range(1000)]
    gc.collect()
    assert len(gc.get_objects()) < len(kept)


def test_frozen_garbage_is_collected_when_the_lab_is_idle_and_it_is_due(settings):
    garbage = frozen_garbage()
    responsive.rest()
    assert garbage() is not None  # not yet due
    for _ in range(DUE):
        gc.collect()
    responsive.rest()
    assert garbage() is None


def test_frozen_garbage_is_collected_at_the_latest_after_a_number_of_collections(settings):
    garbage = frozen_garbage()
    for _ in range(LATEST + 1):
        gc.collect()
    assert garbage() is None
