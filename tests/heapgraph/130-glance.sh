#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Looking at the accesses as fast as it goes comes to the same as step by step: what is found,
# each derivation, registers, memory. Programs of ours with and without errors, threads, and
# some of Debian's.
# time limit: 300
. tests/lib.sh
need cc
need_bpf
tool=$BUILD/tests/heapgraph/tool_glance

# same COMMAND...: compare; counts in $TMPDIR/counts.
same() {
	rm -rf "$TMPDIR/capture"
	"${RECORD[@]}" -o "$TMPDIR/capture" -- "$@" >/dev/null 2>"$TMPDIR/err" ||
		[ -d "$TMPDIR/capture" ] || fail "record: $(cat "$TMPDIR/err")"
	"$tool" "$TMPDIR/capture" >"$TMPDIR/counts" 2>"$TMPDIR/wrong" ||
		fail "$*: $(head -3 "$TMPDIR/wrong")"
	[ "$(count derivations)" -gt 5 ] || fail "$*: nothing was followed"
	[ "$(count steps_left)" -lt $(($(count steps) / 2)) ] ||
		fail "$*: nothing was fast: $(paste -sd' ' "$TMPDIR/counts")"
}
count() { sed -n "s/^$1 //p" "$TMPDIR/counts"; }

for spec in avl-O0 hash-O2 skiplist-O2 redblack-O0; do
	same "$BUILD/specs/$spec"
done
kinds=$(sed -nE 's/.*strcmp\(kind, "([a-z0-9]+)"\).*/\1/p' tests/programs/overflow.c)
cc -std=gnu11 -D_GNU_SOURCE -g -O2 -w -o "$TMPDIR/overflow" tests/programs/overflow.c ||
	fail "cannot compile"
found=0
for kind in $kinds; do
	same "$TMPDIR/overflow" "$kind"
	found=$((found + $(count found)))
done
[ $found -ge 12 ] || fail "overflow: $found accesses found"
found=0
for level in 0 2; do
	cc -std=gnu11 -g -O$level -w -fno-builtin -o "$TMPDIR/parts" tests/programs/parts.c ||
		fail "cannot compile"
	for kind in 0 1 2 3 4; do
		same "$TMPDIR/parts" "$kind"
		[ "$kind" != 0 ] || [ "$(count found)" = 0 ] || fail "parts: nothing is wrong"
		found=$((found + $(count found)))
	done
done
[ $found -ge 4 ] || fail "parts: $found accesses found"
same "$BUILD/tests/programs/crowd" arenas
same "$BUILD/tests/programs/containers"
seq 300 | sort -R >"$TMPDIR/lines"
same sort "$TMPDIR/lines"
same perl -e 'for (1..300) { $h{$_ % 17} .= "x$_" } print sort values %h'
exit 0
