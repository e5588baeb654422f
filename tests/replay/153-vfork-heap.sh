#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# A vfork child writes into its parent's heap and allocates there, while the parent's other threads
# sleep: the parent finds it in the replay as well.
. tests/lib.sh

need_bpf
make_capture "$TMPDIR/c" "$BUILD/tests/programs/forks" borrow
grep -q '^1 ' "$TMPDIR/c.out" || fail "the child wrote nothing: $(cat "$TMPDIR/c.out")"
replay_matches "$TMPDIR/c"
make_followed "$TMPDIR/f" "$BUILD/tests/programs/forks" borrow
all_match "$TMPDIR/f"
exit 0
