#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# record --portable: what runs in the replay is x86-64-v2 at most, also in a library that
# asks cpuid by itself; and where cpuid does not trap.
. tests/lib.sh

need openssl gcc gojq
newer='^(AVX|FMA|F16C|BMI2|XSAVE|SHA|AES|PCLMUL|VAES|GFNI|LZCNT|MOVBE|ADX|RD)'
make_text 1 >"$TMPDIR/text"

isa() {
	jq -r '.isa[]' "$1.json"
}

RECORD+=(--portable)
record_and_replay openssl sha256 "$TMPDIR/text"
isa "$TMPDIR/c" | grep -qx SSE2 || fail "no SSE2: $(isa "$TMPDIR/c")"
isa "$TMPDIR/c" | grep -E "$newer" && fail "instructions that not every host has"
rm -r "$TMPDIR"/c "$TMPDIR"/c.*

# The test can tell: without the option this host's own are used.
if grep -qw avx2 /proc/cpuinfo; then
	RECORD=("${RECORD[@]:0:${#RECORD[@]}-1}")
	record_and_replay openssl sha256 "$TMPDIR/text"
	isa "$TMPDIR/c" | grep -Eq "$newer" || fail "nothing newer without --portable"
	rm -r "$TMPDIR"/c "$TMPDIR"/c.*
	RECORD+=(--portable)
fi

"${RECORD[@]}" -o "$TMPDIR/p" -p $$ 2>"$TMPDIR/err" && fail "-p and --portable go together"
grep -q 'cannot record with both -p and --portable' "$TMPDIR/err" || fail "$(cat "$TMPDIR/err")"

# A processor that cannot make cpuid trap.
rm -rf "$TMPDIR"/c "$TMPDIR"/c.*
without_cpuid_traps
record_and_replay openssl sha256 "$TMPDIR/text"
isa "$TMPDIR/c" | grep -E "$newer" && fail "instructions that not every host has"
exit 0
