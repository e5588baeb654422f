#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# record -f: a child that is killed before its history has begun (behind fork, in exec) ends neither
# the recording nor anybody's replay: it has no history, and the list says so.
. tests/lib.sh

make_followed "$TMPDIR/c" "$BUILD/tests/programs/killed" 60
grep -qx '60 of 60 killed' "$TMPDIR/c.out" || fail "the program ran differently: $(cat "$TMPDIR/c.out")"
all_match "$TMPDIR/c"
processes "$TMPDIR/c" >"$TMPDIR/tree"
# Those that were killed before they stopped for the first time are not there: on a busy machine most.
listed=$(wc -l <"$TMPDIR/tree")
[ "$listed" -gt 5 ] && [ "$(grep -c 'signal 9' "$TMPDIR/tree")" = $((listed - 1)) ] ||
	fail "not as they ended: $(cat "$TMPDIR/tree")"
without=$(grep -c 'killed before its first instruction' "$TMPDIR/tree")
[ "$((n_matched + without))" = "$listed" ] ||
	fail "$n_matched of $listed matched, $without have no history"
[ "$(find "$TMPDIR/c/children" -mindepth 1 -maxdepth 1 | wc -l)" = $((n_matched - 1)) ] ||
	fail "bundles of those that have no history"
