#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# A vfork child writes into its parent's heap and allocates there, while the parent's other threads
# sleep: the parent finds it in the replay as well. On a stack that is not the thread's own, what other threads write
# beside it is theirs.
. tests/lib.sh

need_bpf
make_capture "$TMPDIR/c" "$BUILD/tests/programs/forks" borrow
grep -q '^1 ' "$TMPDIR/c.out" || fail "the child wrote nothing: $(cat "$TMPDIR/c.out")"
replay_matches "$TMPDIR/c"
make_followed "$TMPDIR/f" "$BUILD/tests/programs/forks" borrow
all_match "$TMPDIR/f"
make_capture "$TMPDIR/l" "$BUILD/tests/programs/forks" lent
replay_matches "$TMPDIR/l"
exit 0
