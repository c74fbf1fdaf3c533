"""STOP has priority: requests queued before it must not cause motion after it."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

from brazo.lab.scene.scene import placed


@pytest.fixture(scope="module")
def lab(running):
    with running("robot:puma560") as lab:
        yield lab


@pytest.fixture
def page(lab, line):
    with line(lab) as page:
        lab.open("robot:puma560")  # without a question about the work of the test before
        page.send(["pendant/mode", "joint"], ["pendant/step", "hold"])
        page.send(["panels-shown", ["pendant"]], ["play"])
        yield page


class Busy:
    """Keeps the lab's thread from everything else until it is let go."""

    def __init__(self, lab) -> None:
        self._lab, self._over, begun = lab, threading.Event(), threading.Event()
        lab.post(lambda: (begun.set(), self._over.wait(20)))
        assert begun.wait(10)

    def end(self) -> None:
        self._over.set()
        self._lab.do(lambda: None)


def still(lab) -> bool:
    """Whether nothing moves, and nothing begins to when everything waiting has been done."""
    lab.do(lambda: None)
    lab.do(lambda: None)
    return not lab.sim.moving


def moves(lab) -> None:
    """Wait until something does."""
    deadline = time.monotonic() + 5
    while not lab.sim.moving:
        assert time.monotonic() < deadline
        time.sleep(0.001)


def received(lab, page, *events) -> None:
    """Send events and return once the network's thread has them, done or waiting."""
    seen = threading.Event()
    lab.channel.on("seen", seen.set, free=True, now=True)
    for event in (*events, ["seen"]):
        page.ws.send(json.dumps(event))
    assert seen.wait(10)


def stopped(lab, page) -> None:
    """Press STOP while the lab's thread is busy, and wait until it has been carried out."""
    before = len(lab.sim.events)
    received(lab, page, ["stop"])
    deadline = time.monotonic() + 10
    while len(lab.sim.events) == before:
        assert time.monotonic() < deadline
        time.sleep(0.002)


MOTIONS = (
    ["pendant/move", [["q0", 40]], "joint"],
    ["pendant/slide", 0, 40.0],
    ["pendant/zero"],
    ["pendant/pose", "nominal"],
    ["pendant/point-go", 1],
    ["pendant/play"],
)


@pytest.mark.parametrize("event", MOTIONS, ids=lambda event: event[0])
def test_queued_motion_is_cancelled_by_stop(lab, page, event):
    lab.set_q(np.full(6, 0.3))
    page.send(["pendant/teach"])
    lab.set_q(np.full(6, 0.5))
    busy = Busy(lab)
    received(lab, page, event)
    stopped(lab, page)
    busy.end()
    assert still(lab)
    page.send()
    assert "STOP: pending requests were cancelled" in page.reported["notice"]["text"]
    page.send(event)  # requested after it
    moves(lab)
    page.send(["stop"])


def test_queued_jog_steps_and_link_clicks_are_cancelled_by_stop(lab, page):
    page.send(["pendant/step", "10"], ["pendant/clicks", True])
    drawn = [one.name for one in lab.sim.world.drawn].index("puma560/link 3")
    busy = Busy(lab)
    received(lab, page, ["pendant/jog", 0, 1, True])
    lab._clicked(drawn, False)
    stopped(lab, page)
    busy.end()
    assert still(lab)
    page.send(["pendant/jog-end"], ["pendant/clicks", False])


def test_held_button_does_not_restart_by_renewals(lab, page):
    busy = Busy(lab)
    received(lab, page, ["pendant/jog", 0, 1, True])
    stopped(lab, page)
    received(lab, page, ["pendant/jog", 0, 1, False])
    began = []
    lab.sim.tasks.add(SimpleNamespace(tick=lambda sim: began.append(sim.moving) or True))
    busy.end()
    assert still(lab) and not any(began)
    page.send(["pendant/jog-end"])


def test_request_running_at_stop_is_stopped_when_it_starts_to_move(lab, page):
    inside, go = threading.Event(), threading.Event()

    def slow() -> None:
        inside.set()
        assert go.wait(10)
        lab.mover.go_to(lab.robot, lab.robot.reference.q + 0.2)

    lab.channel.on("slow", slow)
    received(lab, page, ["slow"])
    assert inside.wait(10)
    stopped(lab, page)
    go.set()
    lab.do(lambda: None)
    deadline = time.monotonic() + 5
    while lab.sim.moving:
        assert time.monotonic() < deadline
        time.sleep(0.005)
    assert np.abs(lab.robot.reference.q - lab.robot.world.start).max() < 0.1


def drag(lab, phase: str, by: float) -> None:
    gizmo = lab.panels["pendant"]._gizmo
    ((_, position, wxyz),) = placed(["tool"], lab.robot.tool()[None])
    position = np.subtract(position, [0.0, 0.0, by])
    event = SimpleNamespace(phase=phase, target=SimpleNamespace(wxyz=wxyz, position=position))
    asyncio.run(gizmo._dragged(event))


def test_drag_resumes_only_after_a_new_grab(lab, page):
    page.send(["pendant/gizmo", True])
    lab.do(lambda: lab.panels["pendant"]._gizmo.resend())
    drag(lab, "start", 0.0)
    drag(lab, "update", 0.05)
    lab.do(lambda: None)
    assert lab.sim.moving and lab.panels["pendant"]._gizmo.dragging
    page.send(["stop"])
    deadline = time.monotonic() + 5
    while lab.sim.moving:
        assert time.monotonic() < deadline
        time.sleep(0.005)
    drag(lab, "update", 0.08)  # the button of the mouse is still down
    assert still(lab)
    deadline = time.monotonic() + 5
    while lab.panels["pendant"]._gizmo.dragging:  # ends with the next frame
        assert time.monotonic() < deadline
        time.sleep(0.005)
    drag(lab, "end", 0.08)
    drag(lab, "start", 0.0)
    drag(lab, "update", 0.04)
    lab.do(lambda: None)
    assert lab.sim.moving
    drag(lab, "end", 0.04)
    page.send(["stop"], ["pendant/gizmo", False])


def test_a_drag_ends_when_another_page_takes_control(lab, page, line):
    gizmo = lab.panels["pendant"]._gizmo
    page.send(["pendant/gizmo", True])
    drag(lab, "start", 0.0)
    drag(lab, "update", 0.05)
    lab.do(lambda: None)
    assert gizmo.dragging
    with line(lab) as other:
        other.ws.send('["control/ask"]')
        other.until("control/asking", other.reported["me/number"])
        page.ws.send('["control/hand-over"]')
        other.until("control/driver", other.reported["me/number"])
        deadline = time.monotonic() + 5
        while gizmo.dragging:  # its end event is not from the page in control and is dropped
            assert time.monotonic() < deadline
            time.sleep(0.005)
        drag(lab, "start", 0.0)
        drag(lab, "update", 0.03)
        lab.do(lambda: None)
        assert gizmo.dragging
        drag(lab, "end", 0.03)
        other.ws.send('["control/hand-over"]')
        other.until("control/driver", page.reported["me/number"])
    page.send(["stop"], ["pendant/gizmo", False])


def test_requests_without_motion_are_not_cancelled(lab, page):
    busy = Busy(lab)
    received(lab, page, ["program/text", "name: typed\n"], ["panels-shown", ["program"]], ["pause"])
    stopped(lab, page)
    busy.end()
    assert lab.panels["program"].document.text == "name: typed\n"
    assert lab.channel.pages[0].shown == {"program"} and not lab.sim.player.running


def test_stop_at_rest_is_acknowledged(lab, page):
    page.send(["stop"])
    page.until("stops", lab.channel.get("stops"))
    page.until_said("Nothing was moving")


def test_every_stop_press_is_counted(lab, page):
    before = lab.channel.stops
    with lab.sim.lock:  # the first is not executed yet when the others arrive
        received(lab, page, ["stop"], ["stop"], ["stop"])
    page.until("stops", before + 3)


def test_second_stop_keeps_robots_on_their_program_path(running, line):
    with running("cooperative") as lab, line(lab) as page:
        page.send(["program/run"])
        deadline = time.monotonic() + 30
        while lab.sim.time < 1.0 or not all(r.reference.qd.any() for r in lab.sim.robots.values()):
            assert time.monotonic() < deadline
            time.sleep(0.005)
        with lab.sim.lock:  # no time passes between the two
            lab.halt()
            motions = {name: robot.motion for name, robot in lab.sim.robots.items()}
            lab.halt()
            assert {name: robot.motion for name, robot in lab.sim.robots.items()} == motions
