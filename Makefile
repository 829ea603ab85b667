# Two commands: `make demo` and `make test`. Each sets up what is missing, once.
# `make test-core PYTHON=python3.13`: all that needs no torch, on another Python.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready

.PHONY: setup demo test test-core soak nightly clean
setup: $(READY)

$(READY): pyproject.toml scripts/constraints.txt scripts/setup.sh
	sh scripts/setup.sh $(PYTHON) $(VENV)
	touch $@

demo: setup
	$(BIN)/omni-ipc demo

test: setup
	sh scripts/test.sh $(BIN)

test-core:
	sh scripts/test-core.sh $(PYTHON)

soak: setup
	$(BIN)/python -m pytest -m soak

nightly: test soak demo
	$(BIN)/omni-ipc conform --seconds 900
	$(BIN)/omni-ipc check AsyncOutput/design/full
	$(BIN)/omni-ipc mutants

clean:
	rm -rf $(VENV) .venv-core-* build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .omni_ipc
