#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# record --snapshot at a crash: what the program prints of its allocator calls is what the
# capture holds of them, results included; the rings are bounded; gdb sees the end, also
# from inside the allocator, where probes have replaced return addresses.
. tests/lib.sh

need gdb
need_bpf
program=$BUILD/tests/programs/flight

# fly STATUS OPTION... -- ARG... - run it under the flight recorder.
fly() {
	local want=$1
	shift
	expect_status "$want" "${RECORD[@]}" --snapshot "$@"
	[ "$(id -u)" = 0 ] || sudo -n chown -R "$(id -u)" "$TMPDIR"
}

# calls DIR - the allocator calls in it, as the program prints them.
calls() {
	"$FAULTLINE" dump -k heap,heap_done "$1" | sed 's/[(,)]/ /g' | awk '
		$3 == "HEAP" && $4 == "malloc" { size = $5; open = 1 }
		$3 == "HEAP_DONE" && open { print "malloc", size, $6; open = 0 }
		$3 == "HEAP" && $4 == "free" { print "free", $5 }
		END { if (open) print "malloc", size, "unfinished" }'
}

# backtrace DIR
backtrace() {
	gdb -nx -batch -ex 'thread apply all bt' -ex 'p/x truth' -ex 'p $_siginfo.si_signo' \
		"$program" "$1/end.core" 2>&1
}

fly 134 -o "$TMPDIR/c" -- "$program" corrupt 200
grep -E '^(malloc|free) ' "$TMPDIR/out" >"$TMPDIR/printed"
grep -q '^faultline: snapshot at SIGABRT of thread .*: complete$' "$TMPDIR/err" ||
	fail "record said: $(cat "$TMPDIR/err")"
calls "$TMPDIR/c" >"$TMPDIR/seen"
# stdio's buffer is the program's first call, and the call that found out its last.
[ -s "$TMPDIR/printed" ] || fail "it printed no calls"
[ "$(wc -l <"$TMPDIR/seen")" = $(($(wc -l <"$TMPDIR/printed") + 2)) ] ||
	fail "$(wc -l <"$TMPDIR/seen") calls seen"
sed '1d;$d' "$TMPDIR/seen" | cmp - "$TMPDIR/printed" || fail "other calls than it made"
[ "$(tail -n 1 "$TMPDIR/seen")" = "malloc 6000 unfinished" ] ||
	fail "the last call: $(tail -n 1 "$TMPDIR/seen")"

backtrace "$TMPDIR/c" >"$TMPDIR/gdb"
for want in 'abort ()' 'malloc' 'in corrupt_heap ()' 'main ()\|main (' \
	'= 0x1122334455667788' '\$2 = 6'; do
	grep -q "$want" "$TMPDIR/gdb" || fail "gdb does not say '$want': $(cat "$TMPDIR/gdb")"
done
"$FAULTLINE" dump --json "$TMPDIR/c" | grep -q '"heap_done"' || fail "no result in JSON"
grep -Eq '"mode":[[:space:]]*"flight"' "$TMPDIR/c/manifest.json" || fail "mode"
expect_status 2 "$FAULTLINE" replay "$TMPDIR/c"
expect_error 'flight recorder'

# A ring of 4 KiB holds the last calls, and tells how many it does not hold.
fly 134 --snapshot=4K -o "$TMPDIR/small" -- "$program" corrupt 200
calls "$TMPDIR/small" | awk '{ print $1, $2 }' | grep -v free | tail -n 20 >"$TMPDIR/a"
awk '{ print $1, $2 }' "$TMPDIR/seen" | grep -v free | tail -n 20 | cmp - "$TMPDIR/a" ||
	fail "the small ring holds others than the last calls"
n=$("$FAULTLINE" dump -k heap,heap_done "$TMPDIR/small" | wc -l)
all=$("$FAULTLINE" dump -k heap,heap_done "$TMPDIR/c" | wc -l)
gone=$(sed -n 's/.*"overwritten":[[:space:]]*"\([0-9]*\)".*/\1/p' "$TMPDIR/small/manifest.json")
[ "$n" -lt 110 ] && [ $((n + gone)) = "$all" ] || fail "$n kept, $gone overwritten, of $all"

# Threads: the one that crashed is the first, and all stand in code of the program.
fly 139 -o "$TMPDIR/t" -- "$program" threads
backtrace "$TMPDIR/t" >"$TMPDIR/gdb"
[ "$(grep -c '^Thread ' "$TMPDIR/gdb")" = 6 ] || fail "threads: $(cat "$TMPDIR/gdb")"
grep -A 1 '^Thread 1 ' "$TMPDIR/gdb" | grep -q '#0 .*fault (arg=0x123450)' ||
	fail "who crashed: $(cat "$TMPDIR/gdb")"
# (The kernel's code of probes is the last page of user space. A thread that has just begun
# has a frame of no function behind its first.)
if grep -E '^#0 .* in \?\? \(\)$|^#[0-9]+ +0x00007fffffff' "$TMPDIR/gdb"; then
	fail "a thread stands in a probe, or returns into one"
fi

# It executes another program: the rings go on, and the core is of that one.
fly 134 -o "$TMPDIR/e" -- env -u NOTHING "$program" corrupt 200
sed '1d;$d' "$TMPDIR/seen" | cut -d' ' -f1,2 | grep malloc | tail -n 100 >"$TMPDIR/a"
calls "$TMPDIR/e" | sed '$d' | cut -d' ' -f1,2 | grep malloc | tail -n 100 | cmp - "$TMPDIR/a" ||
	fail "other calls behind an exec"
backtrace "$TMPDIR/e" | grep -q 'in corrupt_heap ()' || fail "not the executed program's core"

# Nothing happened, nothing is kept; the status is the program's own.
fly 3 -o "$TMPDIR/none" -- "$BUILD/tests/programs/crash" exit 3
grep -q 'no snapshot was taken' "$TMPDIR/err" || fail "$(cat "$TMPDIR/err")"
[ ! -e "$TMPDIR/none" ] || fail "a capture was left"
