#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# What a coroutine, or a handler on an alternate stack, has there is not gone as others run. Of functions that have
# returned it is, where handlers ran on the same stack.
. tests/lib.sh
need gojq gcc clang
need_bpf

source=tests/check/programs/stacks.c
want="$(sed -n '/\/\/ expect: /=' $source) DEAD-FRAME"
while read -r build; do
	$build -g -w -o "$TMPDIR/stacks" $source || fail "cannot compile: $build"
	rm -rf "$TMPDIR/c"
	make_capture "$TMPDIR/c" "$TMPDIR/stacks"
	"$FAULTLINE" check "$TMPDIR/c" >"$TMPDIR/out" 2>&1 || fail "$build: $(cat "$TMPDIR/out")"
	rm -rf "$TMPDIR/c"
	make_capture "$TMPDIR/c" "$TMPDIR/stacks" wrong
	"$FAULTLINE" check --json "$TMPDIR/c" >"$TMPDIR/out" 2>"$TMPDIR/err"
	found=$(jq -r '.findings[] | "\(.at.line) \(.rule)"' "$TMPDIR/out" | sort -u)
	[ "$found" = "$want" ] || fail "$build: '$found', not '$want'"
done <<END
gcc -O0
gcc -O2
clang -O0
clang -O1
END
exit 0
