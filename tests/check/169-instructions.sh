#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Instruction by instruction: what has no value decides by it; what of its operands has no part in the result does not. Nor
# does what the C library's functions read behind a text, as they are for one processor and another.
. tests/lib.sh
need gojq gcc
need_bpf

source=tests/check/programs/instructions.c
gcc -g -O1 -o "$TMPDIR/instructions" $source || fail "cannot compile $source"
grep -n '// expect$' $source | cut -d: -f1 | sort >"$TMPDIR/all"
[ "$(wc -l <"$TMPDIR/all")" -ge 200 ] || fail "$source expects nothing"
for kind in right wrong; do
	: >"$TMPDIR/want"
	"$TMPDIR/instructions" $kind | sort >"$TMPDIR/skipped"
	[ ! -s "$TMPDIR/skipped" ] || echo "not on this processor: lines $(tr '\n' ' ' <"$TMPDIR/skipped")"
	[ $kind = right ] || comm -23 "$TMPDIR/all" "$TMPDIR/skipped" >"$TMPDIR/want"
	make_lived "$TMPDIR/c" "$TMPDIR/instructions" $kind
	"$BUILD/tests/check/tool_bytes" "$TMPDIR/c" >"$TMPDIR/counts" || fail "$kind: as fast as it goes is not the same"
	for how in "--only UNINIT-USE" ""; do
		"$FAULTLINE" check $how --json "$TMPDIR/c" >"$TMPDIR/out" 2>"$TMPDIR/err"
		jq -r '.findings[] | .rule as $r | (.at, (.also // [])[]) | "\(.line) \($r)"' "$TMPDIR/out" |
			grep ' UNINIT-USE$' | cut -d' ' -f1 | sort -u >"$TMPDIR/found"
		diff "$TMPDIR/want" "$TMPDIR/found" || fail "$kind $how: $(cat "$TMPDIR/err")"
	done
done

gcc -g -O2 -fno-builtin -w -o "$TMPDIR/ahead" tests/check/programs/ahead.c || fail "cannot compile"
for hwcaps in "" -AVX512VL,-AVX512BW -AVX2,-AVX512VL,-AVX512BW -AVX2,-AVX512VL,-AVX512BW,-SSE4_2,-SSSE3; do
	rm -rf "$TMPDIR/c"
	GLIBC_TUNABLES=glibc.cpu.hwcaps=$hwcaps make_capture "$TMPDIR/c" "$TMPDIR/ahead"
	expect_status 0 "$FAULTLINE" check "$TMPDIR/c"
	"$BUILD/tests/check/tool_bytes" "$TMPDIR/c" >"$TMPDIR/counts" || fail "$hwcaps: as fast as it goes is not the same"
	! grep -q 'uses [1-9]' "$TMPDIR/counts" || fail "$hwcaps: $(cat "$TMPDIR/counts")"
done
exit 0
