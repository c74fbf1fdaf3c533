"""Whole stations: devices, a simulated follower, recordings of both ends and their page."""

import itertools
import json
import math
import os
import struct
import subprocess
import sys
import time

import numpy as np
import pytest

import brazo
from brazo.cli.main import main
from brazo.cli.teleop import _counted
from brazo.errors import BrazoError
from brazo.lab.app.opening import as_cell
from brazo.recording.recording import Recording
from brazo.simulation import Simulation
from brazo.teleop import FollowerLink, IncrementMap, MasterLink, PoseMap, Rules, SafetyState
from brazo.teleop.devices import (
    HandState,
    Joystick,
    Keyboard,
    PageHandle,
    load_script,
    parse_script,
)
from brazo.teleop.link.master_link import ReceivedStatus
from brazo.teleop.link.wire_format import Status
from brazo.teleop.stations import FollowerStation, MasterStation, session_report
from brazo.teleop.stations.session import delay, fidelity, follower_numbers, together
from brazo.trajectory import limits_of

SCRIPT = """
again: true
steps:
  - {at: 300ms, engage: true}
  - {at: 500ms, for: 1s, move: [0, 40mm, 0]}
  - {at: 1500ms, for: 1s, circle: 20mm, turns: 1, plane: xy}
  - {at: 2500ms, set: {scale: 2}}
  - {at: 2600ms, for: 300ms, clutch: true}
  - {at: 3s, release: true}
"""


# The time to HOLD is tested elsewhere; here a slow machine must not cause a stop.
RULES = Rules(degrade=0.4, recover=0.2, stale=0.8, late=1.0)


def test_a_script_moves_a_hand():
    script = parse_script(SCRIPT)
    assert script.seconds == 3.5
    before = script.read(0.2, 0)
    assert not before.run and before.engage == 0
    hand = script.read(1.0, 1)
    assert hand.run and hand.engage == 1
    assert hand.moved == pytest.approx([0, 0.02, 0])
    hand = script.read(2.0, 1)  # half way round
    assert hand.moved == pytest.approx([0, 0.04 + 0.04, 0])
    assert script.read(2.7, 1).clutch and not script.read(2.95, 1).clutch
    assert script.read(2.8, 1).settings == ()  # requested once
    assert not script.read(3.1, 1).run
    assert script.read(3.6, 0).done


def test_setting_is_requested_once_and_hold_recovers():
    script = parse_script(SCRIPT)
    assert script.read(2.55, 1).settings == (("scale", 2.0),)
    script = parse_script(SCRIPT)
    assert script.read(0.4, SafetyState.ENGAGED).run
    assert not script.read(1.0, SafetyState.HOLD).run  # lets go
    assert not script.read(1.2, SafetyState.HOLD).run
    hand = script.read(1.4, SafetyState.HOLD)
    assert hand.run and hand.engage == 2  # and requests it again


class Wire:
    """A fake link: records sent commands, and sets the follower's reports."""

    connected, session, trouble, offset, round_trip = True, 1, "", None, None

    def __init__(self):
        self.engagement = 0
        self.sent = []  # run and engagement of every command
        self.state, self.cause = 0, "released by the operator"
        self.asked = []

    def engage(self):
        self.engagement += 1

    def send(self, q, pose=None, *, run, **_):
        self.sent.append((run, self.engagement))

    def set(self, name, value):
        self.asked.append((name, value))

    def status(self):
        return ReceivedStatus(Status(1, 1, 0, 0, self.state, self.cause, 0.0, 0, 0), 0.0, 0.0)

    def answers(self):
        return []


def test_setting_that_cannot_be_requested_is_logged():
    link, said = Wire(), []
    station = MasterStation(link, parse_script("{steps: [{at: 0s, set: {scale: 2}}]}"))

    def no_link(name, value):
        raise BrazoError(f"'{name}' was not sent")

    link.set = no_link
    station.cycle(said.append)
    assert [text.split("s  ")[1] for text in said if "sent" in text] == ["'scale' was not sent"]
    station.cycle(said.append)
    assert sum("not sent" in text for text in said) == 1


class Lever:
    """A device moved by the test."""

    name = "lever"

    def __init__(self):
        self.run, self.engage = False, 0

    def read(self, t, state):
        return HandState(run=self.run, engage=self.engage)

    def close(self):
        pass


def test_stop_releases_every_device_until_a_new_press():
    link, lever, said = Wire(), Lever(), []
    station = MasterStation(link, lever)
    station.cycle(said.append)

    def cycle(run, engage):
        lever.run, lever.engage = run, engage
        station.cycle(said.append)
        assert station.hand.run == link.sent[-1][0]
        return link.sent[-1]

    assert cycle(True, 1) == (True, 1)
    assert station.stop()
    assert cycle(True, 1) == (False, 1)  # held on
    assert cycle(True, 2)[0] is False  # a new request, but never released
    assert not station.stop()  # nothing ran any more
    cycle(False, 2)
    assert cycle(True, 2)[0] is False  # pressed again, but without a request
    cycle(False, 2)
    assert cycle(True, 3) == (True, 3)
    assert "STOP; to resume: release, then press and hold" in said[-1]


def test_stopped_script_does_not_engage_again():
    """By STOP on the master's own page, or at the follower while the script drives."""
    for here in (True, False):
        script = parse_script(SCRIPT)
        begin = script.read(0.4, SafetyState.ENGAGED)
        assert begin.run
        if here:
            script.stop()
        else:
            link = Wire()
            station = MasterStation(link, script)
            station.cycle(str)  # the first report of the follower
            link.state, link.cause = 3, "stopped at the follower: on the page"
            station.cycle(str)
        stood = script.read(0.7, SafetyState.HOLD).moved
        for t in np.arange(0.7, 3.5, 0.01):
            hand = script.read(t, SafetyState.HOLD)
            assert not hand.run and hand.settings == () and not hand.done
            assert hand.moved == pytest.approx(stood)
        assert script.read(3.6, SafetyState.HOLD).done


def test_blocking_limit_is_named_until_the_arm_moves():
    arm = brazo.load("rv2aj")
    hand, said = PageHandle(deadman=math.inf), []
    q0 = np.radians([0.0, 10.0, 80.0, 90.0, 0.0])
    station = MasterStation(Wire(), hand, arm, q0)
    hand.press(True)
    station.cycle(said.append)

    def push(sign: int) -> str:
        """Press a key along Z; return the message after its release."""
        hand.push(2, sign, True)
        for _ in range(20):
            time.sleep(0.002)
            station.cycle(said.append)
        hand.let_keys_go()
        station.cycle(said.append)
        return station.blocked

    why = "joint 4 (J4) is at its upper limit, 90.00°"
    assert push(1) == why and np.array_equal(station.q, q0)
    assert [text.endswith(f"does not follow: {why}") for text in said].count(True) == 1
    assert push(-1) == "" and not np.array_equal(station.q, q0)


def test_stop_before_the_connection_does_not_stop_the_master():
    link = Wire()
    link.state, link.cause = 3, "stopped at the follower: on the page"
    station = MasterStation(link, Lever())
    for _ in range(3):
        station.cycle(str)
    station.device.run, station.device.engage = True, 1
    station.cycle(str)
    assert link.sent[-1] == (True, 1)


def test_recovery_message_names_the_keys_of_the_device():
    for make, words in (
        (lambda: Keyboard(str), "press e, then hold space"),
        (lambda: parse_script(SCRIPT), "the script releases and engages again"),
        (PageHandle, "release, then press and hold"),
    ):
        link, said = Wire(), []
        station = MasterStation(link, make())
        station.cycle(said.append)
        link.state, link.cause = 3, "link lost"
        station.cycle(said.append)
        assert said[-2].endswith("HOLD: link lost")
        assert "to resume: " in said[-1] and words in said[-1]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("again: true", "'steps' is missing"),
        ("steps: [{move: [0, 0, 0]}]", "needs a start time"),
        ("steps: [{at: 0s}]", "exactly one action"),
        ("steps: [{at: 0s, engage: true, release: true}]", "exactly one action"),
        ("steps: [{at: 0s, move: [0, 0, 0]}]", "'move' needs a duration"),
        ("steps: [{at: 0s, for: 1s, move: [0, 0]}]", "a list of 3"),
        ("steps: [{at: 0s, grip: 2}]", "0 (open) to 1 (closed)"),
        ("steps: [{at: 0s, for: 1s, circle: 1cm, plane: xz}]", "choose xy or yz or zx"),
    ],
)
def test_invalid_script_is_rejected(tmp_path, text, said):
    path = tmp_path / "hand.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(BrazoError) as error:
        load_script(path)
    assert said in str(error.value) and "hand.yaml:1" in str(error.value)


def test_key_is_held_while_it_repeats():
    pressed = []
    keyboard = Keyboard(lambda: pressed.pop(0) if pressed else "", speed=0.1)

    def at(t, keys=""):
        pressed.append(keys)
        return keyboard.read(t, 0)

    assert not at(0.0).run
    assert at(0.1, " e").run and keyboard.read(0.1, 0).engage == 1
    assert at(0.6).run  # the first repeat is awaited
    assert at(0.65, " ").run
    assert at(0.75).run and not at(0.9).run  # repeats are fast: the key is now released
    start = at(1.0, "w").moved
    for k in range(1, 21):
        hand = at(1.0 + 0.01 * k)
    assert hand.moved - start == pytest.approx([0.02, 0, 0])
    assert at(2.0).moved == pytest.approx(at(2.3).moved)
    assert at(3.0, "c").clutch and not at(4.0, "c").clutch
    assert at(5.0, "p").grip == 1.0
    assert at(6.0, "+").settings == (("scale", 1.25),)
    assert at(7.0, "x").done


def test_enable_switch_stays_held_when_another_key_repeats():
    """Space is held down all the time; from 1 s on so is w, and a terminal repeats only that."""
    pressed = [(0.0, "e"), (0.01, " "), *((0.5 + 0.033 * k, " ") for k in range(16))]
    pressed += [(1.03, "w"), *((1.53 + 0.033 * k, "w") for k in range(30))]
    now = 0.0

    def keys():
        found = [key for t, key in pressed if t <= now]
        del pressed[: len(found)]
        return "".join(found)

    keyboard, run, moved = Keyboard(keys, speed=0.1), [], []
    for now in np.arange(0.0, 3.2, 0.004):
        hand = keyboard.read(now, 1)
        run.append((now, hand.run))
        moved.append(hand.moved[0])
    off = [t for t, on in run if not on and t > 0.01]
    assert 2.48 < off[0] < 2.66 and not run[-1][1]  # 0.15 s after the last repeat
    assert max(moved) == pytest.approx(0.1 * 1.6, abs=0.01)
    pressed[:] = [(3.3, "w"), (3.32, "d")]
    for now in (3.3, 3.4, 3.5):
        assert not keyboard.read(now, 1).run  # out of nothing a key that moves holds no switch


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="no terminals to imitate here")
def test_keys_received_together_are_read_together(monkeypatch):
    ours, theirs = os.openpty()
    with os.fdopen(theirs) as terminal:
        monkeypatch.setattr(sys, "stdin", terminal)
        keyboard = Keyboard()
        try:
            os.write(ours, b"ec\x1b[A\x1bOBp")  # arrow keys end in letters
            hand = keyboard.read(0.0, 0)
            assert (hand.engage, hand.clutch, hand.grip) == (1, True, 1.0)
            held = {key for key, switch in keyboard._held.items() if switch.held}
            assert held == {"e", "c", "p"}
            os.close(ours)
            with pytest.raises(BrazoError, match="the terminal is closed"):
                keyboard.read(0.1, 0)
        finally:
            keyboard.close()


def test_a_keyboard_needs_a_terminal():
    with pytest.raises(BrazoError, match="needs a terminal"):
        Keyboard()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no device files to imitate here")
def test_a_joystick_device_is_read(tmp_path):
    path = tmp_path / "js0"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    writer = os.open(path, os.O_WRONLY)
    stick = Joystick(path, speed=0.2)

    def event(kind, number, value):
        os.write(writer, struct.pack("IhBB", 0, value, kind, number))

    try:
        assert not stick.read(0.0, 0).run
        event(0x81, 0, 1)  # the state at the beginning
        event(1, 1, 1)
        event(2, 1, -32767)
        event(2, 0, 1000)  # inside the dead zone
        hand = stick.read(0.01, 0)
        assert hand.run and hand.engage == 1
        hand = stick.read(0.02, 0)
        assert hand.moved == pytest.approx([0.2 * 0.02, 0, 0])
        event(1, 0, 0)
        event(1, 2, 1)
        event(1, 5, 1)
        hand = stick.read(0.03, 0)
        assert not hand.run and hand.clutch and hand.grip == 1.0
    finally:
        stick.close()
        os.close(writer)
        os.close(reader)
    with pytest.raises(BrazoError, match=r": no joystick \("):
        Joystick(tmp_path / "none")


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    """A Delta's handle drives a SCARA in a simulation; both ends write down what they see."""
    folder = tmp_path_factory.mktemp("session")
    delta = brazo.load("delta")
    sim = Simulation(as_cell("robot:teleop-scara"))
    arm = sim.robots["teleop-scara"].arm
    limits = limits_of(arm)
    mapping = PoseMap(arm, limits, delta, IncrementMap(scale=1.0))
    link = FollowerLink()
    with FollowerStation(
        sim, link, mapping=mapping, limits=limits, rules=RULES, record=folder / "follower.parquet"
    ) as station:
        start = sim.robots["teleop-scara"].tool()[:3, 3].copy()
        steps = []
        true_next = station.next

        def watched():
            sample = true_next()
            steps.append((station.step, mapping.pose[:3, 3]))
            return sample

        station.next = watched  # type: ignore[method-assign]
        station.robot.follow(station)
        with MasterLink(link.url) as master_link:
            master_link.wait(30)
            time.sleep(0.3)
            device = parse_script(SCRIPT)
            master = MasterStation(
                master_link, device, delta, rate=100, record=folder / "master.parquet"
            )
            said = []
            master.run(tell=said.append)
        log = list(station.follower.safety.log)
    sim.player.close()
    return folder, steps, log, said, start, limits


def test_the_simulated_arm_follows_the_hand(session):
    _, steps, log, said, start, limits = session
    assert any(transition.after is SafetyState.ENGAGED for transition in log)
    assert any("scale is 2.0" in text for text in said)
    assert any("ENGAGED" in text for text in said)
    # Delta's y is the SCARA's −z: 40 mm along y and a circle, as far as the link was well.
    places = np.array([place for step, place in steps if step.share > 0.0])
    assert len(places) > 100
    assert np.linalg.norm(places - start, axis=1).max() > 0.01
    for (before, _), (after, _) in itertools.pairwise(steps):
        moved = np.abs(after.sample.q - before.sample.q)
        assert (moved <= limits.speed * 0.01 + 1e-9).all()
        if after.share > 0.0:
            assert after.age <= RULES.stale


def test_both_recordings_share_a_clock(session):
    folder, *_ = session
    follower = Recording.open(folder / "follower.parquet")
    master = Recording.open(folder / "master.parquet")
    assert follower.about["station"] == "follower" and follower.unit("q.lift") == "m"
    assert np.nanmax(np.abs(master["offset"])) < 0.05  # one machine: the clocks are the same
    both = together(follower, master)
    run = both["run"][0]
    assert np.isnan(run[0]) and np.nanmax(run) == 1.0
    # The follower engages when the hand does, on the common axis.
    engaged = follower.t[follower["state"] == SafetyState.ENGAGED]
    pressed = follower.t[np.nan_to_num(run) == 1.0]
    assert engaged[0] >= pressed[0] - 0.02
    assert any("ENGAGED" in str(event["text"]) for event in follower.events)


def test_a_page_of_the_session(session, tmp_path):
    folder, *_ = session
    page = tmp_path / "session.html"
    numbers = session_report(folder / "follower.parquet", page, folder / "master.parquet")
    assert float(numbers["following"].split()[0]) > 0.0
    follower = Recording.open(folder / "follower.parquet")
    acted, accepted = (int(follower[name].max()) for name in ("acted", "accepted"))
    assert len(np.unique(follower["seq"])) - 1 <= acted <= accepted and acted > 20
    assert numbers["commands used"].startswith(f"{acted} of {accepted} accepted (only while")
    assert numbers["age of commands"].startswith("median ")
    rows = np.diff(follower["simulated"])  # in simulated time, independent of the wall clock
    assert rows == pytest.approx(rows[0], rel=1e-9) and rows[0] > 0.0
    text = page.read_text(encoding="utf-8")
    for state in SafetyState:
        assert f">{state.name}<" in text  # at the axis
    assert "mapping by pose: scale 2, master axes" in text and "directions&quot;" not in text
    for part in ("Teleoperation of teleop-scara", "one-way latency", "master&#x27;s handle"):
        assert part in text or part.replace("&#x27;", "'") in text, part
    alone = session_report(folder / "follower.parquet", tmp_path / "alone.html")
    assert "commands sent" not in alone
    with pytest.raises(BrazoError, match="not the recording of a follower"):
        session_report(folder / "master.parquet", page)


def test_delay_between_hand_and_tool_is_identified():
    t = np.arange(0.0, 10.0, 0.004)
    columns = {"t": (t, "s"), "state": (np.ones_like(t), ""), "clutch": (np.zeros_like(t), "")}
    for name, late in (("handle", 0.0), ("tool", 0.085)):
        for axis, rate in zip("xyz", (1.0, 1.7, 2.3), strict=True):
            since = np.maximum(t - late, 0.0)
            columns[f"{name}.{axis}"] = (0.1 * np.sin(rate * since**1.2), "m")
    assert delay(Recording(columns)) == pytest.approx(0.085, abs=0.006)
    touched = {f"force.{axis}": (np.where(t > 5.0, 2.0, 0.0), "N") for axis in "xyz"}
    assert math.isnan(delay(Recording(columns | touched)))
    columns["state"] = (np.zeros_like(t), "")
    assert math.isnan(delay(Recording(columns)))


@pytest.mark.filterwarnings("error")
def test_lost_link_counts_in_the_time_to_hold():
    """HOLD at 1 s by a stall, at 2 s by a lost link, after which no command is known."""
    t = np.arange(0.0, 3.0, 0.01)
    hold = ((t > 0.995) & (t < 1.5)) | (t > 1.995)
    age = np.where((t > 0.995) & (t < 1.5), 0.125, 0.004)
    age[(t > 1.915) & (t < 1.995)] = 0.004 + t[(t > 1.915) & (t < 1.995)] - 1.91
    columns = {
        "t": (t, "s"),
        "state": (np.where(hold, 3.0, 1.0), ""),
        "age": (age, "s"),
        "latency": (np.full_like(t, 1e-3), "s"),
        "seq": (np.arange(len(t), dtype=float), ""),
        **{
            f"{part}.{axis}": (np.zeros_like(t), "m")
            for part in ("tool", "target")
            for axis in "xyz"
        },
    }
    reported = "max time from the last valid command to HOLD"
    age[t > 1.995] = np.nan  # with the link the commands are forgotten
    assert follower_numbers(Recording(columns))[reported] == "125 ms"
    age[(t > 1.915) & (t < 1.995)] += 0.1
    assert follower_numbers(Recording(columns))[reported] == "194 ms"
    later = {name: (values[t > 1.5], unit) for name, (values, unit) in columns.items()}
    assert follower_numbers(Recording(later))[reported] == "194 ms"  # with nothing but a lost link


def test_fidelity_is_the_ratio_of_felt_and_contact_force():
    t = np.arange(0.0, 2.0, 0.004)
    met = np.where(t > 1.0, 5.0, 0.0)
    columns = {"t": (t, "s")}
    for axis, share in zip("xyz", (0.0, 0.6, 0.8), strict=True):
        columns[f"force.{axis}"] = (share * met, "N")
        columns[f"felt.{axis}"] = (np.where(t > 0.5, -0.9 * share * met, np.nan), "N")
    assert fidelity(Recording(columns)) == pytest.approx(0.9)
    columns["felt.x"] = (np.full_like(t, np.nan), "N")  # nothing puts a force on this hand
    assert fidelity(Recording(columns)) is None
    del columns["felt.x"]
    assert fidelity(Recording(columns)) is None


def test_from_the_shell(tmp_path):
    script = tmp_path / "hand.yaml"
    script.write_text(SCRIPT, encoding="utf-8")
    brazo_teleop = [sys.executable, "-m", "brazo.cli.main", "teleop"]
    follower = subprocess.Popen(
        [
            *brazo_teleop,
            "follower",
            "--robot",
            "scara2",
            "--listen",
            "127.0.0.1:0",
            "--record",
            "f.parquet",
            "--headless",
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
    )
    with follower:
        try:
            assert follower.stdout is not None
            first = follower.stdout.readline()
            assert first.startswith("scara2: follower at ws://127.0.0.1:"), follower.stderr.read()
            address = first.split("ws://")[1].split("/")[0]
            done = subprocess.run(
                [*brazo_teleop, "master", "--connect", address, "--script", str(script)]
                + ["--record", "m.parquet", "--headless"],
                capture_output=True,
                text=True,
                cwd=tmp_path,
                timeout=120,
            )
            assert done.returncode == 0, done.stderr
            assert "ENGAGED: engaged" in done.stdout
        finally:
            follower.kill()
    # Killed: what it wrote down can be read all the same.
    done = subprocess.run(
        [*brazo_teleop, "report", "f.parquet.part", "--master", "m.parquet", "--json"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert float(json.loads(done.stdout)["following"].split()[0]) > 0.0
    assert (tmp_path / "session.html").exists()


def test_failed_station_ends_the_command(tmp_path, monkeypatch, capsys):
    """A directory can be opened like a device file, and then gives nothing."""
    where = ["--connect", "127.0.0.1:9", "--page", "127.0.0.1:0", "--no-browser"]
    what = ["--device", "joystick", "--joystick", str(tmp_path), "--seconds", "60"]
    monkeypatch.setattr(sys, "argv", ["brazo", "teleop", "master", *where, *what])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 2
    error = capsys.readouterr().err
    assert "the station stopped: " in error and "the joystick was disconnected" in error
    assert error.count("\n") == 1


def test_counts_of_one_are_singular():
    said = _counted({"connections": 1, "commands": 2, "clock jumps": 1, "status not sent": 1})
    assert said == "1 connection, 2 commands, 1 clock jump, 1 status not sent"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["follower"], "give exactly one of --robot NAME and --cell NAME"),
        (["follower", "--cell", "cooperative"], "choose one: --of scara1 or scara2"),
        (["follower", "--robot", "delta", "--map", "magic"], "expected pose or joint"),
        (["follower", "--robot", "delta", "--box", "1,2"], "expected xmin,xmax"),
        (["follower", "--robot", "delta", "--key", "k.pem"], "both --certificate and --key"),
        (["master", "--connect", "127.0.0.1:9", "--device", "script"], "needs --script FILE"),
        (["master", "--connect", "127.0.0.1:9", "--headless"], "omit --headless"),
        (["master", "--connect", "127.0.0.1:9", "--device", "hat"], "expected script, keyboard"),
        (
            ["master", "--connect", "127.0.0.1:9", "--device", "keyboard", "--deadman", "0.5"],
            "--deadman is only allowed with --device browser",
        ),
        (["master", "--connect", "a..b:9", "--device", "browser"], "invalid host name"),
        (["follower", "--robot", "delta", "--listen", "a..b:9"], "invalid host name"),
        (["follower", "--listen", "127.0.0.1:abc"], "the port must be from 0 to 65535"),
        (["master", "--connect", "robot:abc"], "expected host:port, such as 127.0.0.1:9000"),
        (["report", "none.parquet"], "none.parquet"),
    ],
)
def test_bad_input_on_the_shell_is_one_line(arguments, said, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["brazo", "teleop", *arguments])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1
