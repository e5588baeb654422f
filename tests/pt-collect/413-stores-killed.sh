#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# -e stores, and SIGKILL of the recorder while its probes are being placed or hit: under the
# flight recorder, recorded for replay, started by us or attached to. The program goes on, its
# stores are right, nobody traces it.
. tests/lib.sh
. tests/pt-collect/attach.bash

need_bpf
[ "$(id -u)" = 0 ] || skip "needs root, to kill the recorder"
program=$(own_program keeps)

# grows FILE
grows() {
	local lines
	lines=$(wc -l <"$1")
	until_true eval "[ \$(wc -l <'$1') -gt $((lines + 4)) ]"
}

# survives WHAT PID OUTPUT - it does, and ends as always.
survives() {
	until_true is_left_alone "$2" || fail "$1: $(grep -E 'State|Tracer|Pnd' /proc/"$2"/status)"
	grows "$3" || fail "$1: it stands still"
	kill -TERM "$2"
	until_true grep -qx served "$3" || fail "$1: it does not end: $(tail -n 1 "$3")"
	! grep -a wrong "$3" || fail "$1: it was harmed"
	n=$((n + 1))
}

n=0
for how in "--snapshot" "" "-f"; do
	for delay in 0 0.1 0.25; do
		out=$TMPDIR/out$how$delay
		"$FAULTLINE" record $how -e heap -e stores -o "$TMPDIR/c$how$delay" -- \
			"$program" serve >"$out" 2>"$TMPDIR/err" &
		keeper=$!
		until_true grep -qs '^count' "$out" || fail "$how: $(cat "$TMPDIR/err")"
		pid=$(pgrep -n -f "^$program serve")
		started+=("$pid")
		sleep $delay
		kill -KILL "$(child_of $keeper)"
		survives "record $how, killed after $delay s" "$pid" "$out"
		wait $keeper
		forget "$pid"
	done
done

# Of one attached to, at moments from the very beginning on, again and again.
"$program" serve >"$TMPDIR/out" &
pid=$!
started+=($pid)
until_true grep -qs '^count' "$TMPDIR/out" || fail "it does not begin"
for how in "--snapshot" ""; do
	for delay in 0.03 0.06 0.09 0.12 0.2 0.3; do
		"$FAULTLINE" record $how -e heap -e stores -p $pid -o "$TMPDIR/p$how$delay" \
			>/dev/null 2>"$TMPDIR/err" &
		keeper=$!
		sleep $delay
		kill -KILL "$(child_of $keeper)"
		wait $keeper
		until_true is_left_alone $pid ||
			fail "-p $how, killed after $delay s: $(grep -E 'State|Tracer|Pnd' /proc/$pid/status)"
		grows "$TMPDIR/out" || fail "-p $how, killed after $delay s: it stands still"
	done
done
survives "-p" $pid "$TMPDIR/out"
wait $pid
[ $? = 7 ] || fail "attached to: status"
forget $pid
echo "result: $n programs went on"
