#!/bin/sh
# Records anew what TLC says about each cfg and each broken module here: record.sh JAVA JAR
set -eu
java=$(realpath "$1") jar=$(realpath "$2")
cd "$(dirname "$0")"

record() { # output module cfg flags
    private=$(mktemp -d)
    mkdir "$private/tmp"
    cp ./*.tla "$3.cfg" "$private"
    (cd "$private" && "$java" -Djava.io.tmpdir="$private/tmp" -XX:+UseParallelGC -cp "$jar" tlc2.TLC -metadir "$private/md" \
        -fp 0 -seed 1 -workers 1 -coverage 1 -tool $4 -config "$3.cfg" "$2" 2>&1 || true) |
        sed "s#$private#/private#g; s#$jar#tla2tools.jar#g; s#\[pid: .*#[pid: 1] (a machine).#" > "$1.out"
    rm -rf "$private"
}

for cfg in success safety initial action_property deadlock lasso evaluation config unassigned unreadable; do
    record $cfg Sample $cfg ""
done
record stuttering Sample stuttering -deadlock
for module in Assuming Broken Garbled Including Importing Misspelt Unfinished Empty Mixed Renamed; do
    record $module $module plain ""
done
head -c 2500 safety.out > truncated.out
# night.out: two minutes of AsyncOutput/design/full by two workers, killed then, its paths put in order as above
