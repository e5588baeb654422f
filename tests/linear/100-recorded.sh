#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Eight concurrent objects, recorded: the right ones are linearizable under two schedules each; of a stack
# and a set with a mistake a schedule is found in which it shows, whose history is wrong again when it
# is replayed. Mistakes in what is asked are one line.
# time limit: 300
. tests/lib.sh

need_bpf
need_breakpoints
program=$BUILD/tests/programs/oneatatime
for object in stack queue set map register counter priority mutex; do
	"$FAULTLINE" record --chaos=1 --until-fail 2 --object tests/linear/$object.obj -o "$TMPDIR/c" -- \
		"$program" $object 0 20 2>"$TMPDIR/err" || fail "$object: $(cat "$TMPDIR/err")"
	grep -q 'no failure in 2 runs' "$TMPDIR/err" || fail "$object: $(cat "$TMPDIR/err")"
	[ ! -e "$TMPDIR/c" ] || fail "$object: something was kept"
done
for object in "stack 2" "set 2"; do
	set -- $object
	expect_status 1 "$FAULTLINE" record --chaos=1 --until-fail 400 --object tests/linear/$1.obj \
		-o "$TMPDIR/$1" -- "$program" "$@" 30
	grep -q 'its calls have no order' "$TMPDIR/err" || fail "$object: $(cat "$TMPDIR/err")"
	for i in 1 2; do
		expect_status 1 "$FAULTLINE" linear --object tests/linear/$1.obj "$TMPDIR/$1"
		sed 1d "$TMPDIR/out" >"$TMPDIR/out$i" # which tells how long it took
	done
	cmp -s "$TMPDIR/out1" "$TMPDIR/out2" || fail "$object: not the same twice"
	grep -q ' at [0-9]* to [0-9]*$' "$TMPDIR/out1" || fail "$object: $(cat "$TMPDIR/out1")"
done
# Two pops of the same value are all that is shown of the stack.
"$FAULTLINE" linear --json --object tests/linear/stack.obj "$TMPDIR/stack" >"$TMPDIR/json"
grep -q '"minimal":true' "$TMPDIR/json" || fail "$(cat "$TMPDIR/json")"
position=$(grep -o '"called":[0-9]*' "$TMPDIR/json" | tail -1 | cut -d: -f2)
[ "$position" -gt 0 ] || fail "no position: $(cat "$TMPDIR/json")"

echo 'OBJECT stack; CALL nowhere(v) IS push(v);' >"$TMPDIR/x.obj"
expect_status 2 "$FAULTLINE" linear --object "$TMPDIR/x.obj" "$TMPDIR/stack"
expect_error 'none of the functions .*: nowhere'
echo 'OBJECT stack; CALL stack_push(v) IS shove(v);' >"$TMPDIR/x.obj"
expect_status 2 "$FAULTLINE" linear --object "$TMPDIR/x.obj" "$TMPDIR/stack"
expect_error "a stack has no operation 'shove' \(it has: push, pop, peek\)"
echo 'OBJECT stack; CALL stack_push(v) IS push();' >"$TMPDIR/x.obj"
expect_status 2 "$FAULTLINE" linear --object "$TMPDIR/x.obj" "$TMPDIR/stack"
expect_error 'push takes 1 arguments, not 0'
expect_status 2 "$FAULTLINE" linear --object stack "$TMPDIR/stack"
expect_error 'which functions are its operations'
echo 'OBJECT stack; CALL main() IS NOTHING;' >"$TMPDIR/x.obj"
expect_status 2 "$FAULTLINE" linear --object "$TMPDIR/x.obj" "$TMPDIR/stack"
expect_error 'nothing was checked'
expect_status 125 "$FAULTLINE" record --object tests/linear/stack.obj -- true
expect_error 'it is for --until-fail'
exit 0
