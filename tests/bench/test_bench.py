"""`brazo bench`: every section, plausible figures, and omission of engines that disagree."""

import json
import math
import sys

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from brazo.bench import SECTIONS, Settings, batch, run
from brazo.bench.arms import general_arm, puma, states
from brazo.bench.clock import race
from brazo.bench.peers import OPERATIONS, agrees, installed
from brazo.cli import bench
from brazo.errors import BrazoError

TABLES = {
    "peak",
    "single",
    "single_general",
    "batch",
    "batch_general",
    "peak_share",
    "ik_single",
    "ik_batch",
    "ik_general",
    "derivatives",
    "loop",
    "loop_batch",
    "loop_study",
    "paper",
    "compile",
    "startup",
}


@pytest.fixture(scope="module")
def report(tmp_path_factory) -> dict:
    """A quick run with every peer, through the command."""
    app = typer.Typer()
    bench.register(app)
    file = tmp_path_factory.mktemp("bench") / "figures.json"
    result = CliRunner().invoke(app, ["--quick", "--peers", "--json", str(file)])
    assert result.exit_code == 0, result.output
    assert "One call, Puma 560" in result.output
    return json.loads(file.read_text(encoding="utf-8"))


def _section(report, key) -> dict:
    return next(s for s in report["sections"] if s["key"] == key)


def test_every_section_has_figures_that_are_numbers(report):
    assert {s["key"] for s in report["sections"]} == TABLES
    for section in report["sections"]:
        assert section["rows"], section["key"]
        for row in section["rows"]:
            for value in row.values():
                assert isinstance(value, (str, int)) or (math.isfinite(value) and value > 0.0)
    assert report["machine"]["cpus"] >= 1 and report["settings"]["quick"]


def test_all_peers_agree_and_are_timed(report):
    for key in ("single", "single_general"):
        section = _section(report, key)
        assert section["notes"] == []
        assert [row["operation"] for row in section["rows"]] == list(OPERATIONS)
        for row in section["rows"]:
            for peer in ("Pinocchio", "MuJoCo", "Robotics Toolbox", "CasADi C"):
                assert row[f"{peer} / out="] > 0.0
    assert all("brazo / Pinocchio" in row for row in _section(report, "batch")["rows"])
    for row in _section(report, "ik_single")["rows"]:
        assert row["EAIK / brazo"] > 0.0 and row["ssik / brazo"] > 0.0
    assert all("EAIK / brazo" in row for row in _section(report, "ik_batch")["rows"])
    general = _section(report, "ik_general")
    assert general["notes"] == []
    assert [row.get("ssik / brazo", 0.0) > 0.0 for row in general["rows"]] == [False, True, True]
    assert "MuJoCo / brazo" in _section(report, "loop")["rows"][0]
    for name in ("loop_batch", "loop_study"):
        assert "rollout / brazo" in _section(report, name)["rows"][0]
    methods = [row["method"] for row in _section(report, "paper")["rows"]]
    assert len(methods) == 4 and "M, C, G, inverse, RK4: C" in methods


def test_brazo_is_faster_than_its_peers(report):
    """Wide bounds, because a quick run on a busy machine is not a measurement."""
    for row in _section(report, "batch")["rows"]:
        if row["threads"] == 1:
            assert row["brazo / Pinocchio"] > 5.0
    for row in _section(report, "derivatives")["rows"]:
        assert row["Pinocchio / brazo, batch"] > 5.0
    assert _section(report, "loop")["rows"][0]["MuJoCo / brazo"] > 3.0


def test_an_engine_that_disagrees_is_not_timed(monkeypatch):
    from brazo.bench import single
    from brazo.bench.peers import Peer, TimedCall

    class Liar(Peer):
        name = "Liar"

        def single(self, arm, at):
            return {"inverse_dynamics": TimedCall(lambda: None, lambda: np.zeros(arm.n))}

    monkeypatch.setattr(single, "installed", lambda arm: ([Liar()], []))
    section = single.measure(Settings(peers=True, quick=True))[0]
    assert section.notes == ["Liar disagrees on inverse_dynamics and is not timed"]
    assert not any("Liar" in column for column in section.columns)


def test_the_general_arm_is_general():
    arm = general_arm()
    for row, body in zip(arm.model.dh, arm.model.bodies[1:], strict=True):
        assert row.a and row.d and abs(math.sin(2.0 * row.alpha)) > 0.1
        assert np.all(body.inertia.tensor) and np.all(body.inertia.com)
    assert batch.flops(arm.dynamics.kernels.inverse_dynamics) > 1.5 * batch.flops(
        puma().dynamics.kernels.inverse_dynamics
    )


def test_every_peer_answers_for_both_arms():
    for arm in (puma(), general_arm()):
        at = states(arm, 3)
        peers, notes = installed(arm)
        assert len(peers) == 4 and notes == []
        for peer in peers:
            for operation, task in peer.single(arm, at).items():
                inputs = {
                    "inverse_dynamics": (at.q[0], at.qd[0], at.qdd[0]),
                    "forward_dynamics": (at.q[0], at.qd[0], at.tau[0]),
                }.get(operation, (at.q[0],))
                assert agrees(getattr(arm, operation)(*inputs), task.answer(), 1e-10)
            for operation, task in peer.batch(arm, at, 1).items():
                last = at.qdd if operation == "inverse_dynamics" else at.tau
                assert agrees(getattr(arm, operation)(at.q, at.qd, last), task.answer(), 1e-10)


def test_timing_keeps_the_best_round():
    calls = []
    settings = Settings(quick=True)
    best = race(settings, {"a": lambda: calls.append(1), "b": lambda: sum(range(1000))}, work=2.0)
    assert 0.0 < best["a"] < best["b"] < 1e-3 and len(calls) > 100


def test_sections_can_be_selected_and_unknown_ones_are_rejected():
    assert [s.key for s in run(Settings(quick=True), ["peak"]).sections] == ["peak"]
    app = typer.Typer()
    bench.register(app)
    result = CliRunner().invoke(app, ["--only", "peak,speed"])
    assert isinstance(result.exception, BrazoError)
    assert "no section named speed; sections: " + ", ".join(SECTIONS) in str(result.exception)


def test_installed_package_reports_where_the_benchmarks_are(monkeypatch):
    for name in [name for name in sys.modules if name.startswith("brazo.bench")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr("brazo.bench", raising=False)
    monkeypatch.setattr("brazo.__path__", [])  # as in a wheel, which leaves them out
    app = typer.Typer()
    bench.register(app)
    result = CliRunner().invoke(app, [])
    assert isinstance(result.exception, BrazoError)
    assert "in a checkout" in str(result.exception)
