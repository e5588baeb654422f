#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# record -p: a program of several threads that share a lock, an allocator and a sum, at
# several moments. All threads are in the start state, for gdb too; the program notices
# nothing, runs on the CPUs of before, and each capture replays. With a seccomp filter that
# forbids what attaching needs it is not killed.
. tests/lib.sh
. tests/pt-collect/attach.bash

need gdb
need_bpf
start_server 3
before=$(cpus "$server")
for round in 1 2 3 4 5; do
	attach "$TMPDIR/c$round" "$server"
	goes_on
	detach "$TMPDIR/c$round" INT
	is_left_alone "$server" || fail "$(cat /proc/"$server"/task/*/status)"
	goes_on
	[ "$before" = "$(cpus "$server")" ] || fail "other CPUs now: $(cpus "$server")"
done
stop_server

start_server 2 filtered
attach "$TMPDIR/c6" "$server"
goes_on
detach "$TMPDIR/c6" INT
goes_on
stop_server

for dir in "$TMPDIR"/c?; do
	grep -q ': complete$' "$dir.err" || fail "$dir: $(cat "$dir.err")"
	"$FAULTLINE" replay "$dir" >"$dir.replay" 2>&1 || fail "$dir: $(cat "$dir.replay")"
	grep -q 'all matched' "$dir.replay" || fail "$dir: $(cat "$dir.replay")"
done
"$FAULTLINE" dump "$TMPDIR/c1" | grep -q ' SWITCH ' || fail "no switch was recorded"
gdb -nx -batch -ex 'info threads' "$BUILD/tests/programs/server" \
	"$TMPDIR/c1/start.core" >"$TMPDIR/gdb" 2>&1
[ "$(grep -Ec '^[* ] +[0-9]+ +(Thread|LWP)' "$TMPDIR/gdb")" = 4 ] ||
	fail "gdb does not see four threads: $(cat "$TMPDIR/gdb")"
