"""The checks of the page's scripts find what is wrong, and nothing in ours."""

import json

import page_checks
import pytest


@pytest.fixture(autouse=True)
def installed():
    for program in (page_checks.TSC, page_checks.BIOME):
        assert program.exists(), f"{program} is missing: make setup installs it"


def test_a_wrong_type_is_found(tmp_path):
    script = tmp_path / "wrong.js"
    script.write_text("export const n = Math.max('one', 2);\nconst s = n.trim();\n")
    configuration = json.loads((page_checks.CONFIGURATION / "tsconfig.json").read_text())
    del configuration["compilerOptions"]["rootDir"]
    (tmp_path / "tsconfig.json").write_text(json.dumps(configuration | {"include": [str(script)]}))
    done = page_checks.check_types(tmp_path)
    assert done.returncode
    assert "wrong.js(1,27): error TS2345" in done.stdout
    assert "wrong.js(2,13): error TS2339" in done.stdout


def test_a_name_that_nothing_declares_is_found(tmp_path):
    script = tmp_path / "wrong.js"
    script.write_text("export const n = absent + 1;\n")
    done = page_checks.lint(script)
    assert done.returncode and "noUndeclaredVariables" in done.stdout + done.stderr


def test_the_page_is_clean():
    for done in (page_checks.check_types(), page_checks.lint()):
        assert done.returncode == 0, done.stdout + done.stderr
