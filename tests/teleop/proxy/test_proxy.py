"""The proxy's parts without a network, and that it changes nothing by itself."""

import math
import random
import time
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brazo.errors import BrazoError
from brazo.teleop.link.follower_link import FollowerLink
from brazo.teleop.link.master_link import MasterLink
from brazo.teleop.proxy import FaultProxy, Faults, FaultScript, load_script, parse_script
from brazo.teleop.proxy.line import FaultLine
from brazo.teleop.proxy.splitter import Splitter
from tests.teleop.rig import until

SCRIPT = """
seed: 7
steps:
  - {at: 0s, delay: 20ms, jitter: 5ms}
  - {at: 3s, for: 2s, loss: 0.5, stall: 200ms, direction: up}
  - {at: 4s, for: 500ms, delay: 100ms}
  - {at: 6s, for: 500ms, half_open: true}
  - {at: 7s, for: 1s, freeze: true, direction: down}
  - {at: 8s, cut: true}
  - {at: 8s, for: 2s, refuse: true}
  - {at: 12s, throttle: 1000}
"""


def test_script_lists_faults_over_time():
    script = parse_script(SCRIPT)
    assert script.seed == 7
    assert script.faults("up", 1.0) == Faults(delay=0.02, jitter=0.005)
    assert script.faults("up", 3.5).loss == 0.5 and script.faults("down", 3.5).loss == 0.0
    assert script.faults("up", 4.2) == Faults(delay=0.1, jitter=0.005, loss=0.5, stall=0.2)
    assert script.faults("up", 4.5).delay == 0.02
    assert script.faults("up", 6.2).half_open and not script.faults("up", 6.5).half_open
    assert script.thaw("down", 7.5) == 8.0
    assert [script.refuses(t) for t in (7.9, 8.0, 9.9, 10.0)] == [False, True, True, False]
    assert script.faults("up", 99.0).throttle == 1000.0
    assert str(script.steps[1]) == "loss 0.5, stall 0.2 (up) for 2 s"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("steps: [{at: 1s}]", "bad.yaml:1: steps[0]: a step must set at least one of"),
        ("steps:\n  - {delay: 1ms}", "bad.yaml:2: steps[0]: a step needs a start time"),
        ("steps: [{at: 0, delay: 1m}]", "expected a time"),
        ("steps: [{at: 0, loss: 2}]", "expected a fraction, 0 to 1"),
        ("steps: [{at: 0, delay: -1s}]", "at least 0"),
        ("steps: [{at: 0, throttle: 0}]", "greater than 0"),
        ("steps: [{at: 0, direction: side, cut: true}]", "choose up or down or both"),
        ("steps: [{at: 0, half_open: maybe}]", "choose true or false"),
        ("steps: [{at: 0, for: 0s, cut: true}]", "greater than 0"),
        ("steps: [{at: 0, dealy: 1s}]", "did you mean 'delay'"),
        ("seed: 1", "'steps' is missing"),
        ("seed: 1.5\nsteps: []", "not a whole number"),
    ],
)
def test_invalid_script_is_rejected_with_its_line(tmp_path, text, said):
    path = tmp_path / "bad.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(BrazoError) as error:
        load_script(path)
    assert said in str(error.value) and "bad.yaml:" in str(error.value)


def test_the_old_key_of_the_direction_is_read_with_a_warning():
    with pytest.warns(DeprecationWarning, match="'way' is now 'direction'"):
        script = parse_script("steps: [{at: 0, cut: true, way: up}]")
    assert script.steps[0].directions == ("up",)


def line(seed="1", script=None, way="up", **faults):
    script = script or FaultScript()
    one = Faults(**faults)
    return FaultLine(
        seed,
        (lambda t: one) if faults else lambda t: script.faults(way, t),
        lambda t: script.thaw(way, t),
        Counter(),
    )


def send(fault_line, count=500, period=0.002):
    """Send frames at a constant rate; return (time, number) in the order of arrival."""
    out = []
    for k in range(count):
        out += fault_line.push(k.to_bytes(4, "big"), k * period)
    return [(item.at, int.from_bytes(item.data, "big")) for item in sorted(out)]


def test_without_faults_everything_passes_at_once():
    assert send(line()) == [(k * 0.002, k) for k in range(500)]


@given(
    st.integers(0, 100),
    st.floats(0, 0.1),
    st.floats(0, 0.1),
    st.floats(0, 1),
    st.floats(10, 1e6),
)
def test_a_slow_network_keeps_the_order_and_loses_nothing(seed, delay, jitter, loss, throttle):
    out = send(line(str(seed), delay=delay, jitter=jitter, loss=loss, throttle=throttle), 100)
    assert [which for _, which in out] == list(range(100))
    assert all(at >= which * 0.002 + delay for at, which in out)


def test_seed_determines_the_faults():
    faults = {"jitter": 0.02, "loss": 0.1, "duplicate": 0.2, "reorder": 0.2}
    assert send(line("7", **faults)) == send(line("7", **faults))
    assert send(line("7", **faults)) != send(line("8", **faults))


def test_later_faults_do_not_change_the_random_sequence():
    early, late = (parse_script(f"steps: [{{at: {t}, duplicate: 0.2}}]") for t in ("0s", "500ms"))
    first, second = send(line(script=early)), send(line(script=late))
    half = [item for item in first if item[1] >= 250]
    assert half == [item for item in second if item[1] >= 250]


def test_fault_fractions_are_met():
    count = 20_000
    out = send(line(duplicate=0.1), count)
    assert len(out) - count == pytest.approx(0.1 * count, rel=0.1)
    out = [which for _, which in send(line(reorder=0.1), count)]
    late = sum(which < max(out[:i], default=0) for i, which in list(enumerate(out))[:2000])
    assert sorted(out) == list(range(count)) and late > 100


def test_lost_frame_delays_all_later_frames():
    fault_line = line("3", loss=0.01, stall=0.2)
    out = send(fault_line)
    stalls = [at - which * 0.002 for at, which in out]
    assert max(stalls) >= 0.2 - 1e-9
    first = next(i for i, stall in enumerate(stalls) if stall > 0)
    assert out[first][0] == out[first + 50][0]  # a burst, when it has been sent again


def test_throttle_limits_the_data_rate():
    out = send(line(throttle=400.0), 200)  # 4 bytes each
    assert out[-1][0] == pytest.approx(2.0, abs=0.01)


def test_half_open_drops_and_freeze_delays_frames():
    half = parse_script("steps: [{at: 100ms, for: 100ms, half_open: true}]")
    assert [which for _, which in send(line(script=half), 150)] == [*range(50), *range(100, 150)]
    frozen = parse_script("steps: [{at: 100ms, for: 100ms, freeze: true}]")
    out = send(line(script=frozen), 150)
    assert [which for _, which in out] == list(range(150))
    assert all(at == 0.2 for at, which in out if 50 <= which < 100)


def frame(size, mask, opcode=2, fin=True):
    head = bytes([(0x80 if fin else 0) | opcode])
    more = 0x80 if mask else 0
    if size < 126:
        head += bytes([more | size])
    elif size < 1 << 16:
        head += bytes([more | 126]) + size.to_bytes(2, "big")
    else:
        head += bytes([more | 127]) + size.to_bytes(8, "big")
    return head + (b"MASK" if mask else b"") + bytes(size)


@given(
    st.integers(0, 10**6),
    st.lists(st.sampled_from([0, 1, 125, 126, 300, 65535, 70000]), max_size=6),
)
def test_bytes_are_split_into_frames_for_any_chunking(seed, sizes):
    rng = random.Random(seed)
    pieces = [b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"]
    pieces += [frame(size, rng.random() < 0.5) for size in sizes]
    stream, found = b"".join(pieces), []
    splitter = Splitter()
    while stream:
        n = rng.choice([1, 2, 7, 100, 5000])
        found += splitter.feed(stream[:n])
        stream = stream[n:]
    assert [piece.data for piece in found] == pieces
    assert [piece.message for piece in found] == [False] + [True] * len(sizes)
    assert splitter.rest() == b""


def test_control_frames_and_parts_of_messages_are_never_repeated():
    splitter = Splitter()
    splitter.feed(b"\r\n\r\n")
    for data in (frame(0, True, 8), frame(4, True, 9), frame(5, True, 2, False), frame(5, True, 0)):
        assert [piece.message for piece in splitter.feed(data)] == [False]


def test_non_websocket_data_is_limited():
    splitter = Splitter()
    with pytest.raises(BrazoError, match="without a complete"):
        for _ in range(100):
            splitter.feed(b"x" * 65536)
    splitter = Splitter()
    splitter.feed(b"\r\n\r\n")
    with pytest.raises(BrazoError, match="websocket frame has"):
        splitter.feed(b"\x82\x7f" + (1 << 40).to_bytes(8, "big"))


def test_a_script_runs_on_a_real_connection():
    script = parse_script("steps: [{at: 300ms, cut: true}, {at: 300ms, for: 2s, refuse: true}]")
    with (
        FollowerLink() as follower,
        FaultProxy(follower.url, script) as proxy,
        MasterLink(f"127.0.0.1:{proxy.port}") as master,
    ):
        master.wait()
        first = master.session
        until(lambda: master.connected and master.session != first, "cut, and back")
        said = [text for _, text in proxy.events]
        assert said[0] == "connection 1" and "cut" in said
        assert "connection refused by the script" in said and said[-1] == "connection 2"
        times = {text: t for t, text in proxy.events}
        assert times["cut"] >= 0.3 and times["connection 2"] >= 2.3


def test_proxy_without_a_follower():
    with FaultProxy("127.0.0.1:9") as proxy, MasterLink(f"127.0.0.1:{proxy.port}") as master:
        until(lambda: any("does not answer" in text for _, text in proxy.events), "said")
        assert not master.connected
    with pytest.raises(BrazoError, match="expected host:port"):
        FaultProxy("nowhere")
    with pytest.raises(BrazoError, match="a fraction"):
        FaultProxy("a:1").set(loss=math.nan)


def test_a_delay_is_measured_as_a_round_trip():
    with (
        FollowerLink() as follower,
        FaultProxy(follower.url) as proxy,
        MasterLink(f"127.0.0.1:{proxy.port}") as master,
    ):
        proxy.set(delay=0.05)
        until(lambda: (trip := master.round_trip) and trip >= 0.1, "a long round trip")
        time.sleep(0.3)
        # Symmetric, so the offset of one clock against itself stays small.
        assert abs(master.offset) < 0.05
        assert follower.counts["clock jumps"] == master.counts["clock jumps"] == 0
