#!/bin/sh
# Make the virtual environment VENV with PYTHON: torch first, so that nothing else picks another build of it.
set -eu
python=$1 venv=$2
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
    echo "omni_ipc needs Python 3.11 or newer; '$python' is older. Name another: make setup PYTHON=python3.12" >&2
    exit 2
}
"$python" -m venv "$venv"
"$venv/bin/pip" install --quiet --disable-pip-version-check -c scripts/constraints.txt torch
"$venv/bin/pip" install --quiet --disable-pip-version-check -c scripts/constraints.txt --editable '.[dev]'
