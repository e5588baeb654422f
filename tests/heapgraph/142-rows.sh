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
GLIBC_TUNABLES=glibc.malloc.tcache_count=0 guarded stale "$TMPDIR/p"
[ "$(sed -n 's/^found //p' "$TMPDIR/counts")" = 320 ] || fail "$(cat "$TMPDIR/counts")"
