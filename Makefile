# Two commands: `make demo` and `make test`. Each sets up what is missing, once.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready

.PHONY: setup demo test soak nightly clean
setup: $(READY)

$(READY): pyproject.toml scripts/constraints.txt scripts/setup.sh
	sh scripts/setup.sh $(PYTHON) $(VENV)
	touch $@

demo: setup
	$(BIN)/omni-ipc demo

test: setup
	sh scripts/test.sh $(BIN)

soak: setup
	$(BIN)/python -m pytest -m soak

nightly: test soak demo

clean:
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .omni_ipc
