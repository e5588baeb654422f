#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Standard input passes through to the program and its bytes are in the capture.
. tests/lib.sh

make_text 1 >"$TMPDIR/input"
make_capture "$TMPDIR/c" wc <"$TMPDIR/input"
[ "$(awk "{ print \$3 }" "$TMPDIR/c.out")" = "$(stat -c %s "$TMPDIR/input")" ] ||
	fail "wc counted $(cat "$TMPDIR/c.out")"
rm "$TMPDIR/input"
replay_matches "$TMPDIR/c"
