#!/bin/sh
# Test all that needs no torch with PYTHON, in a virtual environment of its own.
set -eu
python=$1
version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])') || {
    echo "omni_ipc: '$python' does not run. Name a Python that does: make test-core PYTHON=/usr/bin/python3.13" >&2
    exit 2
}
venv=.venv-core-$version
if [ -z "$(find "$venv/.ready" -newer pyproject.toml 2>/dev/null)" ]; then
    "$python" -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check -c scripts/constraints.txt --editable '.[test]'
    touch "$venv/.ready"
fi
sh scripts/pytest.sh "$venv/bin/python"
