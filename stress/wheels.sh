#!/bin/sh
# Gather what omni-ipc and its tests need beside torch and numpy, for a machine that reaches no index:
#   sh stress/wheels.sh DIR [3.12 ...]        for these versions of Python, on Linux and this kind of processor
set -eu
folder=${1:?Say where to: sh stress/wheels.sh DIR [3.12 ...]}
shift
root=$(cd "$(dirname "$0")/.." && pwd)
python=${PYTHON:-python3}
quiet="--quiet --disable-pip-version-check"
[ $# -gt 0 ] || set -- "$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')"
mkdir -p "$folder"
"$python" -m pip wheel $quiet --no-deps --wheel-dir "$folder" "$root"
for version in "$@"; do
    "$python" -m pip download $quiet --dest "$folder" -c "$root/scripts/constraints.txt" --only-binary :all: \
        --python-version "$version" --platform "manylinux_2_28_$(uname -m)" --platform "manylinux2014_$(uname -m)" \
        "$folder"/omni_ipc-*.whl hypothesis prometheus-client pytest pytest-timeout
done
rm -f "$folder"/numpy-*.whl # it comes with the node's torch
du -sh "$folder" | cut -f1
