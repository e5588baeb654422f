#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# `faultline analyze --accesses`: an overflow of many accesses is one report, with how many there are
# and from where to where, by which calls, and what else takes part in it or reads it again.
. tests/lib.sh
need gojq gcc clang
need_bpf

source=tests/programs/loops.c
lines() {
	grep -n "/\* $1 \*/" $source | cut -d: -f1 | paste -sd' '
}
# is JQ - does that hold for the JSON?
is() {
	jq -e "$1" "$TMPDIR/json" >/dev/null || fail "$how: not $1: $(jq -c .accesses "$TMPDIR/json")"
}

for how in "gcc -O0" "gcc -O2" "clang -O0" "clang -O2"; do
	$how -std=gnu11 -g -fno-builtin -w -o "$TMPDIR/loops" $source || fail "cannot compile"
	rm -rf "$TMPDIR/c"
	make_capture "$TMPDIR/c" "$TMPDIR/loops"
	expect_status 0 "$FAULTLINE" analyze --accesses "$TMPDIR/c"
	rm -rf "$TMPDIR/c"
	make_capture "$TMPDIR/c" "$TMPDIR/loops" wrong
	expect_status 1 "$FAULTLINE" analyze --accesses --json "$TMPDIR/c"
	cp "$TMPDIR/out" "$TMPDIR/json"
	pair=$(lines PAIR)
	is "[.accesses[].at.line] as \$got | [$(lines LOOP), \$got[1], $(lines COPY), $(lines PRINT)] == \$got"
	# The loop: 40 elements behind ten, through the allocation behind it.
	is ".accesses[0] | .write and .from.size == 80 and .to.size == 400 and
		.range.of == \"end\" and .range.first == 0 and .range.end == 320 and
		.from.allocated.line == $(lines ARRAY) and .ways == 1 and
		(.callers[0] | map(.line)) == [$(lines CALL)]"
	# Two statements of a loop, each in two rounds.
	is "[.accesses[1] | .at.line, .also[].line] | sort == [${pair/ /,}]"
	is '.accesses[1] | .write and .range.first <= 0 and .range.end == 16'
	# A copy, which is read again; its memory comes from a wrapper.
	is "[.accesses[2].also[].line] | unique == [$(lines PRINT)]"
	is ".accesses[2] | .write and .range.end == 2 and
		((.callers[0] | map(.line)) == [$(lines CALL2)] or .at.called_at != null)"
	# A wrapper that reads for two.
	calls=$(lines LINE)
	is ".accesses[3] | (.write | not) and ([.callers[][0].line] | unique) == [${calls/ /,}] and
		.ways == 2 and .instances >= 2"
	# Nothing is told of the library's own steps.
	is '[.accesses[].derived[].file] | all(endswith("loops.c"))'
	is '[.accesses[].instruction.file] | all(endswith("loops.c") or startswith("/"))'
	rm -rf "$TMPDIR/c"
	make_capture "$TMPDIR/c" "$TMPDIR/loops" wrong once
	expect_status 1 "$FAULTLINE" analyze --accesses --json "$TMPDIR/c"
	cp "$TMPDIR/out" "$TMPDIR/json"
	is "[.accesses[1] | .at.line, .also[].line] | sort == [${pair/ /,}]"
	is '.accesses | length == 4'
	expect_status 1 "$FAULTLINE" analyze --accesses "$TMPDIR/c"
	grep -q '^  1. [0-9]* writes of [0-9 to]* bytes at .*loops.c:'"$(lines LOOP)" "$TMPDIR/out" &&
		grep -q '^       0 to [0-9]* bytes behind the end of n1 (80 bytes, ' "$TMPDIR/out" &&
		grep -q '^       called at .*loops.c:'"$(lines CALL) in main" "$TMPDIR/out" ||
		fail "$how: $(cat "$TMPDIR/out")"
done
