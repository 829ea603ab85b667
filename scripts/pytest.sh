#!/bin/sh
# All tests but the long ones: first as many at a time as there are cores, then one by one those that must be alone.
set -eu
"$1" -m pytest -n logical --maxprocesses 8 --dist worksteal -m 'not soak and not alone'
"$1" -m pytest -m 'alone and not soak'
