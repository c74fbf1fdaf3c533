"""Events as spans and marks."""

from brazo.recording.timeline import Span, lanes, merged, overlaps


def contact(t, phase, first="a/finger", second="bar"):
    return {"t": t, "kind": f"contact {phase}", "first": first, "second": second}


def test_events_with_start_and_end_are_spans():
    events = [
        contact(3.0, "end"),
        contact(1.0, "begin"),
        contact(0.5, "warning"),
        contact(2.0, "begin", "a/palm"),
        {"t": 4.0, "kind": "grasped", "robot": "a", "body": "bar"},
        {"t": 0.1, "kind": "program", "text": "go"},
    ]
    marks, holds, contacts = lanes(events, end=9.0)
    assert marks.name == "program" and marks.marks == [(0.1, "go")]
    assert holds.name == "a holds" and holds.spans == [Span(4.0, 9.0, "bar")]
    assert contacts.name == "a touches bar"
    assert contacts.spans == [Span(1.0, 3.0), Span(2.0, 9.0)]
    assert [lane.count for lane in (marks, holds, contacts)] == [1, 1, 2]


def test_steps_last_until_the_next_step_of_the_same_robot():
    events = [
        {"t": 1.0, "kind": "step", "text": "a: move", "robot": "a"},
        {"t": 1.5, "kind": "step", "text": "b: move", "robot": "b"},
        {"t": 2.0, "kind": "step", "text": "a: grip", "robot": "a"},
        {"t": 2.5, "kind": "step", "text": "by nobody"},
    ]
    first, second, rest = lanes(events, end=4.0)
    assert first.name == "a, steps"
    assert first.spans == [Span(1.0, 2.0, "move"), Span(2.0, 4.0, "grip")]
    assert second.spans == [Span(1.5, 4.0, "move")]
    assert rest.marks == [(2.5, "by nobody")]


def test_ends_without_starts_are_ignored():
    assert lanes([contact(1.0, "end"), {"t": 1, "kind": "released", "robot": "a"}], 2.0) == []


def test_chatter_is_one_span():
    spans = [Span(0, 1), Span(1.05, 2), Span(3, 4), Span(2.5, 3.5)]
    assert merged(spans, 0.1) == [Span(0, 2), Span(2.5, 4)]
    assert merged([Span(0, 1, "x"), Span(1, 2, "y")], 0.1) == [Span(0, 1, "x"), Span(1, 2, "y")]


def test_both_hold_where_spans_of_one_body_overlap():
    first = [Span(0, 2, "bar 1"), Span(5, 8, "bar 2")]
    second = [Span(1, 3, "bar 1"), Span(4, 9, "bar 1"), Span(7, 9, "bar 2")]
    assert overlaps(first, second) == [Span(1, 2, "bar 1"), Span(7, 8, "bar 2")]


def test_fault_lasts_until_cleared_and_controller_until_the_next():
    events = [
        {"t": 0.0, "kind": "control", "text": "a: PID", "robot": "a"},
        {"t": 0.0, "kind": "control", "text": "b: PID", "robot": "b"},
        {"t": 1.0, "kind": "fault", "text": "a: joint 'elbow' is locked", "robot": "a"},
        {"t": 2.0, "kind": "fault", "text": "a: joint 'wrist' is unpowered", "robot": "a"},
        {"t": 3.0, "kind": "fault cleared", "text": "a: joint 'elbow' is locked", "robot": "a"},
        {"t": 4.0, "kind": "control", "text": "a: LQR", "robot": "a"},
    ]
    controller, faults = lanes(events, 5.0)
    assert controller.name == "a, controller"
    assert [(s.start, s.stop, s.text) for s in controller.spans] == [(0, 4, "PID"), (4, 5, "LQR")]
    assert faults.name == "a, faults" and not faults.marks
    assert [(s.start, s.stop) for s in faults.spans] == [(1, 3), (2, 5)]
