#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# perf counts as many instructions in what encode writes as the replay runs: of a program, of
# one thread of several, of a followed process.
# time limit: 300
. tests/lib.sh

need perf gojq

# perf_count CAPTURE FILE - instructions that perf counts.
perf_count() {
	HOME=$TMPDIR perf script --symfs "$1/symfs" -i "$2" --itrace=i0nse -F tid,ip \
		2>/dev/null | grep -vc error
}
# counts_as_replay CAPTURE
counts_as_replay() {
	local n want
	n=$(perf_count "$1" "$1/perf.data")
	want=$("$FAULTLINE" replay --json "$1" | jq .instructions)
	[ "$n" -gt 0 ] && [ "$n" = "$want" ] || fail "$1: perf counts $n, not $want"
}

make_capture "$TMPDIR/c" ls /
expect_status 0 "$FAULTLINE" encode "$TMPDIR/c"
counts_as_replay "$TMPDIR/c"

t=$TMPDIR/t
make_capture "$t" "$BUILD/tests/programs/crowd" ping
expect_status 0 "$FAULTLINE" encode "$t"
tid=$("$FAULTLINE" dump --json -k switch "$t" | jq -s '[.[].thread] | unique | last')
expect_status 0 "$FAULTLINE" encode --thread "$tid" -o "$TMPDIR/one" "$t"
one=$(perf_count "$t" "$TMPDIR/one")
[ "$one" -gt 0 ] && [ "$one" -lt "$(perf_count "$t" "$t/perf.data")" ] || fail "one thread: $one"

make_followed "$TMPDIR/f" sh -c 'ls / | cat; true'
expect_status 0 "$FAULTLINE" encode "$TMPDIR/f"
counts_as_replay "$(dirname "$(find "$TMPDIR/f/children" -name perf.data | head -n 1)")"
