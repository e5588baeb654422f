#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# replay --stdout shows what went to where stdout led at the start, through whichever
# descriptor, and not what went to a file in its place.
. tests/lib.sh

need dash
record_and_replay "$(command -v dash)" -c '
	echo one; echo hidden >"$1"
	exec 5>&1 >"$1"; echo hidden
	echo two >&5
	exec >&5 5>&-; echo three
	exec >&-; echo nowhere 2>/dev/null; true' sh "$TMPDIR/file"
[ "$(cat "$TMPDIR/c.out")" = $'one\ntwo\nthree' ] || fail "the program's own output is wrong"
