"""The Compare panel in a real Chromium: two controllers on a circle, plotted and exported."""

from __future__ import annotations

import csv
import math
import re

import numpy as np
import pytest
from playwright.sync_api import expect

from brazo.recording import Recording
from tests.lab.panels.acting import number, show, until

pytestmark = pytest.mark.browser
FAST = 4.0  # speed of the simulation


@pytest.fixture(scope="module")
def opened(running, open_page, tmp_path_factory):
    with running("robot:scara1", runs=tmp_path_factory.mktemp("runs")) as lab:
        lab.sim.player.speed = FAST
        opened = open_page(lab, "simulation")
        opened.name = "compare"
        yield opened
        assert opened.errors == []


@pytest.fixture(scope="module")
def compared(opened):
    """A circle under two controllers, from the opened lab; the files, and the clicks it took."""
    lab, page = opened.lab, opened.page
    runs, clicks = lab.panels["compare"].runs, []

    def click(what) -> None:
        clicks.append(str(what))
        what.click()

    def download(button):
        with page.expect_download() as found:
            click(button)
        return found.value

    click(page.get_by_role("tab", name="Trajectory", exact=True))
    trajectory = page.locator("#panel-trajectory")
    click(trajectory.get_by_role("radio", name="Curve", exact=True))
    expect(trajectory.get_by_label("Curve", exact=True)).to_have_value("circle")
    play = trajectory.get_by_role("button", name="Run trajectory", exact=True)
    expect(play).to_be_enabled()
    click(play)
    until(page, lambda: len(runs) == 1)
    click(page.get_by_role("tab", name="Compare", exact=True))
    panel = page.locator("#panel-compare")
    panel.get_by_label("Repeat with").select_option("PDGravity")
    clicks += ["open the list", "choose in the list"]
    until(page, lambda: len(runs) == 2)
    files = {
        "figure": download(panel.get_by_role("button", name="Figure SVG")),
        "table": download(panel.get_by_role("button", name="Table CSV")),
    }
    return clicks, files


def test_two_controllers_become_one_figure_and_one_table_in_eight_clicks(opened, compared):
    clicks, files = compared
    assert len(clicks) <= 8
    assert files["figure"].suggested_filename == "scara1-comparison.svg"
    drawn = files["figure"].path().read_text("utf-8")
    texts = set(re.findall(r">([^<>]+)</text>", drawn))
    assert {"Computed torque", "PD with gravity", "reference", "tool x [mm]"} <= texts
    rows = list(csv.DictReader(files["table"].path().read_text("utf-8").splitlines()))
    joints = opened.lab.robot.arm.joint_names
    assert [(row["run"], row["part"]) for row in rows] == [
        (run, part)
        for run in ("Computed torque", "PD with gravity")
        for part in ("tool", *joints, "all joints")
    ]
    for run in opened.lab.panels["compare"].runs:
        mine = {row["part"]: row for row in rows if row["run"] == run.name}
        for joint in joints:
            unit = run.recording.unit(f"scara1.error.{joint}")
            e = (180 / math.pi if unit == "rad" else 1e3) * run.recording[f"scara1.error.{joint}"]
            assert float(mine[joint]["max_error"]) == pytest.approx(np.abs(e).max(), rel=1e-5)
        # The tool by the robot's kinematics, from the recorded joints, until 1 s after the motion.
        q_end = run.recording.matrix("scara1.q_ref")[-1]
        arm, base = opened.lab.robot.arm, opened.lab.robot.base
        tool, reference = (
            (base @ arm.fk(run.recording.matrix(f"scara1.{q}")))[:, :3, 3] for q in ("q", "q_ref")
        )
        away = np.abs(run.recording.matrix("scara1.q_ref") - q_end).max(axis=1)
        moving = np.flatnonzero(away > 1e-9)
        inside = run.recording.t <= run.recording.t[moving[-1] + 1] + 1.0 + 1e-6
        far = 1e3 * np.linalg.norm(reference - tool, axis=1)[inside]
        rms = math.sqrt((far * far).mean())
        assert float(mine["tool"]["rms_error"]) == pytest.approx(rms, rel=1e-5)


def test_the_circle_starts_at_zero_in_both(opened, compared):
    for run in opened.lab.panels["compare"].runs:
        planned, rec = run.playing.trajectory, run.recording
        for t, q_ref in zip(rec.t[:400:40], rec.matrix("scara1.q_ref")[:400:40], strict=True):
            assert planned.sample(planned.start + t).q == pytest.approx(q_ref, abs=1e-9)


def placed(compare) -> list[bool]:
    """Whether each ghost has a pose already."""
    return [np.isfinite(ghost._shown).all() for _, ghost in list(compare._ghosts.values())]


def test_a_click_sets_the_cursor_and_the_ghosts(opened, compared):
    page, panel = opened.page, show(opened.page, "Compare")
    plot = panel.get_by_label("Comparison", exact=True)
    labels = [line["label"] for line in plot.evaluate("(plot) => plot.data")]
    assert labels == ["Computed torque", "PD with gravity"]
    plot.scroll_into_view_if_needed()
    box = plot.locator("canvas").bounding_box()
    page.mouse.click(box["x"] + 0.5 * box["width"], box["y"] + 0.5 * box["height"])
    compare = opened.lab.panels["compare"]
    until(page, lambda: len(compare._ghosts) == 2 and all(placed(compare)))
    at = compare._cursor
    assert 1.5 < at < 3.5
    for run, ghost in compare._ghosts.values():
        rec = run.recording
        q = [np.interp(at, rec.t, rec[f"scara1.q.{j}"]) for j in opened.lab.robot.arm.joint_names]
        frames = opened.lab.robot.base @ opened.lab.robot.arm.frames(np.array(q))
        assert ghost._shown == pytest.approx(frames, abs=2e-6)
    # The values of the legend are those of the curves at the cursor.
    page.mouse.move(2, 2)
    expected = np.interp(at, *(compare.runs[2].recording[n] for n in ("t", "scara1.error.elbow")))
    panel.get_by_label("Signal", exact=True).select_option("error.elbow")
    figure = panel.locator("brazo-plot .line b").nth(1)
    expect(figure).to_have_text(f"{math.degrees(expected):.2f}".replace("-", "−"))
    panel.locator("label.brazo-toggle", has_text="Ghosts").click()
    until(page, lambda: not compare._ghosts)


def test_the_table_of_the_page_is_that_of_the_file(opened, compared):
    rows = list(csv.DictReader(compared[1]["table"].path().read_text("utf-8").splitlines()))
    panel = show(opened.page, "Compare")
    panel.get_by_label("Metrics of").select_option("elbow")
    table = panel.get_by_role("table", name="Metrics")
    expect(table.locator("tbody tr")).to_have_count(6)
    mine = [row for row in rows if row["part"] == "elbow"]
    shown = [[number(cell) for cell in row.locator("td").all_inner_texts()[1:]]
             for row in table.locator("tbody tr").all()]  # fmt: skip
    keys = (
        "rms_error",
        "max_error",
        "overshoot_percent",
        "settling_time_s",
        "energy_J",
        "peak_torque",
    )
    for key, values in zip(keys, shown, strict=True):
        assert values == pytest.approx([float(row[key]) for row in mine], rel=6e-3, abs=6e-3)


@pytest.mark.parametrize("mode", ["Over time", "XY"])
def test_a_plot_is_saved_from_the_page(opened, compared, mode):
    page, panel = opened.page, show(opened.page, "Compare")
    panel.get_by_role("radio", name=mode, exact=True).click()
    plot = panel.locator("brazo-xy" if mode == "XY" else "brazo-plot")
    page.wait_for_function(
        "(name) => document.querySelector(`#panel-compare ${name}`)?.data?.length >= 2",
        arg="brazo-xy" if mode == "XY" else "brazo-plot",
    )
    content = {}
    for kind in ("PNG", "SVG", "CSV"):
        plot.get_by_role("button", name="Save the plot").click()
        with page.expect_download() as found:
            plot.get_by_role("menuitem", name=kind).click()
        assert found.value.suggested_filename.endswith(f".{kind.lower()}")
        content[kind] = found.value.path().read_bytes()
    assert content["PNG"].startswith(b"\x89PNG")
    assert b"PD with gravity</text>" in content["SVG"] and content["SVG"].count(b"<path") > 10
    head, *rows = content["CSV"].decode().splitlines()
    assert "PD with gravity" in head and len(rows) > 100
    assert all(len(row.split(",")) == len(head.split(",")) for row in rows)
    if mode == "XY":
        t, x, y = np.array([row.split(",")[3:6] for row in rows if row.split(",")[3]], float).T
        run = opened.lab.panels["compare"].runs[1].recording
        assert x == pytest.approx(1e3 * np.interp(t, run.t, run["scara1.tool.x"]), abs=1e-2)
        assert y == pytest.approx(1e3 * np.interp(t, run.t, run["scara1.tool.y"]), abs=1e-2)


def test_runs_are_named_saved_removed_and_recordings_opened(opened, compared, tmp_path):
    lab, page, panel = opened.lab, opened.page, show(opened.page, "Compare")
    runs = lab.panels["compare"].runs
    field = panel.get_by_label("Run 2", exact=True)
    field.fill("Soft PD")
    field.press("Enter")
    until(page, lambda: runs[2].name == "Soft PD")
    panel.get_by_role("button", name="Save runs").click()
    until(page, lambda: runs[2].saved)
    kept = [one for one in lab.runs.folder.glob("*.parquet") if "Soft-PD" in one.name]
    assert len(kept) == 1 and len(Recording.open(kept[0])) == len(runs[2].recording)
    # From the list of recordings, and from a file of the user's computer.
    until(page, lambda: len(lab.panels["compare"]._stored) == 2)
    panel.get_by_label("Add a recording").select_option(kept[0].name)
    until(page, lambda: len(runs) == 3)
    opened.settle()  # the panel is rebuilt for every new run
    given = runs[1].recording.to_csv(tmp_path / "from elsewhere.csv")
    panel.locator("brazo-upload input").set_input_files(given)
    until(page, lambda: len(runs) == 4)
    opened.settle()
    names = [run.name for run in runs]
    assert names[:2] == ["Computed torque", "Soft PD"] and names[3] == "from elsewhere"
    same = runs[4].metrics("scara1")[1], runs[1].metrics("scara1")[1]
    assert same[0].rms_error == pytest.approx(same[1].rms_error, rel=1e-9)
    panel.get_by_role("button", name="×", exact=True).nth(2).click()
    until(page, lambda: len(runs) == 3)
    opened.settle()
    (tmp_path / "broken.csv").write_text("t,q\ns,rad\nhello\n", encoding="utf-8")
    panel.locator("brazo-upload input").set_input_files(tmp_path / "broken.csv")
    expect(page.get_by_text("broken").first).to_be_visible()
    assert len(runs) == 3
