#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# What is stored where no node is need not be in the log, and yet what memory held is found by nodes that
# come to lie there: large blocks, statics and locals, threads, signals, system calls, copies.
. tests/lib.sh
need_bpf
tool=$BUILD/tests/heapgraph/tool_muted

# same COMMAND...: compare; count in $TMPDIR/counts.
same() {
	rm -rf "$TMPDIR/capture"
	"${RECORD[@]}" -o "$TMPDIR/capture" -- "$@" >/dev/null 2>"$TMPDIR/err" ||
		fail "record: $(cat "$TMPDIR/err")"
	"$tool" "$TMPDIR/capture" 150 5000 30011 400000 >"$TMPDIR/counts" 2>"$TMPDIR/wrong" ||
		fail "$*: $(head -3 "$TMPDIR/wrong")"
}
same "$BUILD/tests/programs/muted" 3
[ "$(sed -n 's/^compared //p' "$TMPDIR/counts")" -gt 1000 ] || fail "nothing was compared"
same "$BUILD/tests/programs/crowd" arenas
