"""The documentation builds, is complete, has working examples and needs no network."""

from __future__ import annotations

import html
import importlib
import inspect
import json
import pydoc
import re
import subprocess
import sys
from functools import cached_property
from pathlib import Path

import generated_pages
import pytest
from sphinx.util.inventory import InventoryFile

import brazo
from tests import docs_blocks

DOCS = Path(__file__).parents[1] / "docs"


def _methods_of_robot() -> list[str]:
    return [n for n in dir(brazo.Robot) if inspect.isfunction(getattr(brazo.Robot, n))]


ROBOT_MEMBERS = [name for name in dir(brazo.Robot) if not name.startswith("_")]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built pages; a warning is an error."""
    out = tmp_path_factory.mktemp("docs")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html"]
    done = subprocess.run(
        [*command, "-d", str(out / "doctrees"), str(DOCS), str(out / "html")],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return out / "html"


@pytest.fixture(scope="module")
def documented(site: Path) -> set[str]:
    """Every Python name that has an entry in the built pages."""
    inventory = InventoryFile.loads((site / "objects.inv").read_bytes(), uri="")
    return {
        name for kind, names in inventory.data.items() if kind.startswith("py:") for name in names
    }


def test_every_public_name_has_an_entry(documented: set[str]) -> None:
    public = {f"brazo.{name}" for name in brazo.__all__}
    for module_name, names in generated_pages.documented_names().items():
        for name in names:
            public.add(f"{module_name}.{name}")
            value = getattr(importlib.import_module(module_name), name)
            if inspect.isclass(value) and not issubclass(value, Exception):
                public |= {f"{module_name}.{name}.{member}" for member in _methods(value)}
    missing = sorted(public - documented)
    assert not missing, f"no entry in the reference for {', '.join(missing)}"


def test_compiled_methods_show_signature_and_docstring(site: Path) -> None:
    page = (site / "generated" / "api" / "brazo.html").read_text("utf-8")
    entry = page.split('id="brazo.Robot.fk"')[1].split('id="brazo.Robot.frames"')[0]
    text = html.unescape(re.sub(r"<[^>]*>", "", entry))
    for shown in ("q: ArrayLike", "threads: int | None", "homogeneous transforms, lengths in m"):
        assert shown in text


def test_every_exported_module_is_in_the_reference() -> None:
    """A package with `__all__` that users import from has a page."""
    exporting = {
        f"brazo.{name}"
        for name in brazo._MODULES
        if hasattr(importlib.import_module(f"brazo.{name}"), "__all__")
    }
    assert exporting <= set(generated_pages.MODULES)


def test_every_command_and_option_has_an_entry(site: Path) -> None:
    page = (site / "generated" / "commands.html").read_text("utf-8")
    text = html.unescape(re.sub(r"<[^>]*>", "", page))
    for name, command in generated_pages.commands():
        assert f"{name}\n" in text or f"{name} " in text
        for parameter, meaning in generated_pages.parameters(name, command):
            assert parameter in text, f"{name}: no entry for {parameter}"
            assert meaning, f"{name} {parameter} has no help"


@pytest.mark.parametrize("name", [n for n in brazo.__all__ if not n.startswith("__")])
def test_public_name_has_a_docstring(name: str) -> None:
    assert _has_own_docstring(getattr(brazo, name)), f"brazo.{name} has no docstring"


def test_every_method_of_the_reference_has_a_docstring() -> None:
    """Its own, or that of the method it overrides."""
    missing: list[str] = []
    for module_name, names in generated_pages.documented_names().items():
        for name in names:
            cls = getattr(importlib.import_module(module_name), name)
            for member in _methods(cls) if inspect.isclass(cls) else ():
                docs = [getattr(vars(base).get(member), "__doc__", None) for base in cls.__mro__]
                if not any(docs):
                    missing.append(f"{module_name}.{name}.{member}")
    assert not missing


@pytest.mark.parametrize("name", ROBOT_MEMBERS)
def test_robot_member_has_a_docstring(name: str) -> None:
    member = inspect.getattr_static(brazo.Robot, name)
    assert _has_own_docstring(member), f"Robot.{name} has no docstring"


@pytest.mark.parametrize("name", [n for n in ROBOT_MEMBERS if n in _methods_of_robot()])
def test_help_shows_signature_shapes_and_units(name: str) -> None:
    arm = brazo.load("puma560")
    shown = pydoc.plain(pydoc.render_doc(getattr(arm, name)))
    signature = inspect.signature(getattr(brazo.Robot, name))
    parameters = [p for p in signature.parameters.values() if p.name != "self"]
    line, text = shown.split("\n\n", 1)[1].split("\n", 1)
    assert f"{name}(" in line
    for parameter in parameters:
        assert parameter.name in line, f"the signature has no {parameter.name}"
        if parameter.kind is not parameter.VAR_KEYWORD:
            assert re.search(rf"\b{parameter.name}\b", text), f"{parameter.name} is not described"
    annotations = (*(p.annotation for p in parameters), signature.return_annotation)
    if any("Array" in str(annotation) for annotation in annotations):
        assert re.search(r"\((\.\.\.|n|\d+),", text), "no shape"
        assert re.search(r"\b(rad|m|m/s²|kg|N|J|SI)\b", text), "no unit"


def test_pages_load_nothing_from_elsewhere(site: Path) -> None:
    loads = re.compile(r"<(?:script|img|iframe|link)\b[^>]*\b(?:src|href)=\"(?:https?:)?//[^>]*>")
    found = {
        f"{page.relative_to(site)}: {tag}"
        for page in site.rglob("*.html")
        for tag in loads.findall(page.read_text(encoding="utf-8"))
    }
    assert not found


NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.ipynb"))
PAGES = [*sorted(DOCS.glob("*.md")), DOCS.parent / "README.md"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_robot_files_on_the_page_load(page: Path, tmp_path: Path) -> None:
    for block in re.findall(r"^```yaml\n(.*?)^```", page.read_text("utf-8"), re.M | re.S):
        if page.name == "studies.md":
            assert brazo.study.parse_study(block).runs
            continue
        file = tmp_path / "robot.yaml"
        file.write_text(block, encoding="utf-8")
        arm = brazo.load(file)
        assert not arm.findings
        arm.fk(arm.random_q(seed=1))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_code_on_the_page_runs(page: Path, tmp_path: Path) -> None:
    text = page.read_text("utf-8")
    if not any(True for _ in docs_blocks.blocks(text)):
        return
    done = subprocess.run(
        [sys.executable, docs_blocks.__file__, page], capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_are_in_blocks_that_are_run(page: Path) -> None:
    """Indented code and `text` blocks are not run, so they contain no commands."""
    text = page.read_text("utf-8")
    shown = re.findall(r"^    (?:\$ )?(?:brazo|make) .*", text, re.M)
    for block in re.findall(r"^```(?:\{code-block\} )?(?:text)?\n(.*?)^```", text, re.M | re.S):
        shown += re.findall(r"^(?:\$ )?brazo .*", block, re.M)
    assert not shown, "use a ```sh block"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_ran_and_its_file_has_no_outputs(path: Path, site: Path) -> None:
    """The build runs the notebooks; an error in a cell fails it."""
    cells = json.loads(path.read_text("utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert all(not cell["outputs"] and cell["execution_count"] is None for cell in code)
    page = (site / "notebooks" / f"{path.stem}.html").read_text("utf-8")
    assert page.count("<img") >= sum("subplots" in "".join(cell["source"]) for cell in code)
    assert "Traceback" not in page and "Exercises" in page


def test_calls_of_the_comparison_tables_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every call in the last column of the tables; commands only have to be valid."""
    monkeypatch.chdir(tmp_path)
    for kind in ("urdf", "mjcf"):
        assert docs_blocks.run(["brazo", "export", "puma560", f"--{kind}"])[0] == 0
    (tmp_path / "puma560.urdf").rename("my.urdf")
    (tmp_path / "puma560.xml").rename("my.xml")
    page = (DOCS / "coming-from.md").read_text("utf-8")
    names: dict[str, object] = {}
    for block in docs_blocks.blocks(page):
        exec(block.code, names)
    rows = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| `")]
    assert len(rows) > 60 and all(len(row) == 2 for row in rows)
    for theirs, ours in rows:
        calls = re.findall(r"`([^`]+)`", ours)
        assert calls or ours == "not needed", theirs
        for call in calls:
            try:
                if call.startswith("brazo "):
                    docs_blocks.parse(call.split()[1:])
                else:
                    exec(compile(call, theirs, "single"), dict(names))
            except Exception as error:
                pytest.fail(f"{call}: {error!r}")


def _methods(cls: type) -> list[str]:
    """Public methods and properties that a class defines."""
    return [
        name
        for name, value in vars(cls).items()
        if not name.startswith("_")
        and (inspect.isroutine(value) or isinstance(value, (property, cached_property)))
    ]


def _has_own_docstring(member: object) -> bool:
    doc = inspect.getdoc(member)
    return bool(doc and doc.strip()) and doc != inspect.getdoc(type(member))
