"""Two machines joined by a bad wire, made by the kernel; skipped only where it refuses to."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
UNSHARE = ["unshare", "--user", "--map-root-user", "--net"]
TRIALS = {
    "a TUN device": ["ip", "tuntap", "add", "m0", "mode", "tun"],
    "netem": ["tc", "qdisc", "add", "dev", "lo", "root", "netem", "delay", "1ms"],
}


def allowed(what):
    """Skip where there are no namespaces, or the kernel lacks the feature."""
    if sys.platform != "linux":
        pytest.skip("network namespaces are Linux's")
    missing = [name for name in ("unshare", "nsenter", "ip", "tc") if shutil.which(name) is None]
    assert not missing, f"install {', '.join(missing)} (util-linux, iproute2)"
    trial = subprocess.run([*UNSHARE, *TRIALS[what]], capture_output=True, text=True)
    if trial.returncode:
        pytest.skip(f"the kernel refuses {what}: {trial.stderr.strip()}")


def run(scenario):
    command = [*UNSHARE, sys.executable, "-m", "tests.teleop.two_namespaces", scenario]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert found["checked"] == 0, "a promise was broken; see the follower's own checks"
    for hold in found["end"]["holds"]:
        assert hold["after"] <= 0.12 + hold["pause"] + 1e-3, hold
    for wrong in ("replayed", "malformed", "missing"):
        assert found["end"]["counts"].get(wrong, 0) == 0, wrong
    return found


@pytest.mark.parametrize("scenario", ["blackout", "unplugged"])
def test_dead_link_causes_hold_in_time_and_recovers(scenario):
    allowed("a TUN device")
    found = run(scenario)
    assert any(hold["t"] > found["begin"] for hold in found["after"]["holds"])
    assert found["stood"] == "HOLD"


def test_lost_packets():
    allowed("a TUN device")
    found = run("lossy")
    assert found["lost"] > 0.01 * found["packets"] > 1
    assert found["round_trip"] >= 0.016


def test_netem_faults_of_the_kernel():
    allowed("netem")
    run("netem")
