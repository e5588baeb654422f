#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Stacks overflow where they did, whatever their limit was then; a signal lands where it did in a
# loop in which only vector registers change. A child that has no place for its handler's frame dies
# there, too: the parent tells how deep it was.
. tests/lib.sh

record_and_replay "$BUILD/tests/programs/stacks"

c=$TMPDIR/child
"${RECORD[@]}" -f -o "$c" -- "$BUILD/tests/programs/stacks" child >"$c.out" 2>"$c.err" ||
	fail "record: $(cat "$c.err")"
grep -q '^child: signal 11 at [1-9]' "$c.out" || fail "$(cat "$c.out")"
[ "$(id -u)" = 0 ] || sudo -n chown -R "$(id -u)" "$c"
all_match "$c"
[ "$n_matched" = 2 ] || fail "$n_matched processes"
