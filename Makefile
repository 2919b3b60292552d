# What there is to do with a checkout. Everything runs in .venv (the demo in .demo); PYTHON makes them.

PYTHON ?= python3
VENV ?= .venv
PY := $(VENV)/bin/python
PIP_FLAGS := --quiet --quiet --disable-pip-version-check --no-input
WORKERS ?= 2

.PHONY: help venv lint test test-full audit bench demo clean

help:
	@echo "make venv       the development environment in $(VENV)"
	@echo "make lint       style, types, and which layer may import which"
	@echo "make test       the tests with reduced counts"
	@echo "make test-full  every test with full counts"
	@echo "make audit      cards and graders on trial, in full, and the environment card: audit.json, audit.md, card.md"
	@echo "make bench      speed, as ratios measured in one run"
	@echo "make demo       two agents on the Effect cards, on a machine with nothing but Python 3.11 or later"
	@echo "make clean      remove what these made"

# torch goes first and by its exact version: asked for as somebody's dependency, it comes as a build of several gigabytes.
venv: python-version
	test -x $(PY) || $(PYTHON) -m venv $(VENV)
	$(PY) -m pip install $(PIP_FLAGS) -c constraints.txt torch==2.13.0
	$(PY) -m pip install $(PIP_FLAGS) -c constraints.txt -e '.[dev]'

.PHONY: made
made:
	@test -x $(PY) || { echo "there is no $(VENV); run 'make venv' first"; exit 1; }

lint: made
	$(PY) -m ruff check
	$(PY) -m ruff format --check
	$(PY) -m ty check
	$(VENV)/bin/lint-imports --no-logo

test: made
	$(PY) -m pytest -n $(WORKERS) -m "not slow"

test-full: made
	FIELDOPS_FULL=1 $(PY) -m pytest -n $(WORKERS)

audit: made
	$(VENV)/bin/fieldops audit --agents agents.suite --json audit.json --markdown audit.md
	$(VENV)/bin/fieldops card --agents agents.suite --audit audit.json --markdown card.md

bench: made
	$(PY) -m tests.bench

demo: python-version
	test -x .demo/bin/python || $(PYTHON) -m venv .demo
	.demo/bin/python -m pip install $(PIP_FLAGS) -c constraints.txt -e .
	.demo/bin/fieldops run --env FieldOps-Effect-v0 --agent agents.reference:Reference --seeds 20
	.demo/bin/fieldops run --env FieldOps-Effect-v0 --agent agents.shortcuts:RetryBlindly --seeds 20

.PHONY: python-version
python-version:
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("Python 3.11 or later is needed, this is " + sys.version.split()[0] + "; say which with PYTHON=...")'

clean:
	rm -rf $(VENV) .demo dist build runs audit.json audit.md card.md .pytest_cache .ruff_cache .hypothesis .import_linter_cache *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
