#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
# time limit: 300
#
# Each fuzz target, with its seeds and a few changes of each: it links, it starts, and what it found
# once it does not find again. Finding more is `make fuzz''s.
. tests/lib.sh

n=0
for source in tests/fuzz/fuzz_*.c; do
	name=$(basename "$source" .c)
	name=${name#fuzz_}
	seeds=()
	[ ! -d "tests/fuzz/seeds-$name" ] || seeds=("tests/fuzz/seeds-$name"/*)
	"$BUILD/tests/fuzz/seeds_$name" "${seeds[@]}" >"$TMPDIR/out" 2>&1 ||
		fail "$name: status $?: $(tail -n 30 "$TMPDIR/out")"
	n=$((n + ${#seeds[@]}))
done
[ $n -gt 200 ] || fail "$n seeds"
echo "result: $n seeds"
