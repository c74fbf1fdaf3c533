"""Recording in the lab without a browser, and lengths that stay lengths."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="module")
def lab(running):
    with running("cooperative") as lab:
        yield lab


@pytest.fixture
def page(lab, line):
    with line(lab) as page:
        page.send(["pause"], ["reset"], ["panels-shown", ["data", "program", "dimensions"]])
        yield page
        page.send(["pause"], ["data/record-stop"])


def test_a_reset_ends_a_recording_and_says_so(lab, page):
    page.send(["data/record"], ["step", 20], ["reset"])
    assert not lab.sim.recording
    assert "the recording ended with the reset; what it has is kept" in page.told["notice"]["text"]


def test_whoever_records_then_resets_to_run_has_the_run(lab, page):
    page.send(["data/record"], ["step", 20], ["program/again"], ["pause"])
    assert "the recording begins anew, with the run" in page.told["notice"]["text"]
    assert lab.sim.recording
    page.send(["program/end"], ["data/record-stop"])
    assert not lab.sim.recording


def test_a_length_stays_above_nothing(lab, page):
    before = lab.robot.arm.model.parameters["L_base"]
    page.send(["dimensions/parameter-mm", "L_base", "-5"])
    page.send()
    assert "L_base cannot be -5 mm: a length is above 0" in page.told["notice"]["text"]
    assert lab.robot.arm.model.parameters["L_base"] == before
