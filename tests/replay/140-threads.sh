#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
# time limit: 400
#
# Programs with threads, each recorded once and replayed twice: the same output, and the
# same number of instructions.
. tests/lib.sh

need_bpf
declare -A status=([crash]=139 [leave]=7)
n_printed=0
for mode in ping spin race stamps fill calls sleep sem thousand signals interrupted timers robust \
	twice detached leader become leave crash; do
	c=$TMPDIR/$mode
	expect_status "${status[$mode]:-0}" "${RECORD[@]}" -o "$c" -- \
		"$BUILD/tests/programs/crowd" "$mode"
	grep -v 'Segmentation fault' "$TMPDIR/out" >"$TMPDIR/recorded"
	[ ! -s "$TMPDIR/recorded" ] || n_printed=$((n_printed + 1))
	grep -q ': complete' "$TMPDIR/err" || fail "$mode: $(cat "$TMPDIR/err")"
	for i in 1 2; do
		expect_status 0 "$FAULTLINE" replay --stdout "$c"
		cmp -s "$TMPDIR/recorded" "$TMPDIR/out" || fail "$mode: another output"
		grep -o '[1-9][0-9]* instructions' "$TMPDIR/err" >"$TMPDIR/count.$i" ||
			fail "$mode: no count: $(cat "$TMPDIR/err")"
	done
	cmp -s "$TMPDIR/count.1" "$TMPDIR/count.2" || fail "$mode: another path"
	echo "$mode: $(cat "$TMPDIR/count.1")"
	rm -rf "$c"
done
[ $n_printed -ge 12 ] || fail "only $n_printed programs printed something"

# Where the place of a preemption is not certain, the replay says so.
for mode in hide far lanes; do
	c=$TMPDIR/$mode
	expect_status 0 "${RECORD[@]}" -o "$c" -- "$BUILD/tests/programs/crowd" "$mode"
	"$FAULTLINE" replay "$c" >"$TMPDIR/out" 2>"$TMPDIR/err"
	grep -q 'the place of a thread switch is not certain' "$TMPDIR/err" ||
		fail "$mode: no note: $(cat "$TMPDIR/out" "$TMPDIR/err")"
	rm -rf "$c"
done
