#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# `faultline analyze --accesses` and an array that a struct begins with, whose address is the struct's:
# what leaves it is found, by eighteen ways to fill it, each at its statement, and nothing where the
# whole struct is meant, a part of it, a union, or an array that goes on behind its last element.
. tests/lib.sh
need gojq gcc clang
need_bpf

source=tests/programs/firsts.c
marked=$(grep -n '/\* WRONG \*/' $source | cut -d: -f1 | paste -sd' ')
for build in "gcc -O0" "gcc -O2" "gcc -O3" "clang -O0" "clang -O2" "clang -O3"; do
	# The compiler must not know the functions: it would expand their calls.
	$build -std=gnu11 -D_GNU_SOURCE -g -fno-builtin -w -o "$TMPDIR/firsts" $source ||
		fail "cannot compile"
	rm -rf "$TMPDIR/c"
	make_capture "$TMPDIR/c" "$TMPDIR/firsts"
	expect_status 0 "$FAULTLINE" analyze --accesses "$TMPDIR/c"
	grep -q 'no access by a pointer' "$TMPDIR/out" || fail "$build: $(cat "$TMPDIR/out")"
	rm -rf "$TMPDIR/c"
	make_capture "$TMPDIR/c" "$TMPDIR/firsts" wrong
	expect_status 1 "$FAULTLINE" analyze --accesses --json "$TMPDIR/c"
	found=$(jq -r '[.accesses[] | select(.kind == "field" and .write and .field == "name" and
		(.range.end | IN(20, 24, 32))) | .at.line] | sort | join(" ")' "$TMPDIR/out")
	[ "$found" = "$marked" ] || fail "$build: '$found', not '$marked': $(jq -c .accesses "$TMPDIR/out")"
	jq -e ".accesses | length == $(wc -w <<<"$marked")" "$TMPDIR/out" >/dev/null ||
		fail "$build: others, too: $(jq -c .accesses "$TMPDIR/out")"
done
echo "$(wc -w <<<"$marked") of $(wc -w <<<"$marked") ways found, by six builds"
