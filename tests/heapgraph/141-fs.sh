#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Pointers that go through memory relative to fs are watched, wherever its base was moved to.
. tests/lib.sh
need cc
need_bpf

cc -O1 -g -fno-stack-protector -o "$TMPDIR/p" tests/programs/fsmoves.c || fail "it does not compile"
guarded fsmoves "$TMPDIR/p"
for what in found doubted; do
	[ "$(sed -n "s/^$what //p" "$TMPDIR/counts")" = 3 ] || fail "$(cat "$TMPDIR/counts")"
done
expect_status 1 "$FAULTLINE" analyze --accesses "$TMPDIR/c"
grep -q '3 kinds of access' "$TMPDIR/out" || fail "$(cat "$TMPDIR/out")"
echo "result: moved by $(head -1 "$TMPDIR/said")"
