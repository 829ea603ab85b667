#!/bin/sh
# Check one GPU in under six minutes: everything marked for it, the collection of traces, a short soak.
#   sh stress/gpu_check.sh [--device cuda] [--out check] [--python python3] [--wheels DIR] [-- OPTION ...]
# A machine with torch, numpy and pip is enough; what else is missing comes from wheels (sh stress/wheels.sh DIR), or,
# without them, from an index. The table comes last; OUT/check.json holds it, and each step's log lies beside it.
# What stands behind -- goes to: omni-ipc stress check.
# Exit code: 0 as claimed, 1 violated, 2 the call or this machine is in the way, 3 inconclusive, 130 Ctrl-C before it.
set -u
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=stress/lib.sh
. "$here/lib.sh"
device=cuda out=check python=python3 wheels=''
options 'device out python wheels' "$@"
shift "$taken"
out=$(folder "$out") || exit 2
case $python in */*) python=$(cd "$(dirname "$python")" && pwd)/$(basename "$python") ;; esac
if ! "$python" -c 'import omni_ipc.cli.app, pytest, hypothesis, pytest_timeout' 2>/dev/null; then
    venv=$(mktemp -d "${TMPDIR:-/tmp}/omni-ipc-check.XXXXXX") || exit 2
    trap 'rm -rf "$venv"' EXIT
    during 180 sh "$here/setup.sh" "$python" "$venv" ${wheels:+"$wheels"}
    [ -z "$stopped" ] || { echo 'omni_ipc: interrupted in the set-up: nothing was checked.' >&2 && exit 130; }
    [ "$code" -ne 124 ] || fail 'the set-up did not end within 180 s. Carry wheels along: sh stress/wheels.sh DIR'
    [ "$code" -eq 0 ] || exit 2
    python=$(cd "$venv" && pwd)/bin/python
fi
cd "$here/.." || exit 2
CUDA_DEVICE_MAX_CONNECTIONS=${CUDA_DEVICE_MAX_CONNECTIONS:-32} # streams that are held back must not share one
export CUDA_DEVICE_MAX_CONNECTIONS
during 0 "$python" -m omni_ipc stress check --device "$device" --out "$out" --json "$out/check.json" "$@"
exit "$code"
