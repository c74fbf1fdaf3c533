"""`brazo doctor` on a healthy machine, on every route, and on machines with something wrong."""

import json

import pytest
import typer
from typer.testing import CliRunner

from brazo.cli import doctor
from brazo.codegen import jit
from brazo.codegen.route import ROUTES, route
from brazo.codegen.trigonometry import emit_sincos


@pytest.fixture
def run(monkeypatch, tmp_path):
    monkeypatch.setenv("BRAZO_CACHE_DIR", str(tmp_path / "objects"))
    app = typer.Typer()
    doctor.register(app)

    def run(way: str = "") -> tuple[int, dict[str, dict]]:
        monkeypatch.setenv("BRAZO_ROUTE", way)
        route.cache_clear()
        result = CliRunner().invoke(app, ["--json"])
        report = json.loads(result.stdout)
        assert report["healthy"] == (result.exit_code == 0)
        return result.exit_code, {check["name"]: check for check in report["checks"]}

    yield run
    route.cache_clear()


@pytest.mark.parametrize("way", ["", *ROUTES])
def test_a_healthy_machine(run, way):
    code, checks = run(way)
    assert code == 0, checks
    assert checks["route"]["found"].startswith(way or "builtin")
    assert {
        "Python",
        "CPU",
        "LLVM",
        "SIMD",
        "cache",
        "threads",
        "numbers",
        "puma560",
        "native steps",
    } <= set(checks)


def test_a_route_that_is_none_is_wrong(run):
    code, checks = run("gpu")
    assert code == 1 and not checks["route"]["ok"]


def test_no_llvm_is_wrong_but_the_numbers_are_right(run, monkeypatch):
    monkeypatch.setattr(jit, "unusable", lambda: "llvmlite cannot be imported (gone)")
    with pytest.warns(RuntimeWarning, match="interprets"):
        code, checks = run()
    assert code == 1 and not checks["LLVM"]["ok"] and not checks["route"]["ok"]
    assert checks["numbers"]["ok"] and checks["puma560"]["ok"]


def test_a_cache_that_cannot_be_written_is_wrong(run, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("BRAZO_CACHE_DIR", str(tmp_path / "file" / "below"))
    code, checks = run()
    assert code == 1 and not checks["cache"]["ok"] and checks["numbers"]["ok"]


def test_wrong_numbers_are_noticed(run, monkeypatch):
    """A code generator that swaps sine and cosine."""

    def swapped(e, x, want_sin, want_cos):
        s, c = emit_sincos(e, x, True, True)
        return c if want_sin else "", s if want_cos else ""

    monkeypatch.setattr("brazo.codegen.llvm.emit_sincos", swapped)
    code, checks = run()
    assert code == 1 and not checks["numbers"]["ok"] and not checks["puma560"]["ok"]


def test_people_get_a_table(monkeypatch):
    app = typer.Typer()
    doctor.register(app)
    result = CliRunner().invoke(app, [])
    assert result.exit_code == 0
    assert "all is well" in result.stdout and "LLVM" in result.stdout
