#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# `faultline analyze --accesses` and all that the C library does with memory and strings, of any size
# up to two megabytes and as they lie: nothing is found, with every set of variants that this
# processor can be made to use, and of a copy that is too long its statement.
# time limit: 300
. tests/lib.sh
need gojq cc
need_bpf

source=tests/programs/strings.c
cc -std=gnu11 -D_GNU_SOURCE -g -O1 -fno-builtin -w -o "$TMPDIR/strings" $source ||
	fail "cannot compile"
wrong=$(grep -n $'^\tmemcpy(b, a, n + 1);' $source | cut -d: -f1)

# strings STATUS ARGS... - record the program with what RECORD says, and analyze.
strings() {
	local want=$1
	shift
	rm -rf "$TMPDIR/c"
	make_capture "$TMPDIR/c" "$TMPDIR/strings" "$@"
	expect_status "$want" "$FAULTLINE" analyze --accesses --json "$TMPDIR/c"
}

# with TUNABLES - what is recorded from here on has them.
with() {
	RECORD=(env "GLIBC_TUNABLES=$1" "$FAULTLINE" record)
	[ "$(id -u)" = 0 ] || RECORD=(sudo -n "${RECORD[@]}")
}

no512=-AVX512VL,-AVX512BW,-AVX512F
noavx=$no512,-AVX2,-AVX,-AVX_Fast_Unaligned_Load
sets=(glibc.malloc.check=0
	glibc.cpu.x86_rep_movsb_threshold=0x200:glibc.cpu.x86_rep_stosb_threshold=0x80
	glibc.cpu.x86_non_temporal_threshold=0x4040:glibc.cpu.hwcaps=-ERMS,-FSRM
	glibc.cpu.hwcaps=$noavx
	glibc.cpu.hwcaps=$noavx,-SSE4_2,-SSE4_1,-SSSE3,-ERMS)
! grep -qw avx512f /proc/cpuinfo || sets+=(glibc.cpu.hwcaps=$no512)
for tunables in "${sets[@]}"; do
	with $tunables
	strings 0
	jq -e '.accesses == []' "$TMPDIR/out" >/dev/null || fail "$tunables: $(cat "$TMPDIR/out")"
	for size in 300 5000 100000; do
		strings 1 over $size
		lines=$(jq -c '[.accesses[].at.line] | unique' "$TMPDIR/out")
		[ "$lines" = "[$wrong]" ] || fail "$tunables, $size: lines $lines, not $wrong"
	done
done
