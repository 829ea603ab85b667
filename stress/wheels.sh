#!/bin/sh
# Gather what omni-ipc and its tests need beside torch and numpy, for a machine that reaches no index:
#   sh stress/wheels.sh DIR [3.12 ...]        for these versions of Python, on Linux and this kind of processor
set -eu
folder=${1:?Say where to: sh stress/wheels.sh DIR [3.12 ...]}
shift
root=$(cd "$(dirname "$0")/.." && pwd)
python=${PYTHON:-python3}
pip() { "$python" -m pip "$@" --quiet --disable-pip-version-check; }
[ $# -gt 0 ] || set -- "$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')"
mkdir -p "$folder"
rm -f "$folder"/omni_ipc-*.whl # of another checkout, or of before
pip wheel --no-deps --wheel-dir "$folder" "$root"
for version in "$@"; do
    pip download --dest "$folder" -c "$root/scripts/constraints.txt" --only-binary :all: \
        --python-version "$version" --platform "manylinux_2_28_$(uname -m)" --platform "manylinux2014_$(uname -m)" \
        "$folder"/omni_ipc-*.whl hypothesis prometheus-client pytest pytest-timeout
done
rm -f "$folder"/numpy-*.whl # it comes with the node's torch
du -sh "$folder" | cut -f1
