# Set-up, running, checks and tests of brazo.
# Everything is installed into .venv; only make, git and Python are needed beforehand.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check install --quiet -c constraints.txt
ARGS   ?=

# Do not check for a newer type checker over the network.
export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1
# Compiled modules are kept: tests start hundreds of processes that import brazo.  Only pytest itself
# writes them (tests/conftest.py).
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup run check lint format test bench docs clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(VENV)/dev.stamp $(VENV)/page.stamp ## install brazo and its development tools into .venv, and the programs that tests run
	@sh tools/test_programs.sh

run: $(VENV)/run.stamp ## start the lab; pass arguments to brazo with ARGS="robots"
	@$(BIN)/brazo $(ARGS)

check: lint ## format, lint, types and layers, without changing a file
	$(BIN)/python tools/type_check.py

lint: $(VENV)/dev.stamp $(VENV)/page.stamp ## all of check but the types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	$(BIN)/python tools/page_checks.py
	$(BIN)/python tools/large_files.py

format: $(VENV)/dev.stamp ## rewrite the code in the one format and apply the safe lint fixes
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# tests/test_types.py checks the types, at the same time as other tests.
test: setup lint ## check everything and run every test; pass ARGS="tests/model" to choose
	HYPOTHESIS_PROFILE=ci $(BIN)/pytest $(ARGS)

bench: $(VENV)/dev.stamp ## measure brazo and its peers on this machine
	$(BIN)/brazo bench --peers $(ARGS)

docs: $(VENV)/dev.stamp ## build the documentation into build/docs; a warning is an error
	$(BIN)/sphinx-build -W --keep-going -q -b html docs build/docs
	@echo "open build/docs/index.html"

clean: ## remove .venv and everything that was built
	rm -rf $(VENV) build dist .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find src tests docs -name __pycache__ -type d -prune -exec rm -rf {} +

# An incomplete environment is removed, so that the next run does not use it.
$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit( \
	  "brazo: needs Python 3.11 or newer, and $(PYTHON) is " + sys.version.split()[0] + "; name another one: make PYTHON=python3.11 ...")'
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
	  echo "brazo: '$(PYTHON) -m venv' failed; on Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }

$(VENV)/run.stamp: pyproject.toml constraints.txt | $(BIN)/python
	@echo "installing brazo into $(VENV)"
	@$(PIP) -e .
	@touch $@

$(VENV)/dev.stamp: pyproject.toml constraints.txt | $(BIN)/python
	@echo "installing brazo and its development tools into $(VENV)"
	@$(PIP) -e '.[dev]'
	@touch $(VENV)/run.stamp $@

$(VENV)/page.stamp: tools/javascript/package.json $(VENV)/dev.stamp
	@echo "installing the checkers of the page's scripts into $(VENV)/javascript"
	@$(BIN)/python tools/page_checks.py --install
	@touch $@
