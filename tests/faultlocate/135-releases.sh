#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# `faultline analyze` and what is freed that cannot be: told with its statement, the allocation and the
# first free, whatever else is asked for; and no release of what any of libc's functions gave.
. tests/lib.sh
need gojq cc
need_bpf

source=tests/programs/releases.c
line_of() {
	grep -n "/\* $1 \*/" $source | cut -d: -f1
}

# releases STATUS END ARGS... - record, and analyze to JSON in $TMPDIR/out.
releases() {
	local want=$1 end=$2
	shift 2
	rm -rf "$TMPDIR/c"
	expect_status "$end" "${RECORD[@]}" -o "$TMPDIR/c" -- "$TMPDIR/releases" "$@"
	[ "$(id -u)" = 0 ] || sudo -n chown -R "$(id -u)" "$TMPDIR/c"
	expect_status "$want" "$FAULTLINE" analyze --accesses --json "$TMPDIR/c"
}

for level in O0 O1; do
	cc -std=gnu11 -D_GNU_SOURCE -g -$level -fno-inline -fno-builtin -w -o "$TMPDIR/releases" \
		$source || fail "cannot compile"
	releases 0 0
	jq -e '.releases == [] and .accesses == []' "$TMPDIR/out" >/dev/null ||
		fail "-$level: $(cat "$TMPDIR/out")"
	for what in again inside; do
		releases 1 134 $what
		told=$(jq -c '[.releases[] | .kind, .at.line, .of.node, .of.size, .offset, .freed.line,
			.instances]' "$TMPDIR/out")
		case $what in
		again) want="[\"again\",$(line_of AGAIN),\"n1\",24,0,$(line_of FIRST),1]" ;;
		*) want="[\"inside\",$(line_of INSIDE),\"n2\",24,16,null,1]" ;;
		esac
		[ "$told" = "$want" ] || fail "-$level $what: $told, not $want"
		expect_status 1 "$FAULTLINE" analyze --accesses "$TMPDIR/c"
		grep -q '1 statement frees what cannot be freed:' "$TMPDIR/out" ||
			fail "$(cat "$TMPDIR/out")"
	done
done
