#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Kinds that are not of paper 003's table (tests/suppress-hw/more.c), at -O0 and -O2: the line that
# says FAULT is named first.
#
# time limit: 200
. tests/lib.sh

need gojq gcc
need_bpf
for level in 0 2; do
	gcc -g -O$level -w -fno-stack-protector -U_FORTIFY_SOURCE -o "$TMPDIR/more-$level" \
		tests/suppress-hw/more.c || fail "compiling more.c"
done
# named LEVEL KIND...
named() {
	local level=$1 kind
	shift
	for kind; do
		"${RECORD[@]}" -o "$TMPDIR/$kind.flt" -- "$TMPDIR/more-$level" "$kind" >/dev/null 2>"$TMPDIR/err"
		[ $? -ge 128 ] || fail "$kind at -O$level does not crash: $(cat "$TMPDIR/err")"
		[ "$(id -u)" = 0 ] || sudo -n chown -R "$(id -u)" "$TMPDIR/$kind.flt"
		expect_status 1 "$FAULTLINE" suppress --json "$TMPDIR/$kind.flt"
		jq -e --argjson line "$(sed -n "\|// FAULT $kind\$|=" tests/suppress-hw/more.c)" \
			'.removed and .identified[0].line == $line' "$TMPDIR/out" >/dev/null ||
			fail "$kind at -O$level: $(cat "$TMPDIR/out")"
		rm -rf "$TMPDIR/$kind.flt"
	done
}
named 0 called last circle stale unset owners far first
named 2 divisor moved tail
