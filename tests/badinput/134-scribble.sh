#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# A capture whose program, when it is replayed, writes over what the machine has in its address
# space. The commands end, with a line that says how, and nobody else notices.
# time limit: 300
. tests/lib.sh

need_bpf
program=$BUILD/tests/programs/scribble
sleep 1000 &
victim=$!
n_noticed=0
for byte in 0 256; do
	c=$TMPDIR/$byte
	expect_status 0 "${RECORD[@]}" -o "$c" -- "$program" $byte
	[ "$(cat "$TMPDIR/out")" = "0 written" ] || skip "it met memory of its own: $(cat "$TMPDIR/out")"
	ways=("" --explain)
	[ $byte = 0 ] || ways=(--json --log=values)
	for options in "${ways[@]}"; do
		got=0
		timeout 100 "$FAULTLINE" replay $options "$c" >"$TMPDIR/out" 2>"$TMPDIR/err" || got=$?
		[ $got -le 2 ] || fail "replay $options: status $got: $(cat "$TMPDIR/err")"
		[ $got = 0 ] || n_noticed=$((n_noticed + 1))
		[ -s "$TMPDIR/out" ] || [ "$(wc -l <"$TMPDIR/err")" -ge 1 ] || fail "$options: nothing said"
		! grep -qP '[^\x20-\x7e\t\n]' "$TMPDIR/out" "$TMPDIR/err" ||
			fail "$options: $(cat -v "$TMPDIR/err")"
	done
done
kill -0 $victim || fail "a process that is not ours is gone"
kill $victim
! pgrep -f "^faultline-machine .* $TMPDIR/" >"$TMPDIR/left" || fail "left: $(cat "$TMPDIR/left")"
echo "result: $n_noticed of 4 replays were disturbed"
