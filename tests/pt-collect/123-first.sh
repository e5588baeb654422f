#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Followed, the first process of a name space dies of a fault as it does by itself (the kernel
# spares it while it is traced), and of no other signal from there; none ends a wait of it.
. tests/lib.sh

program=$BUILD/tests/programs/first
"$program" >"$TMPDIR/alone" || skip "no name spaces of processes here"
make_followed "$TMPDIR/c" timeout 20 "$program"
cmp "$TMPDIR/alone" "$TMPDIR/c.out" || fail "it ends otherwise"
all_match "$TMPDIR/c"
[ "$n_matched" = 5 ] || fail "$n_matched processes"
