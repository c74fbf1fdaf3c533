"""The documentation builds, is complete, has working examples and needs no network."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest
from sphinx.util.inventory import InventoryFile

import brazo

DOCS = Path(__file__).parents[1] / "docs"
ROBOT_MEMBERS = [name for name in vars(brazo.Robot) if not name.startswith("_")]


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
    public |= {f"brazo.Robot.{name}" for name in ROBOT_MEMBERS}
    missing = sorted(public - documented)
    assert not missing, f"no entry in docs/api.md for {', '.join(missing)}"


@pytest.mark.parametrize("name", [n for n in brazo.__all__ if not n.startswith("__")])
def test_public_name_has_a_docstring(name: str) -> None:
    assert _has_own_docstring(getattr(brazo, name)), f"brazo.{name} has no docstring"


@pytest.mark.parametrize("name", ROBOT_MEMBERS)
def test_robot_member_has_a_docstring(name: str) -> None:
    member = inspect.getattr_static(brazo.Robot, name)
    assert _has_own_docstring(member), f"Robot.{name} has no docstring"


def test_pages_load_nothing_from_elsewhere(site: Path) -> None:
    loads = re.compile(r"<(?:script|img|iframe|link)\b[^>]*\b(?:src|href)=\"(?:https?:)?//[^>]*>")
    found = {
        f"{page.relative_to(site)}: {tag}"
        for page in site.rglob("*.html")
        for tag in loads.findall(page.read_text(encoding="utf-8"))
    }
    assert not found


PAGES = [*sorted(DOCS.glob("*.md")), DOCS.parent / "README.md"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_robot_files_on_the_page_load(page: Path, tmp_path: Path) -> None:
    for block in re.findall(r"^```yaml\n(.*?)^```", page.read_text("utf-8"), re.M | re.S):
        file = tmp_path / "robot.yaml"
        file.write_text(block, encoding="utf-8")
        arm = brazo.load(file)
        assert not arm.findings
        arm.fk(arm.random_q(seed=1))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_on_the_page_runs(page: Path) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text("utf-8"), re.M | re.S)
    done = subprocess.run([sys.executable, "-c", "\n".join(blocks)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def _has_own_docstring(member: object) -> bool:
    doc = inspect.getdoc(member)
    return bool(doc and doc.strip()) and doc != inspect.getdoc(type(member))
