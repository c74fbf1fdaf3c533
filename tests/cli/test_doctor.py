"""`brazo doctor` on a working machine, for every route, and on machines with faults."""

import json

import pytest
import typer
from typer.testing import CliRunner

from brazo.cli import doctor
from brazo.codegen import jit
from brazo.codegen.call_route import ROUTES, route
from brazo.codegen.trigonometry import emit_atan2, emit_sincos


@pytest.fixture
def run(monkeypatch, tmp_path):
    monkeypatch.setenv("BRAZO_CACHE_DIR", str(tmp_path / "objects"))
    app = typer.Typer()
    doctor.register(app)

    def run(forced: str = "") -> tuple[int, dict[str, dict]]:
        monkeypatch.setenv("BRAZO_ROUTE", forced)
        route.cache_clear()
        result = CliRunner().invoke(app, ["--json"])
        report = json.loads(result.stdout)
        assert report["healthy"] == (result.exit_code == 0)
        return result.exit_code, {check["name"]: check for check in report["checks"]}

    yield run
    route.cache_clear()


@pytest.mark.parametrize("forced", ["", *ROUTES])
def test_all_checks_pass_on_a_working_machine(run, forced):
    code, checks = run(forced)
    assert code == 0, checks
    assert checks["route"]["found"].startswith(forced or "builtin")
    assert {
        "Python",
        "CPU",
        "LLVM",
        "SIMD",
        "cache",
        "threads",
        "accuracy",
        "puma560 inverse dynamics",
        "puma560 forward dynamics",
        "native steps",
    } <= set(checks)


def test_unknown_route_fails(run):
    code, checks = run("gpu")
    assert code == 1 and not checks["route"]["ok"]


def test_missing_llvm_fails_but_results_are_accurate(run, monkeypatch):
    monkeypatch.setattr(jit, "unusable", lambda: "llvmlite cannot be imported (missing)")
    with pytest.warns(RuntimeWarning, match="interpreted"):
        code, checks = run()
    assert code == 1 and not checks["LLVM"]["ok"] and not checks["route"]["ok"]
    assert checks["accuracy"]["ok"] and checks["puma560 inverse dynamics"]["ok"]


def test_unwritable_cache_fails(run, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("BRAZO_CACHE_DIR", str(tmp_path / "file" / "below"))
    code, checks = run()
    assert code == 1 and not checks["cache"]["ok"] and checks["accuracy"]["ok"]


def test_wrong_results_fail(run, monkeypatch):
    """The code generator swaps sine and cosine."""

    def swapped(e, x, want_sin, want_cos):
        s, c = emit_sincos(e, x, True, True)
        return c if want_sin else "", s if want_cos else ""

    monkeypatch.setattr("brazo.codegen.llvm.emit_sincos", swapped)
    code, checks = run()
    assert code == 1
    assert not checks["accuracy"]["ok"] and not checks["puma560 inverse dynamics"]["ok"]


def test_wrong_angles_fail(run, monkeypatch):
    """The code generator swaps the arguments of atan2."""
    monkeypatch.setattr("brazo.codegen.llvm.emit_atan2", lambda e, y, x: emit_atan2(e, x, y))
    code, checks = run()
    assert code == 1 and not checks["accuracy"]["ok"]


def test_batches_that_differ_from_single_calls_are_reported(run, monkeypatch):
    monkeypatch.setattr("brazo.codegen.diagnose.np.allclose", lambda *args: False)
    code, checks = run("numpy")
    assert code == 1 and not checks["batches"]["ok"]
    assert checks["batches"]["found"] == "rows differ from single calls"


def test_table_without_json(monkeypatch):
    app = typer.Typer()
    doctor.register(app)
    result = CliRunner().invoke(app, [])
    assert result.exit_code == 0
    assert "all checks passed" in result.stdout and "LLVM" in result.stdout
