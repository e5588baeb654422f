#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# What is no missing store. The programs of stores/ as they should be have nothing wrong; with a
# store that is wrong, at the line that says WRONG, that one is named first and none is missing:
# with another value nothing would be violated.
. tests/lib.sh
. tests/faultlocate/stores/lib.sh
need gojq cc
need_bpf

for source in tests/faultlocate/stores/*.c; do
	name=$(basename "$source" .c)
	capture "$name" 0 -O2
	expect_status 0 "$FAULTLINE" analyze "$TMPDIR/c" --spec "$TMPDIR/spec" --json
	is '.faults == [] and .violations == []' "$name, right"

	capture "$name" 2 -O2
	expect_status 1 "$FAULTLINE" analyze "$TMPDIR/c" --spec "$TMPDIR/spec" --json
	is "all(.faults[]; .because != \"missing\")" "$name, wrong"
	is ".faults[0] | .line == $(line "$name" WRONG) and (.instead | .node and .field and .value)" \
		"$name, wrong"
done

# In words.
capture between 2 -O0
expect_status 1 "$FAULTLINE" analyze "$TMPDIR/c" --spec "$TMPDIR/spec"
grep -Eq '^       with n17\.prev = n18 instead, nothing would be violated$' "$TMPDIR/out" ||
	fail "it is not said what had better been stored: $(cat "$TMPDIR/out")"
exit 0
