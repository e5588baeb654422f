#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Threads in many ways (tests/programs/threads.c): in each log every event belongs to the
# thread that is current there by the switches, no call and no thread's end is missing, and
# the replay prints the same.
# time limit: 240
. tests/lib.sh

need_bpf
dump=$TMPDIR/dump

# in_order - every event in $dump is of the current thread, but for a new one's first: that
# thread's own return from clone.
in_order() {
	awk '$1 !~ /^[0-9]+$/ || $2 !~ /^[0-9]+$/ || $3 == "GAP" { next }
	!current { current = $2; born[$2] = 1 }
	$3 == "SYSCALL" && $4 ~ /^clone3?\(/ && / = 0( |$)/ && !born[$2] { born[$2] = 1; next }
	$2 != current { print "thread " current " runs:", $0; wrong = 1; exit }
	$3 == "EXIT" { delete born[$2] } # its number may come again
	$3 == "SWITCH" { current = $5 + 0; n++ }
	END { exit wrong || !n }' "$dump"
}

# check NAME STATUS [KIND COUNT]
check() {
	local capture=$TMPDIR/$1
	expect_status "$2" "${RECORD[@]}" -o "$capture" -- "$BUILD/tests/programs/threads" "$1"
	mv "$TMPDIR/out" "$capture.out"
	tail -n 1 "$TMPDIR/err" | grep -q ': complete' || fail "$1: $(cat "$TMPDIR/err")"
	[ "$(id -u)" = 0 ] || sudo -n chown -R "$(id -u)" "$capture"
	"$FAULTLINE" dump "$capture" >"$dump" || fail "$1: dump"
	[ "$1" = execute ] || in_order || fail "$1: not in order"
	[ -z "${3:-}" ] || [ "$(grep -c "$3" "$dump")" = "$4" ] ||
		fail "$1: not $4 times '$3' but $(grep -c "$3" "$dump")"
	"$FAULTLINE" replay --stdout "$capture" >"$capture.replayed" 2>"$capture.err" ||
		fail "$1: replay exits with $?: $(cat "$capture.err")"
	cmp "$capture.out" "$capture.replayed" || fail "$1: the replay printed something else"
	rm -rf "$capture"
}

check alternate 0
check spin 0 ' EXIT 0' 4
check create 0 ' EXIT 0' 1001
check race 0
check kill 0
check interrupt 0
check timer 0
check robust 0
check clock 0
check calls 0 ' SYSCALL getppid(' 80000
check nothing 0 ' SYSCALL getppid(' 8000
check read 0 ' SYSCALL read(.*, 100000, .* = 1048576' 480
check detached 0 ' EXIT 0' 201
check crash 139 ' EXIT -1' 5
check execute 0
check exit 7 ' EXIT 7' 5
check leave 0
check fork 0
check spawn 0
check stop 0
exit 0
