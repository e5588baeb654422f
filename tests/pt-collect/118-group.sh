#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# What the program sends to its process group reaches it, once, and neither ends nor stops the
# recording: the recorder is in none of the program's. What the user sends reaches the program.
. tests/lib.sh

need setsid
need_bpf
# In a group of their own: the runner is in ours.
RECORD=(setsid -w "${RECORD[@]}")
for signo in 1 2 10 14 15; do
	rm -rf "$TMPDIR/c"*
	want_status=0 make_capture "$TMPDIR/c" "$BUILD/tests/programs/forks" group $signo
	grep -qx '1 times, 1 in the child' "$TMPDIR/c.out" ||
		fail "signal $signo: $(cat "$TMPDIR/c.out")"
	replay_matches "$TMPDIR/c"
done
# shellcheck disable=SC2016 # the program's own
for signo in USR1 TERM; do
	rm -rf "$TMPDIR/c"*
	status=$((128 + $(kill -l $signo)))
	want_status=$status make_capture "$TMPDIR/c" sh -c "kill -$signo 0"
	replay_matches "$TMPDIR/c"
done
# What it sends its parent is for whoever that would be: not for itself.
for signo in INT USR1 TERM; do
	rm -rf "$TMPDIR/c"*
	# shellcheck disable=SC2016 # the program's own
	make_capture "$TMPDIR/c" sh -c "kill -$signo"' $PPID; sleep 0.1; echo on'
	grep -qx on "$TMPDIR/c.out" || fail "SIG$signo to its parent: $(cat "$TMPDIR/c.out")"
	[ $signo = USR1 ] ||
		grep -q "sends its parent, which is faultline, SIG$signo: nobody gets it" "$TMPDIR/c.err" ||
		fail "SIG$signo to its parent: $(cat "$TMPDIR/c.err")"
done
# The keeper cannot but end; its recorder finishes by itself.
rm -rf "$TMPDIR/c"*
setsid -w "${RECORD[@]}" -o "$TMPDIR/c" -- sh -c 'kill -KILL 0' >/dev/null 2>&1
until_true test -e "$TMPDIR/c/manifest.json" || fail "no manifest after SIGKILL to all"
"$FAULTLINE" replay "$TMPDIR/c" >/dev/null 2>&1 || fail "no replay after SIGKILL to all"
# The user's, to the one that was started.
fresh
"${RECORD[@]}" -o "$TMPDIR/u" -- sh -c 'trap "echo got; exit 5" TERM; echo up; while :; do sleep 0.1; done' \
	>"$TMPDIR/out" 2>"$TMPDIR/err" &
user=$!
until_true grep -q up "$TMPDIR/out" || fail "the shell did not start"
keeper=$(pgrep -f -- "-o $TMPDIR/u" | while read -r pid; do
	[ "$(cat "/proc/$pid/comm")" = faultline ] && echo "$pid"
done | head -n 1)
kill -TERM "$keeper"
wait $user
[ $? = 5 ] && grep -q got "$TMPDIR/out" || fail "SIGTERM to record: $(cat "$TMPDIR/out" "$TMPDIR/err")"
