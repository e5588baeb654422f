#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# A stripped program: analyze says that it has no debug information, and does not guess.
. tests/lib.sh

[ -d examples ] || skip "no examples"
name=$(basename "$(ls -d examples/*/ | head -n 1)")
cp "$BUILD/examples/$name-O0" "$TMPDIR/prog"
strip "$TMPDIR/prog"
need_bpf
"${RECORD[@]}" -o "$TMPDIR/c" -- "$TMPDIR/prog" >"$TMPDIR/c.out" 2>"$TMPDIR/c.err"
looks_whole "$TMPDIR/c" || fail "not recorded: $(cat "$TMPDIR/c.err")"
[ "$(id -u)" = 0 ] || sudo -n chown -R "$(id -u)" "$TMPDIR/c"
expect_status 2 "$FAULTLINE" analyze "$TMPDIR/c" --spec "examples/$name/$name.spec"
grep -q "debug information" "$TMPDIR/out" "$TMPDIR/err" ||
	fail "nothing about debug information: $(cat "$TMPDIR/err")"
