VENV ?= .venv
PYTHON ?= python3
BIN := $(VENV)/bin

.PHONY: help demo test check format bench soak clean

help:  ## show this
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 10

$(BIN)/.demo: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[demo]'
	@touch $@

$(BIN)/.dev: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

demo: $(BIN)/.demo  ## watch it work, without an account (CLAUDE=1: with your own Claude Code)
	@$(BIN)/python -m examples.demo $(if $(CLAUDE),--claude)

test: $(BIN)/.dev  ## run all tests, those on the real Claude Code included
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n 3 --dist worksteal $(ARGS)

check: $(BIN)/.dev  ## format, lint, types, tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(MAKE) test

format: $(BIN)/.dev  ## put the code into shape
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(BIN)/.dev  ## measure the figures, each beside its baseline
	$(BIN)/python -m benchmarks $(ARGS)

soak: $(BIN)/.dev  ## run 200 tasks while servers are killed: nothing lost, nothing twice
	$(BIN)/python -m benchmarks.soak $(ARGS)

clean:  ## remove what was made here
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
