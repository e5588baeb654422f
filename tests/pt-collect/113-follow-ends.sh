#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# The program ends before a daemon that it left: recording goes on until a signal ends it;
# the daemon then runs on as if nothing had been, and its history replays up to there. A
# sandboxed child, which the kernel kills for system calls that it does not make itself,
# lives.
. tests/lib.sh

need_bpf
[ "$(id -u)" = 0 ] || skip "needs root, to end the recorder"
forks=$BUILD/tests/programs/forks
"$FAULTLINE" record -f -o "$TMPDIR/c" -- "$forks" daemon "$TMPDIR/written" \
	>"$TMPDIR/pid" 2>"$TMPDIR/err" &
recorder=$!
until_true eval '[ -s "$TMPDIR/pid" ] && [ -e "$TMPDIR"/c/children/1-forks.*/start.core ]'
daemon=$(cat "$TMPDIR/pid")
trap 'kill -KILL "$daemon" 2>/dev/null' EXIT
sleep 0.3
kill -0 $recorder 2>/dev/null || fail "the recorder did not wait: $(cat "$TMPDIR/err")"
grep -q "TracerPid:[[:space:]]*[1-9]" "/proc/$daemon/status" || fail "the daemon is not followed"
kill -INT $recorder
wait $recorder
status=$?
[ $status = 0 ] || fail "record exited with $status: $(cat "$TMPDIR/err")"
tail -n 1 "$TMPDIR/err" | grep -q "2 processes.*: complete" || fail "$(cat "$TMPDIR/err")"
grep -q "TracerPid:[[:space:]]*0" "/proc/$daemon/status" || fail "the daemon is still traced"
kill -USR1 "$daemon" || fail "the daemon is gone"
until_true [ -s "$TMPDIR/written" ]
grep -Eq '^1 [0-9]+$' "$TMPDIR/written" || fail "the daemon did not do its work"
all_match "$TMPDIR/c"
[ "$n_matched" = 2 ] || fail "$n_matched histories, not 2"
processes "$TMPDIR/c" | tail -n 1 | grep -q detached || fail "$(processes "$TMPDIR/c")"

# The same with programs that were executed: by fork and exec, and by vfork.
"$FAULTLINE" record -f -o "$TMPDIR/e" -- sh -c \
	'sh -c "while :; do sleep 0.1; done" & sleep 60 & echo $! $(exec sleep 60 >&2 & echo $!)' \
	>"$TMPDIR/pids" 2>"$TMPDIR/err" &
recorder=$!
until_true eval '[ "$(find "$TMPDIR/e/children" -name start.core | wc -l)" -ge 4 ] &&
	[ -s "$TMPDIR/pids" ]'
sleep 0.2
touch "$TMPDIR/loop"
trap 'kill -KILL $(cat "$TMPDIR/pids" "$TMPDIR/loop") 2>/dev/null' EXIT
kill -INT $recorder
wait $recorder || fail "record exited with $?: $(cat "$TMPDIR/err")"
grep -q warning "$TMPDIR/err" && fail "$(cat "$TMPDIR/err")"
for pid in $(cat "$TMPDIR/pids" "$TMPDIR/loop"); do
	grep -q "TracerPid:[[:space:]]*0" "/proc/$pid/status" || fail "$pid is traced or gone"
done
processes "$TMPDIR/e" >"$TMPDIR/tree"
awk '/sh -c while/ { print $2 }' "$TMPDIR/tree" | tail -n 1 >"$TMPDIR/loop"
[ "$(grep -c detached "$TMPDIR/tree")" -ge 3 ] || fail "$(cat "$TMPDIR/tree")"
all_match "$TMPDIR/e"
sleep 0.3
kill -0 "$(cat "$TMPDIR/loop")" || fail "the loop did not survive"

"$forks" filter >"$TMPDIR/want"
[ -s "$TMPDIR/want" ] || fail "the program does not work by itself"
for follow in "" -f; do
	# shellcheck disable=SC2086 # nothing, or an option
	expect_status 0 "${RECORD[@]}" $follow -o "$TMPDIR/f$follow" -- "$forks" filter
	cmp "$TMPDIR/want" "$TMPDIR/out" || fail "the sandboxed child: $(cat "$TMPDIR/out")"
	all_match "$TMPDIR/f$follow"
done
[ "$n_matched" = 5 ] || fail "$n_matched histories, not 5"
