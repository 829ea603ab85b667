#!/bin/sh
# Lint, types, import contracts, tests; BIN is the virtual environment's bin folder.
set -eu
bin=$1
"$bin/ruff" check .
"$bin/ruff" format --check .
"$bin/mypy"
"$bin/lint-imports" --no-cache
sh scripts/pytest.sh "$bin/python"
