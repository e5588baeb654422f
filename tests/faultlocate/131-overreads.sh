#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# `faultline analyze --accesses` and the C library's string functions, which read ahead as
# suits the processor: reads beyond a buffer through them are found, each at its statement,
# and nothing else is, with every set of variants that this processor can be made to use.
# time limit: 300
. tests/lib.sh
need gojq cc
need_bpf

source=tests/programs/overread.c
marked=$(grep -n '/\* READ \*/' $source | cut -d: -f1 | paste -sd' ')
n=$(wc -w <<<"$marked")

# found - the lines of what was found, in order; only reads beyond the end.
found() {
	jq -r '.accesses | if all(.kind == "beyond" and (.write | not)) then
		([.[].at.line] | unique | join(" ")) else "\(.)" end' "$TMPDIR/json"
}

# overreads STATUS ARGS... - record and analyze the program; JSON in $TMPDIR/json.
overreads() {
	local want=$1 got=0
	shift
	rm -rf "$TMPDIR/capture"
	make_capture "$TMPDIR/capture" "$TMPDIR/overread" "$@"
	"$FAULTLINE" analyze "$TMPDIR/capture" --accesses --json >"$TMPDIR/json" \
		2>"$TMPDIR/err" || got=$?
	[ $got = "$want" ] ||
		fail "exit status $got, not $want: $(cat "$TMPDIR/err" "$TMPDIR/json")"
}

for level in O0 O2; do
	# The compiler must not know the functions: it would expand their calls.
	cc -std=gnu11 -D_GNU_SOURCE -g -$level -fno-builtin -w -o "$TMPDIR/overread" \
		$source || fail "cannot compile"
	for without in none AVX512VL,-AVX512BW,-AVX512F \
		AVX512VL,-AVX512BW,-AVX512F,-AVX2,-AVX,-AVX_Fast_Unaligned_Load \
		AVX512VL,-AVX512F,-AVX2,-AVX,-AVX_Fast_Unaligned_Load,-SSE4_2,-SSE4_1,-SSSE3,-ERMS; do
		without_features $without
		overreads 1
		[ "$(found)" = "$marked" ] ||
			fail "-$level, without $without: '$(found)', not '$marked'"
		overreads 0 fixed
	done
done
echo "$n of $n reads beyond the end found, no others"
