#!/bin/sh
# Check one GPU in under six minutes: everything marked for it, the collection of traces, a short soak.
#   sh stress/gpu_check.sh [--device cuda] [--out check] [--python python3] [--wheels DIR]
# A machine with torch, numpy and pip is enough; what else is missing comes from wheels (sh stress/wheels.sh DIR), or,
# without them, from an index. The table comes last; OUT/check.json holds it, and each step's log lies beside it.
# Exit code: 0 as claimed, 1 violated, 2 the call or this machine is in the way, 3 inconclusive.
set -u
here=$(cd "$(dirname "$0")" && pwd)
device=cuda out=check python=python3 wheels=''
while [ $# -gt 0 ]; do
    case $1 in
    --device | --out | --python | --wheels) name=${1#--} ;;
    --) shift && break ;; # the rest goes to: omni-ipc stress check
    *)
        sed -n '3s/^# *//p' "$0" >&2
        exit 2
        ;;
    esac
    [ $# -gt 1 ] || {
        echo "omni_ipc: $1 needs a value." >&2
        exit 2
    }
    eval "$name=\$2"
    shift 2
done
mkdir -p "$out" || exit 2
out=$(cd "$out" && pwd)
if ! "$python" -c 'import omni_ipc.cli.app, pytest, hypothesis' 2>/dev/null; then
    venv=$(mktemp -d "${TMPDIR:-/tmp}/omni-ipc-check.XXXXXX") || exit 2
    trap 'rm -rf "$venv"' EXIT
    if [ -n "$wheels" ]; then wheels=$(cd "$wheels" && pwd) || exit 2; fi
    timeout 180 sh "$here/setup.sh" "$python" "$venv" ${wheels:+"$wheels"} || exit 2
    python=$venv/bin/python
fi
cd "$here/.." || exit 2
CUDA_DEVICE_MAX_CONNECTIONS=${CUDA_DEVICE_MAX_CONNECTIONS:-32} # streams that are held back must not share one
export CUDA_DEVICE_MAX_CONNECTIONS
"$python" -m omni_ipc stress check --device "$device" --out "$out" --json "$out/check.json" "$@"
