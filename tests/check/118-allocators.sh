#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# What functions of an allocator give out and take that the C library has none of is not known: nothing is wrong of it, which a
# note tells; what is wrong otherwise is told.
. tests/lib.sh
need gojq gcc
need_bpf

programs=tests/check/programs
for how in "-O1" "-O0 -g"; do
	gcc $how -fno-builtin -w -fPIC -shared -o "$TMPDIR/liballocator.so" $programs/allocator.c || fail "cannot compile"
	gcc -g -O0 -fno-builtin -w -o "$TMPDIR/strangers" $programs/strangers.c -L"$TMPDIR" -lallocator -Wl,-rpath,"$TMPDIR" ||
		fail "cannot compile"
	for i in {0..10}; do
		grep -n "// expect $i: " $programs/strangers.c | sed 's/^\([0-9]*\):.*expect.*: \(.*\)/\1 \2/' >"$TMPDIR/want"
		[ "$(wc -l <"$TMPDIR/want")" = $((i > 0)) ] || fail "$i expects something else"
		rm -rf "$TMPDIR/c"
		make_capture "$TMPDIR/c" "$TMPDIR/strangers" $i
		"$FAULTLINE" check --json "$TMPDIR/c" >"$TMPDIR/out" 2>"$TMPDIR/err"
		[ $? = $((i > 0)) ] || fail "$how, $i: $(cat "$TMPDIR/err" "$TMPDIR/out")"
		jq -r '.findings[] | .rule as $rule | [.at, .callers[][]] | map(select(.file | endswith("/strangers.c")))[0] |
			"\(.line) \($rule)"' "$TMPDIR/out" >"$TMPDIR/found"
		diff "$TMPDIR/want" "$TMPDIR/found" || fail "$how, $i: $(cat "$TMPDIR/out")"
		jq -e '.notes | map(select(test("[0-9]+ releases of memory that was not seen to be allocated"))) | length == 1' \
			"$TMPDIR/out" >/dev/null || fail "$how, $i: $(jq .notes "$TMPDIR/out")"
	done
	rm -rf "$TMPDIR/c"
	make_capture "$TMPDIR/c" "$TMPDIR/strangers" -1
	FAULTLINE_LOG=faultlocate:2 expect_status 0 "$FAULTLINE" check "$TMPDIR/c"
	grep -q 'guard of both ran up to .* (4), doubt 0' "$TMPDIR/err" || fail "$how: a doubt: $(cat "$TMPDIR/err")"
done
exit 0
