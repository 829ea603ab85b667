# shellcheck shell=sh
# What the scripts of this folder have in common; read by them: . "$here/lib.sh"

# fail SENTENCE: say what is in the way, and end with 2
fail() {
    echo "omni_ipc: $1" >&2
    exit 2
}

# options NAMES WORD ...: set the variable of each --name VALUE; `taken` is how many words these were, up to a --
options() {
    known=$1 taken=0
    shift
    while [ $# -gt 0 ]; do
        taken=$((taken + 1))
        [ "$1" != -- ] || return 0
        case $1 in -h | --help) explain && exit 0 ;; esac
        case " $known " in
        *" ${1#--} "*) [ "$1" != "${1#--}" ] || usage ;;
        *) usage ;;
        esac
        [ $# -gt 1 ] || fail "$1 needs a value."
        eval "${1#--}=\$2"
        taken=$((taken + 1))
        shift 2
    done
}

# explain: say how the script is called, which stands in its first lines
explain() {
    sed -n 's/^#   //p' "$0"
}

# usage: say so to who called it otherwise, and end with 2
usage() {
    explain >&2
    exit 2
}

# folder PATH: make a folder, if there is none, and print its whole path
folder() {
    if mkdir -p "$1" 2>/dev/null && cd "$1" && [ -w . ]; then pwd; else
        fail "'$1' is no folder that can be written to. Name another: --out DIR"
    fi
}

# worst CODES: end as the worst of what has ended: violated, then inconclusive, then in the way
worst() {
    for code in 1 3 2; do
        case " $1 " in *" $code "*) exit $code ;; esac
    done
    for code in $1; do
        [ "$code" -eq 0 ] || exit 3 # killed, or out of its time
    done
    exit 0
}

child='' stopped=''
trap 'stopped=1; [ -z "$child" ] || kill -TERM "$child" 2>/dev/null' TERM INT HUP

# during SECONDS COMMAND ...: run it, for so long at most, or without end if that is 0; `code` is how it ended. Ctrl-C
# and SIGTERM ask it to end, and are waited for: it tells its last. Afterwards `stopped` is set, and nothing is run.
# shellcheck disable=SC2034 # `code` is for who calls this
during() {
    code=130
    [ -z "$stopped" ] || return 0
    timeout --kill-after 120 "$@" &
    child=$!
    [ -z "$stopped" ] || kill -TERM "$child" 2>/dev/null
    wait "$child"
    code=$?
    while kill -0 "$child" 2>/dev/null; do
        wait "$child"
        code=$?
    done
    child=''
}
