# The two commands of the README are `make demo` and `make test`; the others are for people who change the code.
# Needs Python 3.11 or later with its venv module, and a package index that pip can reach. Nothing else.

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
EXAMPLES := manifests/examples

.DEFAULT_GOAL := help
.PHONY: help demo test e2e e2e-slow lint format types contracts check bench coverage clean

help: ## Show what there is to make
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# A stamp per set of packages: made again when pyproject.toml changes.
$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "gangcheck needs Python 3.11 or later; '$(PYTHON)' is older or missing. Try: make PYTHON=python3.12" >&2; exit 2; }
	@$(PYTHON) -m venv $(VENV) || \
	  { echo "'$(PYTHON) -m venv' failed. On Debian and Ubuntu: apt-get install python3-venv" >&2; exit 2; }
	@touch $@

$(VENV)/.installed: $(VENV)/.made pyproject.toml
	@echo 'Installing gangcheck and its dependencies into $(VENV): a minute or two.' >&2
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.made pyproject.toml
	@echo 'Installing gangcheck and what its tests need into $(VENV): a minute or two.' >&2
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@ $(VENV)/.installed

demo: $(VENV)/.installed ## Lint a gang with three mistakes and the mended one, then show reviews to the server
	@echo '$$ gangcheck lint $(EXAMPLES)/broken-gang.yaml'
	@$(BIN)/gangcheck lint $(EXAMPLES)/broken-gang.yaml; test $$? -eq 1
	@echo
	@echo '$$ gangcheck lint $(EXAMPLES)/mended-gang.yaml'
	@$(BIN)/gangcheck lint $(EXAMPLES)/mended-gang.yaml
	@echo
	@$(BIN)/python $(EXAMPLES)/try_server.py

test: $(VENV)/.installed-dev ## Run the tests
	@$(BIN)/python -m pytest

e2e: $(VENV)/.installed-dev ## Run the tests that need a control plane; the first time it is built (Go 1.25)
	@$(BIN)/python tests/e2e/build.py
	@GANGCHECK_E2E=1 $(BIN)/python -m pytest -m 'not e2e_slow' tests/e2e

e2e-slow: $(VENV)/.installed-dev ## Run those of them that take minutes
	@$(BIN)/python tests/e2e/build.py
	@GANGCHECK_E2E=1 $(BIN)/python -m pytest -m e2e_slow tests/e2e

lint: $(VENV)/.installed-dev ## Check the style
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

format: $(VENV)/.installed-dev ## Put the style right
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

types: $(VENV)/.installed-dev ## Check the types
	@$(BIN)/mypy

contracts: $(VENV)/.installed-dev ## Check who imports whom
	@$(BIN)/lint-imports --no-cache

check: test lint types contracts ## All of the above checks

coverage: $(VENV)/.installed-dev ## Run the tests and show what they do not reach
	@$(BIN)/python -m pytest --cov --cov-report=term-missing --cov-fail-under=95

bench: $(VENV)/.installed-dev ## Measure the speed, as ratios within this run
	@$(BIN)/python tests/bench/linting.py
	@$(BIN)/python tests/bench/serving.py
	@$(BIN)/python tests/bench/rules.py

clean: ## Remove what the other commands made
	@rm -rf $(VENV) .coverage .hypothesis .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
