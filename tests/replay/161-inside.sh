#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Threads in a name space of processes have two numbers: the log has one, what they and their mutexes
# say the other.
. tests/lib.sh

program=$BUILD/tests/programs/inside
"$program" >"$TMPDIR/alone" || skip "no name spaces of processes here"
make_followed "$TMPDIR/c" "$program"
cmp "$TMPDIR/alone" "$TMPDIR/c.out" || fail "it sees something else: $(cat "$TMPDIR/c.out")"
all_match "$TMPDIR/c"
[ "$n_matched" = 2 ] || fail "$n_matched processes"
