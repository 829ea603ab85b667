#!/bin/sh
# Make a virtual environment with omni-ipc over what PYTHON has: its torch and numpy stay as they are.
#   sh stress/setup.sh [PYTHON [VENV [WHEELS]]]        python3, .venv-node, and stress/wheels, if that is there
# With a folder of wheels (sh stress/wheels.sh DIR) no index is asked.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=stress/lib.sh
. "$here/lib.sh"
trap - TERM INT HUP # it ends at once
python=${1:-python3} venv=${2:-.venv-node} wheels=${3:-$here/wheels}
command -v "$python" >/dev/null || fail "there is no '$python'. Name a Python: sh stress/setup.sh /usr/bin/python3.12"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    fail "'$python' is no Python 3.11 or newer. Name one: sh stress/setup.sh /usr/bin/python3.12"
"$python" -c 'import torch' 2>/dev/null ||
    fail "'$python' has no torch, or one that cannot be imported. Install it, or name the Python that has it."
if [ -d "$wheels" ]; then
    "$python" "$here/same_wheel.py" "$wheels" "$here/.." || exit 2
    set -- --no-index --find-links "$wheels" omni-ipc
else
    [ $# -lt 3 ] || fail "there is no folder '$wheels'. Make it where an index can be reached: sh stress/wheels.sh DIR"
    set -- --editable "$here/.."
fi
"$python" -m venv --clear --without-pip "$venv" ||
    fail "no virtual environment can be made in '$venv': Python says why above. Free space, or set TMPDIR."
packages=$("$python" -c 'import sys; print(*(p for p in sys.path if p.endswith("-packages")), sep="\n")')
"$venv/bin/python" - "$packages" <<'END' || fail "'$venv' cannot be written to: Python says why above. Free space."
import pathlib, sys, sysconfig
lines = (f"import site; site.addsitedir({folder!r})\n" for folder in sys.argv[1].splitlines())
pathlib.Path(sysconfig.get_path("purelib"), "node.pth").write_text("".join(lines))
END
install() {
    "$python" -m pip --python "$venv/bin/python" --quiet --disable-pip-version-check install "$@" ||
        fail "pip cannot install what is missing: it says why above. Gather it elsewhere: sh stress/wheels.sh DIR"
}
install --no-deps --ignore-installed "$@" # this one, whatever the node has
install "$@" hypothesis prometheus-client pytest pytest-timeout
