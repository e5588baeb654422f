#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# record --snapshot -e stores: the program prints the address and the value of each store
# that it makes, the snapshots hold the same, in order, thread by thread: at a crash, when
# asked, at the trigger, of a program that was attached to. A small ring holds the last ones
# and says since when. The core has the program's own code.
. tests/lib.sh
. tests/pt-collect/attach.bash
. tests/pt-collect/keeps.bash

need gdb
need_bpf
program=$(own_program keeps)

# fly STATUS OPTION... -- ARG...
fly() {
	local want=$1
	shift
	expect_status "$want" "${RECORD[@]}" --snapshot -e stores "$@"
	[ "$(id -u)" = 0 ] || sudo -n chown -R "$(id -u)" "$TMPDIR"
}

# same_by_thread CAPTURE PRINTED - each thread made the same stores in the same order.
same_by_thread() {
	stores "$1" | sort -s -k 2,2n >"$TMPDIR/seen"
	printed "$2" | sort -s -k 2,2n | cmp - "$TMPDIR/seen" ||
		fail "$1 holds other stores than were made: $(head -n 3 "$TMPDIR/seen")"
}

fly 139 -o "$TMPDIR/c" -- "$program" crash 50
grep -q '^faultline: snapshot at SIGSEGV of .* allocator calls and stores.*: complete$' \
	"$TMPDIR/err" || fail "record said: $(cat "$TMPDIR/err")"
same_by_thread "$TMPDIR/c" "$TMPDIR/out"
[ "$(wc -l <"$TMPDIR/seen")" = 100 ] || fail "$(wc -l <"$TMPDIR/seen") stores"
# The allocator's events are where they were: the memory that was stored to was given before.
"$FAULTLINE" dump -k heap_done,probe "$TMPDIR/c" | head -n 1 | grep -q 'HEAP_DONE calloc' ||
	fail "no calloc before the first store"
"$FAULTLINE" dump -k heap,probe "$TMPDIR/c" | tail -n 1 | grep -q 'HEAP free' ||
	fail "no free behind the last store"
gdb -nx -batch -ex 'disassemble keep' -ex 'disassemble count' "$program" "$TMPDIR/c/end.core" \
	>"$TMPDIR/gdb" 2>&1
[ "$(grep -c 'nop' "$TMPDIR/gdb")" = 2 ] && ! grep -q int3 "$TMPDIR/gdb" ||
	fail "the core's code: $(cat "$TMPDIR/gdb")"

# Where the CPU has no PT: what can be had of it all the same.
if grep -q '"why_not":[[:space:]]*"' "$TMPDIR/c/manifest.json"; then
	for how in recover decode graph "analyze --accesses"; do
		expect_status 2 "$FAULTLINE" $how "$TMPDIR/c"
		expect_error "no Intel PT, which alone tells .*the last 105 allocator and store events .*gdb"
	done
	"$FAULTLINE" dump "$TMPDIR/c" | grep -q 'without pt the events are a history' ||
		fail "dump does not say what the events are without PT"
fi

# A ring of 16 KiB.
fly 139 --snapshot=16K -o "$TMPDIR/small" -- "$program" quiet 5000
stores "$TMPDIR/small" >"$TMPDIR/seen"
[ "$(printed "$TMPDIR/out" | wc -l)" = 20 ] || fail "the program printed something else"
printed "$TMPDIR/out" | cmp - <(tail -n 20 "$TMPDIR/seen") || fail "not the last stores"
n=$(wc -l <"$TMPDIR/seen")
gone=$(number_of stores_overwritten "$TMPDIR/small")
[ "$n" -ge 40 ] && [ "$n" -lt 120 ] && [ $((n + gone)) = 10000 ] ||
	fail "$n kept, $gone overwritten"
first=$("$FAULTLINE" dump --json -k probe "$TMPDIR/small" | head -n 1 |
	sed 's/.*"at_ns":"\{0,1\}\([0-9]*\).*/\1/')
[ "$(number_of stores_from_ns "$TMPDIR/small")" = "$first" ] || fail "since $first?"
"$FAULTLINE" dump "$TMPDIR/small" |
	grep -q "$gone store events before these were overwritten; all from $first ns on" ||
	fail "dump does not tell"

fly 139 -o "$TMPDIR/t" -- "$program" threads 300
same_by_thread "$TMPDIR/t" "$TMPDIR/out"
[ "$(cut -d' ' -f2 "$TMPDIR/seen" | sort -u | wc -l)" = 2 ] || fail "threads"

# Asked for, at the trigger.
fresh
"${RECORD[@]}" --snapshot -e stores --trigger report -o "$TMPDIR/s" -- "$program" serve \
	>"$TMPDIR/out" 2>"$TMPDIR/err" &
recorder=$!
until_true grep -qs '^count' "$TMPDIR/out" || fail "it does not begin"
pid=$(pgrep -f "^$program serve" | tail -n 1)
kill -USR2 $recorder
until_true grep -qs 'snapshot as asked' "$TMPDIR/err" || fail "none as asked"
kill -USR1 "$pid"
until_true grep -qs 'snapshot at report in' "$TMPDIR/err" || fail "none at the trigger"
kill -TERM "$pid"
wait $recorder
[ $? = 7 ] || fail "harmed: status"
grep -q '^served' "$TMPDIR/out" || fail "harmed: $(tail -n 2 "$TMPDIR/out")"
[ "$(id -u)" = 0 ] || sudo -n chown -R "$(id -u)" "$TMPDIR"
for dir in "$TMPDIR/s" "$TMPDIR/s.2"; do
	stores "$dir" >"$TMPDIR/seen"
	n=$(wc -l <"$TMPDIR/seen")
	[ "$n" -gt 1 ] || fail "$dir: $n stores"
	printed "$TMPDIR/out" | head -n "$n" | cmp - "$TMPDIR/seen" || fail "$dir: other stores"
done

# Attached to: from then on; a library that is not there any more is told.
cat >"$TMPDIR/lib.c" <<'C'
void nothing(int *p);
void nothing(int *p) { *p = 1; }
C
need cc
cc -shared -fPIC -o "$TMPDIR/libgone.so" "$TMPDIR/lib.c" || fail "cannot compile"
fresh
LD_PRELOAD=$TMPDIR/libgone.so "$program" serve >"$TMPDIR/out" &
pid=$!
started+=($pid)
until_true grep -qs '^count' "$TMPDIR/out" || fail "it does not begin"
rm "$TMPDIR/libgone.so"
"${RECORD[@]}" --snapshot -e stores --stores-in 'libgone*' -p $pid -o "$TMPDIR/p" \
	2>"$TMPDIR/err" &
recorder=$!
until_true grep -qs "attached to process" "$TMPDIR/err" || fail "not attached"
until_true grep -qs "cannot find.*libgone" "$TMPDIR/err" || fail "$(cat "$TMPDIR/err")"
waits_on $pid 50
kill -USR2 $recorder
until_true grep -qs 'snapshot as asked.*cannot find.*libgone' "$TMPDIR/err" ||
	fail "the gap is not told: $(cat "$TMPDIR/err")"
kill -INT $recorder
wait $recorder || fail "status $? after Ctrl-C"
[ "$(id -u)" = 0 ] || sudo -n chown -R "$(id -u)" "$TMPDIR"
kill -TERM $pid
wait $pid
[ $? = 7 ] || fail "attached to, and harmed"
forget $pid
stores "$TMPDIR/p" >"$TMPDIR/seen"
n=$(wc -l <"$TMPDIR/seen")
[ "$n" -gt 20 ] || fail "$n stores of the one attached to"
printed "$TMPDIR/out" | grep -n -F -x "$(head -n 1 "$TMPDIR/seen")" | cut -d: -f1 >"$TMPDIR/at"
printed "$TMPDIR/out" | tail -n +"$(cat "$TMPDIR/at")" | head -n "$n" | cmp - "$TMPDIR/seen" ||
	fail "attached to: other stores"
echo "result: $n stores seen of the one attached to"
