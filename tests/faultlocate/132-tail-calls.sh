#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# A call of the C library at a function's end is a jump in optimised code: what it allocates,
# stores and runs over is told at that call, not at the one of the function that made it,
# however the program is linked. Of a stripped program addresses are told, as objdump has them.
. tests/lib.sh
need gojq cc
need_bpf

source=tests/programs/tailcalls.c
line_of() {
	grep -n "/\* $1 \*/" $source | cut -d: -f1
}
printf '%s\n' 'node FIELD 19 EDGE 2;' \
	'node X; node Y; (X.next) == Y => (Y.prev) == X; ..(back)' >"$TMPDIR/spec"

for how in "" -no-pie -fno-plt -Wl,-z,now -static; do
	# shellcheck disable=SC2086
	cc -std=gnu11 -O2 -g -fno-builtin -w $how -o "$TMPDIR/tailcalls" $source ||
		fail "cannot compile with '$how'"
	rm -rf "$TMPDIR/capture"
	make_capture "$TMPDIR/capture" "$TMPDIR/tailcalls" wipe
	expect_status 1 "$FAULTLINE" analyze --spec "$TMPDIR/spec" "$TMPDIR/capture"
	grep -q "^  1. .*:$(line_of WIPE) in wipe " "$TMPDIR/out" ||
		fail "'$how': $(cat "$TMPDIR/out")"
	[ "$(grep -c "allocated at .*:$(line_of MAKE) in make" "$TMPDIR/out")" = 2 ] ||
		fail "'$how': $(cat "$TMPDIR/out")"
	grep -q 'name = "short"' "$TMPDIR/out" || fail "no text: $(cat "$TMPDIR/out")"
	rm -rf "$TMPDIR/capture"
	make_capture "$TMPDIR/capture" "$TMPDIR/tailcalls" overflow
	expect_status 1 "$FAULTLINE" analyze --json --accesses "$TMPDIR/capture"
	got=$(jq -r '[.accesses[].at.line] | unique | join(" ")' "$TMPDIR/out")
	[ "$got" = "$(line_of OVERFLOW)" ] || fail "'$how': '$got': $(cat "$TMPDIR/out")"
done

# Arrays of char are text, in pictures and pages, too.
"$FAULTLINE" graph --spec "$TMPDIR/spec" --dot "$TMPDIR/capture" >"$TMPDIR/dot" ||
	fail "no graph"
grep -q '>"short"<\|>&quot;short&quot;<' "$TMPDIR/dot" || fail "$(cat "$TMPDIR/dot")"
"$FAULTLINE" graph --spec "$TMPDIR/spec" --html "$TMPDIR/page.html" "$TMPDIR/capture" ||
	fail "no page"
page_log "$TMPDIR/page.html" |
	jq -e '.types[0].chars == [[3, 16]]' >"$TMPDIR/out" || fail "the page has no texts"

cc -std=gnu11 -O2 -fno-builtin -w -o "$TMPDIR/tailcalls" $source || fail "cannot compile"
strip -s "$TMPDIR/tailcalls" || fail "cannot strip"
rm -rf "$TMPDIR/capture"
make_capture "$TMPDIR/capture" "$TMPDIR/tailcalls" overflow
expect_status 1 "$FAULTLINE" analyze --json --accesses "$TMPDIR/capture"
jq -r '.accesses[0] | .at, .derived[] | .elf_address' "$TMPDIR/out" >"$TMPDIR/places" ||
	fail "$(cat "$TMPDIR/out")"
[ "$(sort -u "$TMPDIR/places" | wc -l)" -ge 2 ] || fail "$(cat "$TMPDIR/out")"
while read -r place; do
	objdump -d "$TMPDIR/tailcalls" | grep -q "^ *$(printf %x $((place + 1))):\|^ *$(printf %x "$place"):" ||
		fail "no instruction at $place: $(cat "$TMPDIR/out")"
done <"$TMPDIR/places"

# Where no function's name tells of an allocator, nothing is known, and that is said.
cc -std=gnu11 -O2 -static -s -w -o "$TMPDIR/static" $source || fail "cannot compile"
rm -rf "$TMPDIR/capture"
make_capture "$TMPDIR/capture" "$TMPDIR/static" overflow
expect_status 0 "$FAULTLINE" analyze --accesses "$TMPDIR/capture"
grep -q '^note: no allocator function was found' "$TMPDIR/out" || fail "$(cat "$TMPDIR/out")"
