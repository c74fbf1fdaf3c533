"""Equations in a browser: derived with progress, shown, cancelled, saved in four languages."""

from __future__ import annotations

import zipfile

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

import brazo
from tests.lab.panels.acting import drawn, show, typed, until

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def lab(running):
    with running("robot:scara2") as lab:
        lab.do(lab.sim.player.pause)
        yield lab


@pytest.fixture(scope="module")
def opened(lab, open_page):
    return open_page(lab, "equations")


@pytest.fixture
def page(opened) -> Page:
    return opened.page


@pytest.fixture
def panel(page) -> Locator:
    return show(page, "Equations")


def entry(panel: Locator, name: str) -> str:
    """The right side of an equation, spaces made plain."""
    line = panel.locator("brazo-sheet .entry").filter(has_text=name).first
    text = line.locator("span").last.text_content()  # also where it is not scrolled to
    assert text is not None
    return text.replace("\u202f", " ").replace("\u00a0", " ")


def saved(page: Page, panel: Locator, name: str, folder):
    with page.expect_download() as download:
        panel.get_by_role("button", name=name, exact=True).click()
    path = folder / download.value.suggested_filename
    download.value.save_as(path)
    return path


def test_derived_equations_have_textbook_form(lab, opened, page, panel):
    expect(panel.get_by_role("button", name="LaTeX")).to_be_disabled()
    panel.get_by_role("button", name="Derive").click()
    expect(panel.locator("brazo-sheet")).to_contain_text("Mass matrix")
    assert entry(panel, "C32").startswith("= (½ m3 + m4 + m5) L2 L3 s3")
    assert entry(panel, "G4") == "= −(m4 + m5) g"
    expect(panel.locator("brazo-sheet")).to_contain_text("c23 = cos(q2 + q3)")
    expect(page.locator(".brazo-jobs .job")).to_have_count(0)  # the sheet is there
    assert opened.errors == []


def test_they_are_saved_as_latex_c_python_and_octave(lab, page, panel, tmp_path):
    latex = saved(page, panel, "LaTeX", tmp_path)
    assert latex.name == "scara2.tex" and r"\begin{document}" in latex.read_text()
    for name, ending, member in (("C", ".c", "scara2.c"), ("Octave", ".m", "scara2_gravity.m")):
        with zipfile.ZipFile(saved(page, panel, name, tmp_path)) as archive:
            assert member in archive.namelist()
            assert any(one.endswith(ending) for one in archive.namelist())
    module = saved(page, panel, "Python", tmp_path)
    namespace: dict = {}
    exec(compile(module.read_text(), module, "exec"), namespace)
    arm = brazo.load("scara2")
    q = arm.random_q(seed=4)
    assert np.allclose(namespace["mass_matrix"](q), arm.mass_matrix(q), rtol=1e-12, atol=1e-12)


def test_numeric_parameters_replace_symbols(lab, page, panel):
    panel.get_by_role("radio", name="Numeric").click()
    expect(panel).to_contain_text("changed: derive again")
    panel.get_by_role("button", name="Derive").click()
    expect(panel.locator("brazo-sheet")).to_contain_text("0.838287")
    panel.get_by_role("radio", name="Symbolic").click()
    expect(panel.locator("brazo-sheet")).to_contain_text("c23 = cos(q2 + q3)")  # kept


def test_an_edited_robot_has_other_equations(lab, page, panel):
    dimensions = show(page, "Dimensions")
    typed(dimensions.get_by_label("L1 value"), "300")
    until(page, lambda: lab.robot.arm.parameters["L1"] == 0.3)
    panel = show(page, "Equations")
    expect(panel).to_contain_text("changed: derive again")
    panel.get_by_role("button", name="Derive").click()
    expect(panel.get_by_role("row", name="L1 0.3 m parameter")).to_be_attached()


def test_a_derivation_can_be_cancelled(lab, page, panel):
    page.get_by_label("Cell", exact=True).select_option("robot:panda")
    page.get_by_role("button", name="Discard").click()  # the length edited before
    drawn(page, "panda")
    lab.do(lab.sim.player.pause)
    panel.get_by_role("button", name="Derive").click()
    expect(panel.get_by_role("button", name="Derive")).to_be_disabled()  # it takes long
    page.get_by_role("button", name="Cancel Equations of panda").click()
    expect(page.locator(".brazo-jobs")).to_contain_text("cancelled")
    expect(panel.get_by_role("button", name="Derive")).to_be_enabled()
    expect(panel.locator("brazo-sheet")).to_be_empty()


def test_missing_equations_are_explained(lab, page, panel):
    page.get_by_label("Cell", exact=True).select_option("robot:delta")
    drawn(page, "delta")
    lab.do(lab.sim.player.pause)
    panel.get_by_role("button", name="Derive").click()
    expect(page.locator(".brazo-jobs")).to_contain_text("with closed loops")
