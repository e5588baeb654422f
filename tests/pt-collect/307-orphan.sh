#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# A program that asked to die with its parent, and that was not the process that is killed.
. tests/lib.sh

[ "$(id -u)" = 0 ] || skip "needs root: sudo would be who is killed"
need_bpf
hostile=$BUILD/tests/programs/hostile

fresh
"$FAULTLINE" record -o "$TMPDIR/o" -- "$hostile" orphan >"$TMPDIR/out" 2>"$TMPDIR/err" &
keeper=$!
until_true [ -s "$TMPDIR/out" ]
kill -KILL $keeper
until_true grep -qx unharmed "$TMPDIR/out"
grep -qx unharmed "$TMPDIR/out" || fail "it died with us: $(cat "$TMPDIR/err")"
