#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# sort of a 20 MB file with one thread.
# time limit: 300
. tests/lib.sh

make_text 20 >"$TMPDIR/text"
sort --parallel=1 "$TMPDIR/text" >"$TMPDIR/want"
make_capture "$TMPDIR/c" sort --parallel=1 "$TMPDIR/text"
[ -s "$TMPDIR/want" ] && cmp "$TMPDIR/want" "$TMPDIR/c.out" || fail "recording changed the output"
rm "$TMPDIR/text"
replay_matches "$TMPDIR/c"
