#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# The guard uses rows of blocks that are gone again, but not while a pointer to one is left: each of 320 uses of one
# is doubted, though another block lies there.
. tests/lib.sh
need cc
need_bpf

cc -O1 -fno-builtin -w -o "$TMPDIR/p" tests/programs/stale.c || fail "it does not compile"
for try in 1 2 3; do # the program may lie where there is no room for the guard
	rm -rf "$TMPDIR/c"
	GLIBC_TUNABLES=glibc.malloc.tcache_count=0 "${RECORD[@]}" -o "$TMPDIR/c" -- "$TMPDIR/p" >"$TMPDIR/said" 2>&1 || fail "$(cat "$TMPDIR/said")"
	[ "$(id -u)" = 0 ] || sudo -n chown -R "$(id -u)" "$TMPDIR/c"
	"$BUILD/tests/heapgraph/tool_guard" "$TMPDIR/c" >"$TMPDIR/counts" 2>"$TMPDIR/missed"
	status=$?
	[ $status = 3 ] || break
done
[ $status = 0 ] || fail "the guard let pass $(wc -l <"$TMPDIR/missed"): $(head -3 "$TMPDIR/missed")"
[ "$(sed -n 's/^found //p' "$TMPDIR/counts")" = 320 ] || fail "$(cat "$TMPDIR/counts")"
