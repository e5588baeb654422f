#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# A mapping of 1 TB with 64 pages in it: recorded at once and small, as the start state of a child,
# too; and the machine finds another place for itself.
. tests/lib.sh

program=$BUILD/tests/programs/sparse
"$program" >/dev/null || skip "this host maps no 1 TB"
make_followed "$TMPDIR/c" "$program"
[ "$(du -sm "$TMPDIR/c" | cut -f1)" -lt 20 ] || fail "the capture is large"
all_match "$TMPDIR/c"
[ "$n_matched" = 2 ] || fail "$n_matched processes"
