#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Rule RACE knows what OpenMP orders, whichever thread runs a task: both sides of each race at their lines, and
# nothing in what is right.
. tests/lib.sh
need gojq gcc
need_bpf

source=tests/check/programs/raced_omp.c
grep -n '// race' $source | cut -d: -f1 | sort -u >"$TMPDIR/racy"
: >"$TMPDIR/right"
[ "$(wc -l <"$TMPDIR/racy")" -ge 13 ] || fail "$source has few races"
for level in O0 O2; do
	gcc -g -$level -w -fopenmp -o "$TMPDIR/raced" $source || skip "gcc has no OpenMP here"
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
