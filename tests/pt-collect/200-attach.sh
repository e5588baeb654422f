#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# record -p: attach to a program that runs, detach by each signal and by --duration, again
# and again. The program checks clocks, TSC, waits and its heap, and notices nothing; each
# capture replays from where it was attached to. gdb opens the start state.
. tests/lib.sh
. tests/pt-collect/attach.bash

need gdb
need_bpf
start_server
before=$(cpus "$server")

round=0
for signal in INT TERM HUP none; do
	dir=$TMPDIR/c$((++round))
	if [ $signal = none ]; then
		timed=$dir
		attach "$dir" "$server" --duration 0.5
		wait "$recorder" || fail "record --duration ended with $?"
	else
		attach "$dir" "$server"
		goes_on
		detach "$dir" $signal
	fi
	is_left_alone "$server" || fail "after SIG$signal: $(cat /proc/"$server"/status)"
	goes_on
done
[ "$before" = "$(cpus "$server")" ] || fail "it runs on other CPUs now"

# A thread's number means its process.
attach "$TMPDIR/c5" "$server" -e heap
goes_on
detach "$TMPDIR/c5" INT
goes_on
stop_server

for dir in "$TMPDIR"/c?; do
	grep -q ': complete$' "$dir.err" || fail "$dir: $(cat "$dir.err")"
	grep -q '"end":[[:space:]]*"detached"' "$dir/manifest.json" || fail "$dir: end"
	"$FAULTLINE" replay "$dir" >"$dir.replay" 2>&1 || fail "$dir: $(cat "$dir.replay")"
	grep -q 'all matched' "$dir.replay" || fail "$dir: $(cat "$dir.replay")"
	grep -q 'recording was ended there' "$dir.replay" || fail "$dir: no word of its end"
	[ "$dir" = "$timed" ] && continue # nobody waited until the server had done all this
	"$FAULTLINE" dump "$dir" >"$dir.dump"
	grep -q 'TSC' "$dir.dump" || fail "$dir: no rdtsc recorded"
	grep -q 'CPUID' "$dir.dump" || fail "$dir: no cpuid recorded"
	grep -q 'SYSCALL clock_gettime' "$dir.dump" || fail "$dir: the vDSO was used"
	grep -q 'SIGNAL 14' "$dir.dump" || fail "$dir: no alarm recorded"
done
grep -q ' HEAP malloc' "$TMPDIR/c5.dump" || fail "-e heap recorded no malloc"

# It executes another program: the recording ends there, the program goes on.
mkfifo "$TMPDIR/now" "$TMPDIR/then"
bash -c 'read -r <"$0"; exec cat "$1"' "$TMPDIR/now" "$TMPDIR/then" >"$TMPDIR/said" &
executing=$!
started+=($executing)
attach "$TMPDIR/e" $executing
echo >"$TMPDIR/now"
wait "$recorder" || fail "record ended with $?: $(cat "$TMPDIR/e.err")"
grep -q 'executes another program' "$TMPDIR/e.err" || fail "$(cat "$TMPDIR/e.err")"
looks_whole "$TMPDIR/e" || fail "no whole capture of what executed"
grep -Eq '^\s*"exe":\s*"[^"]*/bash"' "$TMPDIR/e/manifest.json" ||
	fail "the capture is of another program"
is_left_alone $executing || fail "$(cat /proc/$executing/status)"
echo goes on >"$TMPDIR/then"
wait $executing || fail "the program after exec ended with $?"
grep -qx 'goes on' "$TMPDIR/said" || fail "it did nothing after exec"
forget $executing
"$FAULTLINE" replay "$TMPDIR/e" >"$TMPDIR/replay" 2>&1 || fail "$(cat "$TMPDIR/replay")"

gdb -nx -batch -ex 'bt 3' -ex 'p n_iterations' "$BUILD/tests/programs/server" \
	"$TMPDIR/c1/start.core" >"$TMPDIR/gdb" 2>&1
grep -Eq '^\$1 = [1-9]' "$TMPDIR/gdb" || fail "gdb: $(cat "$TMPDIR/gdb")"
