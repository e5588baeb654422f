#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# record --snapshot while the program runs: SIGUSR2 and --trigger each leave a capture, of a
# program that was started and of one attached to; it runs on unharmed.
. tests/lib.sh

need gdb
need_bpf
program=$(own_program flight)

said() {
	grep -qs "$1" "$TMPDIR/err"
}

# truth DIR - as its core has it.
truth() {
	gdb -nx -batch -ex 'p/x truth' -ex bt "$program" "$1/end.core" 2>&1
}

fresh
"${RECORD[@]}" --snapshot=64K --trigger report_error -o "$TMPDIR/c" -- "$program" serve \
	>"$TMPDIR/out" 2>"$TMPDIR/err" &
recorder=$!
until_true grep -qs ready "$TMPDIR/out" || fail "waited in vain: $(cat "$TMPDIR/err")"
pid=$(pgrep -f "^$program serve" | tail -n 1)
kill -USR2 $recorder
until_true said 'snapshot as asked' || fail "waited in vain: $(cat "$TMPDIR/err")"
kill -USR1 "$pid"
until_true said 'snapshot at report_error' || fail "waited in vain: $(cat "$TMPDIR/err")"
kill -USR1 "$pid" # a second time: the trigger was for once
waits_on "$pid" 10
kill -USR2 $recorder
until_true said 'c\.3: complete' || fail "waited in vain: $(cat "$TMPDIR/err")"
kill -TERM "$pid"
wait $recorder
[ $? = 7 ] || fail "status"
grep -q 'truth 112233445566778a' "$TMPDIR/out" || fail "harmed: $(cat "$TMPDIR/out")"
[ ! -e "$TMPDIR/c.4" ] || fail "a fourth snapshot"
truth "$TMPDIR/c" | grep -q '= 0x1122334455667788' || fail "the first: $(truth "$TMPDIR/c")"
truth "$TMPDIR/c.2" >"$TMPDIR/gdb"
grep -q '#0 .*in report_error (code=' "$TMPDIR/gdb" || fail "at the trigger: $(cat "$TMPDIR/gdb")"
truth "$TMPDIR/c.3" | grep -q '= 0x112233445566778a' || fail "the third: $(truth "$TMPDIR/c.3")"
grep -q '"reason":.*"trigger"' "$TMPDIR/c.2/manifest.json" || fail "reason"

# A function of a library; and one that is nowhere.
fresh
"${RECORD[@]}" --snapshot --trigger usleep@libc.so -o "$TMPDIR/l" -- "$program" serve \
	>"$TMPDIR/out" 2>"$TMPDIR/err" &
recorder=$!
until_true said 'snapshot at usleep@libc.so' || fail "waited in vain: $(cat "$TMPDIR/err")"
kill -TERM "$(pgrep -f "^$program serve" | tail -n 1)"
wait $recorder
truth "$TMPDIR/l" | grep -q '#0 .*usleep (' || fail "$(truth "$TMPDIR/l")"
"${RECORD[@]}" --snapshot --trigger nowhere -o "$TMPDIR/n" -- true 2>"$TMPDIR/err" || fail "status"
said "no function 'nowhere'" || fail "$(cat "$TMPDIR/err")"

# Attached to.
fresh
"$program" serve >"$TMPDIR/out" &
pid=$!
until_true grep -qs ready "$TMPDIR/out" || fail "waited in vain: $(cat "$TMPDIR/err")"
"${RECORD[@]}" --snapshot -p $pid -o "$TMPDIR/p" 2>"$TMPDIR/err" &
recorder=$!
until_true said 'attached to process' || fail "waited in vain: $(cat "$TMPDIR/err")"
waits_on $pid 50
kill -USR2 $recorder
until_true said 'snapshot as asked' || fail "waited in vain: $(cat "$TMPDIR/err")"
kill -INT $recorder
wait $recorder || fail "status $? after Ctrl-C"
truth "$TMPDIR/p" | grep -q 'in serve ()' || fail "$(truth "$TMPDIR/p")"
[ "$("$FAULTLINE" dump -k heap_done "$TMPDIR/p" | wc -l)" -gt 20 ] || fail "no calls seen"
kill -0 $pid || fail "it did not survive"
kill -TERM $pid
wait $pid
[ $? = 7 ] || fail "harmed"

# The recorder killed: the program goes on.
fresh
"${RECORD[@]}" --snapshot -o "$TMPDIR/k" -- "$program" serve >"$TMPDIR/out" 2>"$TMPDIR/err" &
keeper=$!
until_true grep -qs ready "$TMPDIR/out" || fail "waited in vain: $(cat "$TMPDIR/err")"
pid=$(pgrep -f "^$program serve" | tail -n 1)
[ "$(id -u)" = 0 ] && pkill -KILL -P $keeper flt-recorder
[ "$(id -u)" = 0 ] || kill -TERM "$pid"
waits_on "$pid" 10 || fail "it stands still"
kill -TERM "$pid"
wait $keeper
grep -q 'truth 1122334455667788' "$TMPDIR/out" || fail "did not go on: $(cat "$TMPDIR/out")"
