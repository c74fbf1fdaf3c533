"""The question before work is lost, in a real Chromium: by keyboard, by finger, on a phone."""

from __future__ import annotations

import zipfile

import pytest
from playwright.sync_api import expect

from brazo.lab.app.unsaved import KEPT, Work
from tests.lab.panels.acting import show, until

pytestmark = pytest.mark.browser
PHONE = {"width": 390, "height": 844}


@pytest.fixture
def lab(running):
    with running("robot:scara1") as lab:
        lab.do(lab.sim.player.pause)
        yield lab


def question(page):
    return page.get_by_role("alertdialog", name="Unsaved work")


def teach(opened) -> None:
    opened.panel.locator("brazo-button[event=teach] button").click()
    until(opened.page, lambda: len(opened.lab.panels["pendant"].points))


def choose(page, name: str) -> None:
    page.get_by_label("Cell", exact=True).select_option(name)


def test_cell_selector_asks_and_the_keyboard_answers(lab, open_page, tmp_path):
    opened = open_page(lab, "pendant")
    page = opened.page
    teach(opened)
    lab.do(lambda: lab.panels["trajectory"]._add())
    choose(page, "robot:delta")
    dialog = question(page)
    expect(dialog).to_be_visible()
    expect(dialog).to_contain_text("Opening delta discards:")
    expect(dialog.get_by_role("listitem")).to_have_text(
        ["scara1: 1 taught point", "scara1: trajectory of 1 point"]
    )
    expect(dialog.get_by_role("button", name="Save and continue")).to_be_focused()
    expect(page.locator("html")).not_to_have_attribute("data-brazo-loading", "")
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    opened.settle()
    assert lab.sim.cell.name == "scara1" and len(lab.panels["pendant"].points) == 1
    expect(page.get_by_label("Cell", exact=True)).to_have_value("robot:scara1")
    choose(page, "robot:delta")
    expect(dialog.get_by_role("button", name="Save and continue")).to_be_focused()
    with page.expect_download() as download:
        page.keyboard.press("Enter")
    path = tmp_path / download.value.suggested_filename
    assert path.name == "scara1-work.zip"
    download.value.save_as(path)
    with zipfile.ZipFile(path) as archive:
        assert archive.namelist() == ["scara1-points.yaml", "scara1-trajectory.yaml"]
    until(page, lambda: lab.sim.cell.name == "delta")
    choose(page, "robot:scara1")  # nothing to lose any more
    until(page, lambda: lab.sim.cell.name == "scara1")
    expect(dialog).to_be_hidden()
    assert opened.errors == []


def test_the_note_of_a_question_is_shown(lab, open_page):
    opened = open_page(lab, "pendant")
    work = [Work("Program wave is running", {})]
    lab.do(lambda: lab.unsaved.ask("Opening delta discards:", work, lambda: None, note=KEPT))
    expect(question(opened.page)).to_contain_text("All other work stays saved in the project.")
    assert opened.errors == []


def test_on_a_phone_the_question_fits_and_stop_works_behind_it(lab, open_page):
    opened = open_page(lab, "robots", PHONE, has_touch=True)
    page = opened.page
    lab.do(lab.panels["pendant"]._teach)
    panel = show(page, "Robots and cells")
    panel.get_by_role("button", name="cooperative").first.click()
    dialog = question(page)
    expect(dialog).to_be_visible()
    for button in dialog.get_by_role("button").all():
        box = button.bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= 390 and box["height"] >= 44
    halt = page.locator(".brazo-bar .stop").bounding_box()
    stops = lab.channel.stops
    page.mouse.click(halt["x"] + halt["width"] / 2, halt["y"] + halt["height"] / 2)
    until(page, lambda: lab.channel.stops == stops + 1)
    expect(dialog).to_be_hidden()  # beside it is cancel
    panel.get_by_role("button", name="cooperative").first.click()
    dialog.get_by_role("button", name="Discard").click()
    until(page, lambda: lab.sim.cell.name == "cooperative")
    assert opened.errors == []


def test_imported_file_asks_before_replacing_taught_points(lab, open_page, tmp_path):
    opened = open_page(lab, "pendant")
    page = opened.page
    teach(opened)
    path = tmp_path / "mine.yaml"
    path.write_bytes(lab.sim.cell.path.read_bytes())
    show(page, "Robots and cells").locator("brazo-upload input").first.set_input_files(path)
    expect(question(page)).to_contain_text("Opening mine.yaml discards:")
    question(page).get_by_role("button", name="Cancel").click()
    opened.settle()
    assert len(lab.panels["pendant"].points) == 1
    assert opened.errors == []
