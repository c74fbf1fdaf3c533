"""The replay in one page: bodies are where the recording says, nothing is asked of the net."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from browsing import SOON

import brazo
import brazo.trajectory
from brazo.lab.app.replay_file import frame_rows, write_replay
from brazo.lab.app.session import as_shown
from brazo.recording import Recording
from brazo.recording.source import memory_source, open_source
from brazo.simulation.recorded_cell import recorded_cell


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Half a second in which a bar falls and a robot starts to move."""
    sim = brazo.Simulation("cooperative")
    pose = sim.world.pose("bar 1").copy()
    pose[:3, 3] += [0.0, 0.0, 0.3]
    sim.world.place("bar 1", pose)
    arm = sim.robots["scara2"]
    arm.move(brazo.trajectory.quintic(arm.q, arm.q + [0.4, 0, 0, 0.05, 0], duration=0.5))
    path = tmp_path_factory.mktemp("replay") / "run.parquet"
    sim.recording.start(path)
    sim.log("note", "off </script> we go")
    sim.step(500)
    sim.recording.stop()
    return path


def test_frames_are_thirty_a_second_and_follow_the_clock():
    t = np.arange(2001) * 1e-3
    times, rows = frame_rows(memory_source({"t": (t, "s")}))
    assert len(times) == 61 and np.allclose(np.diff(times), 1 / 30)
    assert np.abs(t[rows] - times).max() < 1e-3 and rows[-1] == 2000
    long = np.linspace(0, 3600, 5000)
    assert len(frame_rows(memory_source({"t": (long, "s")}))[0]) == 9001
    again = np.concatenate([t[:1000], t[:1000]])  # a clock set back
    times, rows = frame_rows(memory_source({"t": (again, "s")}))
    assert (np.diff(rows) > 0).all() and times[-1] == pytest.approx(1.998)


@pytest.mark.browser
def test_the_page_plays_the_run(run, tmp_path, browser):
    page_path = tmp_path / "run.html"
    seen: list[float] = []
    write_replay(page_path, open_source(run), seen.append)
    assert seen == sorted(seen) and seen[-1] == 1.0
    assert page_path.stat().st_size < 3e6
    recording = Recording.open(run)
    page = browser.new_page(viewport={"width": 640, "height": 400})
    asked, wrong = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.goto(page_path.as_uri())
    page.wait_for_function(
        "() => document.querySelector('#brazo-replay output')?.textContent.includes(' s ')",
        timeout=SOON,
    )
    assert " of 0.5 s of simulated time" in page.locator("#brazo-replay output").inner_text()
    page.get_by_text("Events", exact=True).click()
    page.get_by_text("off </script> we go").wait_for(timeout=SOON)
    assert page.title() == "cooperative"
    for moment in (0.4, 0.1, 0.3):  # forwards and backwards
        page.evaluate(
            """(t) => { const input = document.querySelector("#root input");
                Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value")
                    .set.call(input, t.toFixed(2));
                input.dispatchEvent(new Event("input", { bubbles: true })); }""",
            moment,
        )
        # The frame shown is the last one not later than the moment.
        frames, rows = frame_rows(open_source(run))
        row = rows[np.searchsorted(frames, moment + 1e-9) - 1]
        wanted = [float(recording[f"bar 1.{axis}"][row]) for axis in "xyz"]
        page.wait_for_function(
            """([name, wanted]) => {
                const poses = __viserMutable.nodePoseData;
                const key = Object.keys(poses).find((k) => k.endsWith(name));
                const at = key && poses[key].position;
                return at && at.every((x, i) => Math.abs(x - wanted[i]) < 5e-6);
            }""",
            arg=["bar_1", wanted],
            timeout=SOON,
        )
    # Wound back, viser would fade the scene out until its lights are loaded again.
    opacity = "getComputedStyle(__viserMutable.canvas).opacity"
    assert page.evaluate(opacity) == "1"
    tops = page.evaluate(
        """() => { const button = document.createElement("button");
            button.style.cssText = "position: absolute; top: 3000px";
            document.body.append(button);
            button.focus();
            button.remove();
            return [document.scrollingElement.scrollTop, document.body.scrollTop]; }"""
    )
    assert tops == [0, 0]  # nothing scrolls the page
    assert [url for url in asked if not url.startswith(("data:", "blob:"))] == [page_path.as_uri()]
    assert not wrong
    page.context.close()


def test_a_single_robot_is_replayed_too(tmp_path):
    arm = brazo.load("puma560")
    fall = arm.simulate(q0=arm.poses["ready"], t_end=0.2)
    recording = Recording(fall.columns(), [], {"robot": "puma560"})
    recording.to_html(tmp_path / "fall.html")
    text = (tmp_path / "fall.html").read_text(encoding="utf-8")
    assert "<title>puma560</title>" in text and "connect-src data: blob:" in text


def test_the_length_reported_is_that_of_the_recording(tmp_path):
    sim = as_shown("robot:scara1")
    sim.step(2000)
    sim.recording.start(tmp_path / "late.parquet")
    sim.step(500)
    sim.recording.stop()
    source = open_source(tmp_path / "late.parquet")
    write_replay(tmp_path / "late.html", source)
    text = (tmp_path / "late.html").read_text(encoding="utf-8")
    data = json.loads(re.findall(r'id="brazo-replay-data">(.*?)</script>', text)[0])
    assert data["start"] == pytest.approx(2.0, abs=1.5e-3)
    assert data["length"] == pytest.approx(0.5, abs=1.5e-3)


def test_a_robot_alone_in_the_lab_is_found_by_its_file(tmp_path):
    sim = as_shown("robot:scara1")
    recording = sim.run(until=0.1)
    page = recording.to_html(tmp_path / "alone.html")
    assert page.stat().st_size > 100_000


def test_a_cell_of_ones_own_is_found_by_its_file(tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text(
        "name: mine\nrobots: [{name: left, robot: scara1}]\n"
        "bodies: [{name: cube, box: [1cm, 1cm, 1cm], mass: 0.1, xyz: [1, 0, 0.5]}]\n"
    )
    sim = brazo.Simulation(str(file))
    recording = sim.run(until=0.1)
    assert recording.about["cell_file"] == str(file)
    assert recording.to_html(tmp_path / "mine.html").stat().st_size > 5e5


def test_what_cannot_be_drawn_is_said(run, tmp_path):
    t = np.linspace(0, 1, 5)
    plain = memory_source({"t": (t, "s"), "x": (t, "m")})
    with pytest.raises(brazo.BrazoError, match="brazo report"):
        write_replay(tmp_path / "x.html", plain)
    gone = memory_source({"t": (t, "s")}, (), {"cell": "nowhere"})
    with pytest.raises(brazo.BrazoError, match="cell 'nowhere', which is not found"):
        recorded_cell(gone, tmp_path / "x.html")
    cut = open_source(run).select("scara1.q")
    with pytest.raises(brazo.BrazoError, match="'scara2' cannot be drawn"):
        write_replay(tmp_path / "x.html", cut)
    with pytest.raises(brazo.BrazoError, match="at least two rows"):
        write_replay(tmp_path / "x.html", open_source(run).between(0.3, 0.3))
    assert not list(tmp_path.iterdir())
