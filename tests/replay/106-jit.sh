#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Code that the program writes and overwrites.
. tests/lib.sh

record_and_replay "$BUILD/tests/programs/jit"
rm -r "$TMPDIR/c"
record_and_replay "$BUILD/tests/programs/jitcrew"

# Whoever has left no room near its code: that is found out once for all code of a place.
rm -r "$TMPDIR/c"
record_and_replay "$BUILD/tests/programs/surrounded"
FAULTLINE_LOG=decode:2 "$FAULTLINE" replay "$TMPDIR/c" 2>&1 | grep 'no room for an arena' >"$TMPDIR/crowded"
[ -s "$TMPDIR/crowded" ] || fail "there was room"
[ -z "$(sort "$TMPDIR/crowded" | uniq -d)" ] || fail "looked for again: $(sort "$TMPDIR/crowded" | uniq -c)"
