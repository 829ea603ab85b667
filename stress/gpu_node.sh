#!/bin/sh
# All that a GPU node is asked for: set omni-ipc up, look at the node, check it, soak, and leave a page.
#   sh stress/gpu_node.sh [--python python3] [--wheels DIR] [--device cuda] [--workers 1] [--minutes 10] [--seed 0]
#                         [--out results] [-- OPTION ...]
# Without an index it is set up from wheels: DIR, or stress/wheels if that is there (sh stress/wheels.sh DIR).
# What stands behind -- goes to: omni-ipc stress check. A step that fails stops none of the others. SIGTERM and Ctrl-C
# end it with what was done so far.
# Exit code: 0 as claimed, 1 violated, 2 the call or this node is in the way, 3 inconclusive.
set -u
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=stress/lib.sh
. "$here/lib.sh"
python=python3 wheels='' device=cuda workers=1 minutes=10 seed=0 out=results
options 'python wheels device workers minutes seed out' "$@"
shift "$taken"
case $minutes in
'' | . | *[!0-9.]* | *.*.*) fail "'$minutes' is no number of minutes. Give one, as in: --minutes 30" ;;
esac
out=$(folder "$out") || exit 2
venv=$(mktemp -d "${TMPDIR:-/tmp}/omni-ipc-node.XXXXXX") || exit 2
trap 'echo $? >"$out/code"; rm -rf "$venv"' EXIT # the shell ends with the code that it had before
codes='' rows=''

# step NAME SECONDS COMMAND ...: run it, for so long at most; what it says goes to OUT/NAME.log
step() {
    name=$1
    shift
    [ -z "$stopped" ] || return 0
    began=$(date +%s)
    echo "omni_ipc: $name, for $1 s at most. Look on: tail -f $out/$name.log" >&2
    during "$@" >"$out/$name.log" 2>&1
    told=''
    [ "$code" -ne 124 ] || told="did not end within $1 s; "
    [ "$code" -eq 0 ] || told=$told$(grep -m 1 -e '^ *✗' -e '^ *?' "$out/$name.log" || tail -n 1 "$out/$name.log")
    [ "$code" -le 2 ] || code=3 # or it ran out of its time, or was killed
    codes="$codes $code"
    row "$name" "$code" "$(($(date +%s) - began)) s" "$out/$name.log"
    [ -z "$told" ] || below "$told"
}

# row NAME CODE TOOK LOG: a row of the table
row() {
    rows="$rows$(printf '%-8s %4s %8s   %s' "$@")
"
}

# below WORDS: what there is to be told of the last row, in 80 columns
below() {
    rows="$rows$(printf '%s\n' "$1" | fold -s -w 71 | sed 's/^ */         /; s/ *$//')
"
}

step setup 600 sh "$here/setup.sh" "$python" "$venv" ${wheels:+"$wheels"}
[ "$codes" = ' 0' ] || [ -n "$stopped" ] || {
    cat "$out/setup.log" >&2
    exit 2
}
PATH=$venv/bin:$PATH
export PATH
cd "$here/.." || exit 2
step doctor 120 omni-ipc doctor --json "$out/doctor.json"
lacking=$(sed -n 's/ *missing  .*//p' "$out/doctor.log" 2>/dev/null | paste -s -d , - | sed 's/,/, /g')
[ -z "$lacking" ] || below "missing: $lacking" # it is for the check to say whether that is needed
step check 1800 sh "$here/gpu_check.sh" --device "$device" --out "$out/check" -- "$@"
seconds=$([ -n "$stopped" ] || python -c 'import sys; print(round(60 * float(sys.argv[1])))' "$minutes")
if [ "${seconds:-0}" -gt 0 ]; then
    step soak $((seconds + 600)) omni-ipc stress soak --minutes "$minutes" --workers "$workers" --device "$device" \
        --seed "$seed" --out "$out/soak" --json "$out/soak.json"
    if [ -f "$out/soak/account.json" ]; then
        step page 120 omni-ipc stress report "$out/soak" --html "$out/soak.html"
    elif [ -z "$stopped" ]; then
        row page - - 'not made: the soak left no account'
    fi
fi

printf '%-8s %4s %8s   %s\n%s' step code took log "$rows"
[ ! -f "$out/soak.html" ] || echo "The page: $out/soak.html"
[ -z "$stopped" ] || codes="$codes 3"
worst "$codes"
