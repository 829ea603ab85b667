#!/bin/sh
# All that a GPU node is asked for: set omni-ipc up, look at the node, check it, soak, and leave a page.
#   sh stress/gpu_node.sh [--python python3] [--wheels DIR] [--device cuda] [--workers 1] [--minutes 10] [--seed 0]
#                         [--out results]
# Without an index it is set up from wheels: DIR, or stress/wheels if that is there (sh stress/wheels.sh DIR).
# A step that fails stops none of the others. SIGTERM and Ctrl-C end it with what was done so far.
# Exit code: 0 as claimed, 1 violated, 2 the call or this node is in the way, 3 inconclusive.
set -u
here=$(cd "$(dirname "$0")" && pwd)
python=python3 wheels='' device=cuda workers=1 minutes=10 seed=0 out=results
while [ $# -gt 0 ]; do
    case $1 in
    --python | --wheels | --device | --workers | --minutes | --seed | --out) name=${1#--} ;;
    *)
        sed -n '2,/^#  *\[--out/s/^# \{0,1\}//p' "$0" >&2
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
venv=$(mktemp -d "${TMPDIR:-/tmp}/omni-ipc-node.XXXXXX") || exit 2
child='' stopped='' codes='' rows=''
trap 'rm -rf "$venv"' EXIT
trap 'stopped=1; [ -z "$child" ] || kill -TERM "$child" 2>/dev/null' TERM INT HUP

# step NAME SECONDS COMMAND ...: run it, for so long at most; what it says goes to OUT/NAME.log
step() {
    name=$1 limit=$2
    shift 2
    [ -z "$stopped" ] || return 0
    began=$(date +%s)
    timeout --kill-after 120 "$limit" "$@" >"$out/$name.log" 2>&1 &
    child=$!
    wait "$child"
    code=$?
    while kill -0 "$child" 2>/dev/null; do # it was asked to end, and tells its last
        wait "$child"
        code=$?
    done
    child=''
    [ "$code" -le 2 ] || code=3 # or it ran out of its time, or was killed
    codes="$codes $code"
    rows="$rows$(printf '%-8s %s %6d s   %s' "$name" "$code" $(($(date +%s) - began)) "$out/$name.log")
"
}

if [ -n "$wheels" ]; then set -- "$wheels"; else set --; fi
step setup 600 sh "$here/setup.sh" "$python" "$venv" "$@"
[ "$codes" = ' 0' ] || {
    cat "$out/setup.log" >&2
    exit 2
}
PATH=$venv/bin:$PATH
export PATH
cd "$here/.." || exit 2
seconds=$(python -c 'import sys; print(round(60 * float(sys.argv[1])))' "$minutes") || exit 2
step doctor 120 omni-ipc doctor --json "$out/doctor.json"
step check 600 sh "$here/gpu_check.sh" --device "$device" --out "$out/check"
if [ "$seconds" -gt 0 ]; then
    step soak $((seconds + 600)) omni-ipc stress soak --minutes "$minutes" --workers "$workers" --device "$device" \
        --seed "$seed" --out "$out/soak" --json "$out/soak.json"
    [ ! -f "$out/soak/account.json" ] || step page 120 omni-ipc stress report "$out/soak" --html "$out/soak.html"
fi

printf 'step  code    took   log\n%s' "$rows"
[ -z "$stopped" ] || codes="$codes 3"
for worst in 1 3 2; do
    case " $codes " in *" $worst "*) exit $worst ;; esac
done
