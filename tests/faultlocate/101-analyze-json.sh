#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# The JSON object has these keys and no others, with and without violations.
. tests/lib.sh
need gojq
need_bpf
want_status=139 make_capture "$TMPDIR/c" "$BUILD/examples/list-O0"
expect_status 1 "$FAULTLINE" analyze "$TMPDIR/c" --spec examples/list/list.spec --json
check() {
	jq -es "$1" "$TMPDIR/out" >/dev/null || fail "not $1: $(cat "$TMPDIR/out")"
}
check 'length == 1'
check '.[0] | keys == ["capture", "checked", "end", "faults", "heap", "notes", "phases", "releases", "unwritten", "version", "violations"] and .version == 1'
check '.[0].capture == {complete: true, instructions: .[0].capture.instructions,
	end: "signal", signal: 11, exit_status: null}'
check '.[0].violations | length > 0 and all(keys == ["constraint", "cpoint", "line", "nodes",
	"spec", "time"]) and all(.cpoint == "crash")'
check '.[0].violations[0] | .spec == "examples/list/list.spec" and (.line | type) == "number"
	and (.nodes | length > 0 and all(test("^n[0-9]+$")))'
check '.[0].faults | length > 0 and all(keys - ["called_at", "instead"] == ["because", "file", "function", "instances", "line",
	"time"]) and all((.file | endswith("list.c")) and .instances > 0)'

# Named functions are C-points, too; what does not exist is noted.
expect_status 1 "$FAULTLINE" analyze "$TMPDIR/c" --spec examples/list/list.spec --json \
	--cpoint node_free
check '.[0].violations | all(.cpoint == "return of node_free" or
	.cpoint == "entry of node_free")'
expect_status 1 "$FAULTLINE" analyze "$TMPDIR/c" --spec examples/list/list.spec \
	--cpoint no_such_function
grep -q 'note: C-point no_such_function: no function of this name' "$TMPDIR/out" ||
	fail "no note: $(cat "$TMPDIR/out")"

# No violation.
echo 'node FIELD 2 EDGE 1; node X; X.INDEGREE >= 0;' >"$TMPDIR/true.spec"
expect_status 0 "$FAULTLINE" analyze "$TMPDIR/c" --spec "$TMPDIR/true.spec" --json
check '.[0].violations == [] and .[0].faults == []'
