#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# record -f of programs that trace their children (debuggers, sandboxes): a process has one tracer,
# so who is to be traced is left to it. The program runs as it would by itself, its own history is
# whole, the child's goes to where it was left, and says so.
. tests/lib.sh

need_bpf
traces=$BUILD/tests/programs/traces
traced='another process traces it'

# MODE HISTORIES: runs as by itself; so many histories match; the gap is told.
runs() {
	"$traces" "$1" >"$TMPDIR/want" || fail "$1 does not work by itself"
	rm -rf "$TMPDIR/c"
	expect_status 0 "${RECORD[@]}" -f -o "$TMPDIR/c" -- "$traces" "$1"
	cmp "$TMPDIR/want" "$TMPDIR/out" || fail "$1 ran differently: $(cat "$TMPDIR/out")"
	[ "$(id -u)" = 0 ] || sudo -n chown -R "$(id -u)" "$TMPDIR/c"
	all_match "$TMPDIR/c"
	[ "$n_matched" = "$2" ] || fail "$1: $n_matched histories, not $2"
	"$FAULTLINE" replay --stdout "$TMPDIR/c" 2>/dev/null | cmp "$TMPDIR/want" - ||
		fail "$1 is replayed differently"
	"$FAULTLINE" replay "$TMPDIR/c" >"$TMPDIR/replay" 2>&1
	processes "$TMPDIR/c" >"$TMPDIR/tree"
}
for mode in traceme seize threads attach share spin; do
	runs $mode 2
	grep -q "gap: $traced from here on (ptrace): .* not recorded (process 1)" "$TMPDIR/replay" ||
		fail "$mode: $(cat "$TMPDIR/replay")"
done
# One that borrows its parent's memory has no history to end.
runs borrow 1
grep -q "executed no program" "$TMPDIR/tree" || fail "borrow: $(cat "$TMPDIR/tree")"
grep -q "cannot record process 1 .*: $traced (ptrace)" "$TMPDIR/err" ||
	fail "borrow: $(cat "$TMPDIR/err")"
# What the kernel refuses stays refused.
runs refused 1
! grep -q "$traced" "$TMPDIR/replay" || fail "refused: $(cat "$TMPDIR/replay")"
# The program itself stays ours: who wants to trace it learns why he cannot.
expect_status 0 "${RECORD[@]}" -f -o "$TMPDIR/p" -- "$traces" parent
grep -q '^faultline: warning: process .*traces) wants ptrace, and is refused: ' "$TMPDIR/err" ||
	fail "parent: $(cat "$TMPDIR/err")"
grep -q 'parent -1 Operation not permitted' "$TMPDIR/out" || fail "parent: $(cat "$TMPDIR/out")"
exit 0
