#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Two recordings side by side, of different programs: the one that probes the allocator's
# returns gives return probes to the other as well, where that has probes at the same places.
# They are no calls of the program's, and its capture replays.
. tests/lib.sh
need_bpf

mkfifo "$TMPDIR/in"
"${RECORD[@]}" --snapshot -o "$TMPDIR/flight" -- cat "$TMPDIR/in" >"$TMPDIR/echo" \
	2>"$TMPDIR/flight.err" &
exec 7>"$TMPDIR/in"
echo ready >&7
until_true grep -qs ready "$TMPDIR/echo" || fail "$(cat "$TMPDIR/flight.err")"

expect_status 139 "${RECORD[@]}" -e heap -o "$TMPDIR/c" -- "$BUILD/tests/programs/crashes" \
	tree 2000
[ "$(id -u)" = 0 ] || sudo -n chown -R "$(id -u)" "$TMPDIR/c"
"$FAULTLINE" replay "$TMPDIR/c" >"$TMPDIR/out" 2>&1 || fail "$(cat "$TMPDIR/out")"
grep -q 'all matched' "$TMPDIR/out" || fail "$(cat "$TMPDIR/out")"
[ "$("$FAULTLINE" dump -k heap "$TMPDIR/c" | grep -c 'HEAP malloc(')" -gt 500 ] ||
	fail "hardly a call of malloc was recorded"

# With threads, more of that would show: a switch where the kernel has put a return address.
for i in 1 2 3; do
	expect_status 0 "${RECORD[@]}" -e heap -o "$TMPDIR/t$i" -- \
		"$BUILD/tests/programs/crowd" arenas
	[ "$(id -u)" = 0 ] || sudo -n chown -R "$(id -u)" "$TMPDIR/t$i"
	"$FAULTLINE" replay "$TMPDIR/t$i" >"$TMPDIR/out" 2>&1 || fail "$(cat "$TMPDIR/out")"
done

exec 7>&-
wait || fail "the other program: $(cat "$TMPDIR/flight.err")"
