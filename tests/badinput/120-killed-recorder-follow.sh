#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# The recorder of several processes is killed: those that had ended replay whole, the others
# up to where their history breaks off, and the capture says so.
. tests/lib.sh

need_bpf
[ "$(id -u)" = 0 ] || skip "needs root, to kill the recorder"
forks=$BUILD/tests/programs/forks
spin='while :; do :; done'
"$FAULTLINE" record -f -o "$TMPDIR/c" -- sh -c "'$forks' many 3; sh -c '$spin'; :" \
	>"$TMPDIR/recorded" 2>&1 &
recorder=$!
has_calls() {
	"$FAULTLINE" dump "$1" | grep -q ' SYSCALL '
}
until_true eval '[ -s "$TMPDIR"/c/children/5-sh.*/start.core ]'
# What is known goes to the disk once a second.
until_true has_calls "$TMPDIR/c" && until_true has_calls "$TMPDIR"/c/children/5-sh.* ||
	fail "nothing on the disk: $(cat "$TMPDIR/recorded")"
spinning=$(basename "$TMPDIR"/c/children/5-sh.*)
spinning=${spinning##*.}
children_of() { cat "/proc/$1/task/$1/children"; }
# The one that records is a child of the one that we started (start/keeper.c).
worker=$(children_of $recorder)
children="$(children_of $worker) $spinning"
kill -KILL $worker
until_true grep -q '^TracerPid:[[:space:]]*0$' "/proc/$spinning/status"
for child in $children; do
	if kill -0 "$child" 2>/dev/null; then
		kill -KILL "$child"
	fi
done
wait $recorder
[ $? = 125 ] || fail "the status is not 125"
looks_whole "$TMPDIR/c" && fail "a capture was left that looks whole"
"$FAULTLINE" replay --json "$TMPDIR/c" >"$TMPDIR/out" 2>"$TMPDIR/err"
[ $? = 2 ] || fail "replay did not exit with 2: $(cat "$TMPDIR/out" "$TMPDIR/err")"
cat "$TMPDIR/out"
[ "$(grep -c '"matched":true' "$TMPDIR/out")" = 4 ] || fail "not the 4 that ended matched"
[ "$(grep -c '"matched":false' "$TMPDIR/out")" = 2 ] || fail "not 2 that break off"
grep -q '"syscalls":0,' "$TMPDIR/out" && fail "nothing of one was kept"
"$FAULTLINE" dump --processes "$TMPDIR/c" | tee "$TMPDIR/tree" | grep -c incomplete |
	grep -qx 2 || fail "the tree: $(cat "$TMPDIR/tree")"
expect_status 2 "$FAULTLINE" replay --process "$spinning" "$TMPDIR/c"
grep -q "not finished" "$TMPDIR/err" || fail "says: $(cat "$TMPDIR/err")"
