#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# What other linkers and another C library make of a program: lld's segments share pages of the file; musl's memmove has
# its memcpy copy, its allocator reads what was in the memory before, and puts blocks into what is left of static data.
. tests/lib.sh
need gcc clang ld.lld musl-gcc
need_bpf

source=tests/programs/linked.c
line=$(sed -n '/ wrong$/=' $source)
while read -r build; do
	$build -g -w -o "$TMPDIR/linked" $source || fail "cannot compile: $build"
	rm -rf "$TMPDIR/c"
	make_capture "$TMPDIR/c" "$TMPDIR/linked"
	expect_status 0 "$FAULTLINE" check "$TMPDIR/c"
	rm -rf "$TMPDIR/c"
	make_capture "$TMPDIR/c" "$TMPDIR/linked" wrong
	expect_status 1 "$FAULTLINE" check "$TMPDIR/c"
	grep -q "linked.c:$line in main" "$TMPDIR/out" && [ "$(grep -c '\] error, ' "$TMPDIR/out")" = 1 ] ||
		fail "$build: $(cat "$TMPDIR/out")"
done <<END
clang -O1 -fuse-ld=lld
gcc -O0 -fuse-ld=lld -no-pie
gcc -O2 -static
gcc -O0 -static-pie
gcc -O2 -static-pie
musl-gcc -O1
musl-gcc -O2 -static
END
exit 0
