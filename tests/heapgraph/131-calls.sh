#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# The calls under way at some times are the same whether the log has all stores or calls alone:
# recursion, tail calls, threads, signals, a program of Debian's.
. tests/lib.sh
need_bpf

same() {
	rm -rf "$TMPDIR/capture"
	make_capture "$TMPDIR/capture" "$@"
	"$BUILD/tests/heapgraph/tool_calls" "$TMPDIR/capture" >"$TMPDIR/out" 2>&1 ||
		fail "$*: the calls differ: $(cat "$TMPDIR/out")"
	[ "$(cut -d' ' -f1 "$TMPDIR/out")" -gt 2 ] || fail "$*: no calls: $(cat "$TMPDIR/out")"
}

same "$BUILD/specs/avl-O2"
same "$BUILD/specs/redblack-O0"
same "$BUILD/tests/programs/tailcalls"
same "$BUILD/tests/programs/crowd" arenas
same bash -c 'f() { [ $1 = 0 ] || f $(($1 - 1)); }; trap : USR1; f 9; kill -USR1 $$'
