"""Controls of a curve, without a page: jobs that end after another edit."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import brazo
from brazo.errors import BrazoError
from brazo.lab.panels.trajectory import curve_section, kept
from brazo.lab.panels.trajectory.curve_section import CurveSection
from brazo.lab.panels.trajectory.draft import Draft
from brazo.lab.server.transfers import Upload
from brazo.trajectory import Placement
from tests.trajectory.marker_videos import circle, pictures, write_video

Q = np.array([0.1, 0.8, -2.5, 0.2, 0.6, 0.1])
SVG = '<svg xmlns="http://www.w3.org/2000/svg"><path d="M0 0 L9 {y}"/></svg>'


class Jobs:
    """Jobs that run when they are told to."""

    def __init__(self) -> None:
        self.started: list[SimpleNamespace] = []

    def start(self, _title, work, done):
        job = SimpleNamespace(number=len(self.started), state="running", work=work, done=done)
        job.check = job.tell = lambda *_: None
        job.cancel = lambda: setattr(job, "state", "cancelled")
        self.started.append(job)
        return job

    def finish(self, k: int) -> None:
        job = self.started[k]
        job.done(job.work(job))
        job.state = "done"

    def cancel(self, number: int) -> None:
        self.started[number].state = "cancelled"


class FakePanel:
    """What `CurveSection` uses of its panel."""

    def __init__(self) -> None:
        arm = brazo.load("puma560")
        self.robot = SimpleNamespace(arm=arm, name="puma560", reference=SimpleNamespace(q=Q))
        self.draft = Draft(arm, Q)
        self.context = SimpleNamespace(jobs=Jobs(), post=lambda _: None)
        self.handlers: dict = {}
        self.said: list[str] = []

    def on(self, name, handler, *_kinds, **_more) -> None:
        self.handlers[name] = handler

    on_number = on_upload = on

    def edited(self, *_given, **_more) -> None:
        self.draft.revision += 1

    def say(self, text: str) -> None:
        self.said.append(text)


@pytest.fixture
def panel(monkeypatch):
    shift = np.array([0.0, 0.0, 0.1])
    monkeypatch.setattr(
        curve_section,
        "nearest_placement",
        lambda _arm, path, *_, **__: Placement(shift, 1.0, np.zeros(3), path, None),
    )
    panel = FakePanel()
    CurveSection(panel)
    return panel


def test_a_placement_moves_only_the_curve_for_which_it_was_found(panel):
    place, jobs = panel.handlers["shift"], panel.context.jobs
    start = panel.draft.curve.start.copy()
    place()
    with pytest.raises(BrazoError, match="is being searched for"):
        place()
    jobs.finish(0)
    moved = panel.draft.curve.start - start
    assert moved[2, 3] == pytest.approx(0.1) and len(jobs.started) == 1
    place()
    panel.handlers["here"]()  # the curve is elsewhere now
    jobs.finish(1)
    assert np.array_equal(panel.draft.curve.start, start)
    assert "edited meanwhile" in panel.said[-1]
    place()
    panel.draft.restore(panel.draft.state)  # undo
    jobs.finish(2)
    assert np.array_equal(panel.draft.curve.start, start)


def test_an_svg_file_is_read_in_a_job(panel):
    load, jobs = panel.handlers["svg"], panel.context.jobs
    load(SimpleNamespace(name="a.svg", text=lambda: SVG.format(y=1)))
    assert panel.draft.curve.kind == "circle"
    jobs.finish(0)
    assert panel.draft.curve.kind == "svg" and panel.draft.curve.svg_name == "a.svg"
    load(SimpleNamespace(name="b.svg", text=lambda: "<html/>"))
    with pytest.raises(BrazoError, match=r"b\.svg: not an SVG file"):
        jobs.finish(1)


def test_a_clip_is_tracked_in_a_job(panel, tmp_path):
    track, jobs, curve = panel.handlers["video-track"], panel.context.jobs, panel.draft.curve
    with pytest.raises(BrazoError, match="no video yet"):
        track("#19c033", False)
    path = write_video(tmp_path / "a.mp4", pictures(circle(30)), "-preset", "veryfast")
    panel.handlers["video"](Upload("a.mp4", path.read_bytes()))
    with pytest.raises(BrazoError, match="colour 'none'"):
        track("none", False)
    track("#e02020", False)
    with pytest.raises(BrazoError, match=r"^a\.mp4: no marker of colour #e02020 in 30 frames"):
        jobs.finish(0)
    assert curve.kind == "circle"
    track("#19c033", True)
    track("#19c033", False)  # the first one is not wanted any more
    assert jobs.started[1].state == "cancelled"
    jobs.finish(2)
    assert curve.kind == "drawing" and curve.time == pytest.approx(29 / 30)
    (stroke,) = np.array(curve.strokes)
    # A circle of 40 px in a picture of 160 px: a quarter of the pad, to half a pixel.
    assert np.abs(np.hypot(*stroke.T) - 0.25).max() < 0.5 / 160
    assert stroke[0] == pytest.approx((0.25, 0.0), abs=0.5 / 160)
    assert panel.said == ["1 stroke: marker seen in 30 of 30 frames"]
    assert curve.path().duration == pytest.approx(29 / 30)


def test_other_contents_and_places_of_a_curve_are_unsaved():
    draft = Draft(brazo.load("puma560"), Q)
    curve = draft.curve
    draft.curved = True
    assert not draft.unsaved()[1]

    def changes(**values) -> None:
        draft.mark_saved()
        assert not draft.unsaved()[1]
        for name, value in values.items():
            setattr(curve, name, value)
        assert draft.unsaved()[1], values

    changes(kind="svg", svg=SVG.format(y=1), svg_name="a.svg")
    changes(svg=SVG.format(y=2))
    t, poses = np.linspace(0.0, 1.0, 6), np.tile(np.eye(4), (6, 1, 1))
    changes(kind="recorded", recorded=(t, poses))
    changes(recorded=(t, 2.0 * poses))
    T = curve.start.copy()
    T[0, 3] += 0.01
    changes(start=T)


def test_a_curve_is_written_again_only_after_it_was_edited(monkeypatch):
    draft = Draft(brazo.load("puma560"), Q)
    draft.curved, draft.curve.kind = True, "recorded"
    poses = np.tile(draft.curve.start, (6, 1, 1))
    draft.curve.recorded = np.linspace(0.0, 1.0, 6), poses
    written = []
    flow = kept.flow
    monkeypatch.setattr(kept, "flow", lambda value: written.append(value) or flow(value))

    def text() -> str:
        return kept.drafts_yaml({"puma560": draft}, lambda _: [])

    first = text()
    assert text() == first and len(written) == 1
    edits = (
        lambda: draft.curve.sizes.update({"circle.radius": 0.07}),
        lambda: setattr(draft.curve, "time", 5.0),
        lambda: setattr(draft.curve, "strokes", (((0.0, 0.0), (0.1, 0.1)),)),
        lambda: draft.curve.place(np.ones(3), 1.0, np.zeros(3)),
        lambda: setattr(draft.curve, "start", np.eye(4)),
    )
    texts = [first]
    for edit in edits:
        edit()
        texts.append(text())
    assert len(set(texts)) == len(texts) == len(written)


def test_a_stroke_forth_and_back_keeps_its_turning_point():
    points = np.array([[0.0, 0.0], [0.1, 0.0], [0.4, 0.0], [0.2, 0.0]])
    assert curve_section.simplified(points).tolist() == [[0.0, 0.0], [0.4, 0.0], [0.2, 0.0]]
