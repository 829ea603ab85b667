#!/bin/sh
# Records anew what TLC says for each cfg here: record.sh JAVA JAR
set -eu
cd "$(dirname "$0")"
record() { # module cfg flags
    private=$(mktemp -d) && mkdir "$private/tmp" && cp "$1.tla" "$2.cfg" "$private"
    (cd "$private" && "$java" -Djava.io.tmpdir="$private/tmp" -XX:+UseParallelGC -cp "$jar" tlc2.TLC -metadir "$private/md" \
        -fp 0 -seed 1 -workers 1 -coverage 1 -tool $3 -config "$2.cfg" "$1" 2>&1 || true) | sed "s#$private#/private#g" > "$2.out"
    rm -rf "$private"
}
java=$1 jar=$2
for cfg in success safety initial action_property deadlock lasso evaluation config unassigned unreadable; do
    record Sample $cfg ""
done
record Sample stuttering -deadlock
for module in Broken Garbled Assuming; do record $module $module ""; done
head -c 2500 safety.out > truncated.out
