#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Threads that lost the CPU in loops whose passes have the same registers: the places are found by memory, among
# millions of passes.
. tests/lib.sh

need_bpf
for where in near far; do
	c=$TMPDIR/$where
	expect_status 0 "${RECORD[@]}" -o "$c" -- "$BUILD/tests/programs/mill" $where
	cp "$TMPDIR/out" "$TMPDIR/recorded"
	[ "$(wc -l <"$TMPDIR/recorded")" = 3 ] || fail "$where: $(cat "$TMPDIR/recorded")"
	n=$("$FAULTLINE" dump --kind switch "$c" | grep -c 'SWITCH to [0-9]*, at [0-9a-f]*$')
	[ "$n" -ge 3 ] || fail "$where: $n switches outside of calls"
	expect_status 0 "$FAULTLINE" replay --stdout "$c"
	cmp "$TMPDIR/recorded" "$TMPDIR/out" || fail "$where: another output"
	grep -q 'all matched' "$TMPDIR/err" || fail "$where: $(cat "$TMPDIR/err")"
done
