#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# gzip -9 of a 5 MB file.
# time limit: 300
. tests/lib.sh

need gzip
make_text 5 >"$TMPDIR/text"
gzip -9 <"$TMPDIR/text" >"$TMPDIR/want.gz"
make_capture "$TMPDIR/c" gzip -9 -c "$TMPDIR/text"
rm "$TMPDIR/text" # the capture holds what was read
replay_matches "$TMPDIR/c"
gzip -dc "$TMPDIR/c.replayed" | cmp - <(gzip -dc "$TMPDIR/want.gz") || fail "not the text"
