#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# A capture that takes all memory takes it from itself: its processes are the kernel's first choice,
# their owner is not. Whichever of them is killed, one line says so, with status 2.
. tests/lib.sh

make_capture "$TMPDIR/c" seq 100000
mine=$(cat /proc/self/oom_score_adj)
mkfifo "$TMPDIR/pipe"
exec 3<>"$TMPDIR/pipe"

# begin - a replay that stays: nobody reads what its program writes. Sets owner, command, guest.
begin() {
	fresh
	"$FAULTLINE" replay --stdout "$TMPDIR/c" >&3 2>"$TMPDIR/err" &
	owner=$!
	until_true eval 'guest=$(pgrep -P "$(pgrep -P $owner -f ^faultline-machine)")' ||
		fail "no process of the machine: $(cat "$TMPDIR/err")"
	command=$(pgrep -P $owner | grep -vx "$(pgrep -P $owner -f ^faultline-machine)")
	[ -n "$command" ] || fail "no process of the command"
}
# goes_first PROCESS WHAT
goes_first() {
	until_true grep -qx 1000 "/proc/$1/oom_score_adj" ||
		fail "the $2 has $(cat "/proc/$1/oom_score_adj")"
}
# ended WHAT - the owner has, with one line.
ended() {
	local got=0
	wait $owner || got=$?
	[ $got = 2 ] || fail "$1 was killed: status $got: $(cat "$TMPDIR/err")"
	expect_error "killed, perhaps for want of memory"
	[ "$(wc -l <"$TMPDIR/err")" = 1 ] || fail "$1 was killed: $(cat "$TMPDIR/err")"
}

begin
goes_first "$guest" "machine's process"
goes_first "$command" command
[ "$(cat /proc/$owner/oom_score_adj)" = "$mine" ] || fail "its owner goes first, too"
kill -9 "$guest"
ended "the machine's process"
begin
kill -9 "$command"
ended "the command"
! pgrep -f "^faultline-machine $TMPDIR/" || fail "something is left"
