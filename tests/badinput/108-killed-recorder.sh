#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# The recorder is killed: what it left says that it is not complete.
. tests/lib.sh

need_bpf
[ "$(id -u)" = 0 ] || skip "needs root, to kill the recorder"
"$FAULTLINE" record -o "$TMPDIR/c" -- sh -c "while :; do :; done" >"$TMPDIR/out" 2>&1 &
recorder=$!
until_true [ -s "$TMPDIR/c/start.core" ]
sleep 0.5
child() { tr -d ' ' <"/proc/$1/task/$1/children"; }
worker=$(child $recorder)
program=$(child "$worker")
kill -KILL "$worker"
until_true grep -q '^TracerPid:[[:space:]]*0$' "/proc/$program/status" || fail "it is still traced"
kill -KILL "$program"
wait $recorder
[ $? = 125 ] || fail "the status is not 125"
looks_whole "$TMPDIR/c" && fail "a capture was left that looks whole"
"$FAULTLINE" replay "$TMPDIR/c" >"$TMPDIR/out" 2>"$TMPDIR/err"
[ $? = 2 ] || fail "replay did not exit with 2: $(cat "$TMPDIR/out" "$TMPDIR/err")"
grep -Eiq "not finished|incomplete|not complete|no manifest" "$TMPDIR/err" ||
	fail "nothing says that it is unfinished: $(cat "$TMPDIR/err")"
