#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# What was never written leads to nothing: in it is what memory's last owner left. So it is whichever rules are asked.
. tests/lib.sh
need gojq gcc
need_bpf

source=tests/check/programs/remains.c
grep -n '// expect: ' $source | sed 's/^\([0-9]*\):.*expect: \(.*\)/\1 \2/' >"$TMPDIR/want"
for level in O0 O2; do
	gcc -g -w -$level -o "$TMPDIR/remains" $source || fail "cannot compile $source"
	rm -rf "$TMPDIR/c"
	make_capture "$TMPDIR/c" "$TMPDIR/remains"
	for options in "" --strict "--only DEFINITE-LEAK,INDIRECT-LEAK"; do
		expect_status 1 "$FAULTLINE" check $options --json "$TMPDIR/c"
		jq -r '.findings[] | "\(.at.line) \(.rule)"' "$TMPDIR/out" | sort -nu >"$TMPDIR/found"
		diff "$TMPDIR/want" "$TMPDIR/found" || fail "-$level $options"
		expect_status 1 "$FAULTLINE" check $options "$TMPDIR/c"
		grep -o '[0-9]* bytes in [0-9]* blocks' "$TMPDIR/out" | sort >"$TMPDIR/found"
		printf '%s\n' '1200 bytes in 30 blocks' '1200 bytes in 30 blocks' '8704 bytes in 64 blocks' |
			diff - "$TMPDIR/found" || fail "-$level $options: other blocks"
	done
done
exit 0
