#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# A vfork child writes into its parent's heap and allocates there, while the parent's other threads
# sleep, or have gone to sleep again: the parent finds it in the replay as well. On a stack that is not the thread's own, what other threads write
# beside it is theirs.
. tests/lib.sh

need_bpf
make_capture "$TMPDIR/c" "$BUILD/tests/programs/forks" borrow
grep -q '^1 ' "$TMPDIR/c.out" || fail "the child wrote nothing: $(cat "$TMPDIR/c.out")"
replay_matches "$TMPDIR/c"
make_followed "$TMPDIR/f" "$BUILD/tests/programs/forks" borrow
all_match "$TMPDIR/f"
for i in 1 2 3; do
	rm -rf "$TMPDIR/s"
	make_capture "$TMPDIR/s" "$BUILD/tests/programs/forks" served
	[ "$(cat "$TMPDIR/s.out")" = 20 ] || fail "of 20 children $(cat "$TMPDIR/s.out") were served"
	replay_matches "$TMPDIR/s"
done
make_followed "$TMPDIR/fs" "$BUILD/tests/programs/forks" served
all_match "$TMPDIR/fs"
make_capture "$TMPDIR/l" "$BUILD/tests/programs/forks" lent
replay_matches "$TMPDIR/l"
exit 0
