#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Rule RACE knows what system calls order, also where who is woken by one runs before it has ended: connections,
# signals and their handlers, queues, cancelling. What they do not order races, at its lines.
. tests/lib.sh
need gojq gcc
need_bpf

source=tests/check/programs/raced_calls.c
grep -n '// race' $source | cut -d: -f1 | sort -u >"$TMPDIR/racy"
: >"$TMPDIR/right"
[ "$(wc -l <"$TMPDIR/racy")" -ge 4 ] || fail "$source has few races"
for level in O0 O2; do
	gcc -std=gnu11 -D_GNU_SOURCE -g -$level -w -pthread -o "$TMPDIR/raced" $source -lrt ||
		fail "cannot compile $source"
	for how in racy right; do
		rm -rf "$TMPDIR/c"
		make_capture "$TMPDIR/c" "$TMPDIR/raced" $how
		status=1
		[ $how = racy ] || status=0
		expect_status $status "$FAULTLINE" check --json --only RACE "$TMPDIR/c"
		jq -r '.findings[] | .one.line, .other.line' "$TMPDIR/out" | sort -u >"$TMPDIR/found"
		diff "$TMPDIR/$how" "$TMPDIR/found" || fail "-$level $how"
	done
done
exit 0
