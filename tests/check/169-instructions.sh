#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Instruction by instruction: what has no value decides by it; what of its operands has no part in the result does not.
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
	for try in 1 2 3; do # the program may lie where there is no room for its shadow
		rm -rf "$TMPDIR/c"
		make_capture "$TMPDIR/c" "$TMPDIR/instructions" $kind
		"$BUILD/tests/check/tool_live" "$TMPDIR/c" >"$TMPDIR/lived"
		lived=$?
		[ $lived = 3 ] || break
	done
	[ $lived = 0 ] || fail "$kind, without a log: $(cat "$TMPDIR/lived")"
	"$BUILD/tests/check/tool_bytes" "$TMPDIR/c" >"$TMPDIR/counts" || fail "$kind: as fast as it goes is not the same"
	for how in "--only UNINIT-USE" ""; do
		"$FAULTLINE" check $how --json "$TMPDIR/c" >"$TMPDIR/out" 2>"$TMPDIR/err"
		jq -r '.findings[] | .rule as $r | (.at, (.also // [])[]) | "\(.line) \($r)"' "$TMPDIR/out" |
			grep ' UNINIT-USE$' | cut -d' ' -f1 | sort -u >"$TMPDIR/found"
		diff "$TMPDIR/want" "$TMPDIR/found" || fail "$kind $how: $(cat "$TMPDIR/err")"
	done
done
exit 0
