#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# More input than the ring holds, faster than it can be written: the program is held back
# and nothing is lost.
. tests/lib.sh

need wc
need_bpf
head -c 100000000 /dev/zero | "${RECORD[@]}" -o "$TMPDIR/c" -- wc -c \
	>"$TMPDIR/out" 2>"$TMPDIR/err" || fail "record failed: $(cat "$TMPDIR/err")"
[ "$(cat "$TMPDIR/out")" = 100000000 ] || fail "wc counted $(cat "$TMPDIR/out")"
tail -n 1 "$TMPDIR/err" | grep -q ': complete$' || fail "$(cat "$TMPDIR/err")"
sum=$("$FAULTLINE" dump "$TMPDIR/c" | awk '/SYSCALL read\(0,/ {
	if (match($0, /= [0-9]+/)) ret = substr($0, RSTART + 2, RLENGTH - 2)
	if (match($0, /\+[0-9]+\]/)) got = substr($0, RSTART + 1, RLENGTH - 2); else got = 0
	if (ret != got) bad++
	sum += got } END { printf "%d %d\n", sum, bad }')
[ "$sum" = "100000000 0" ] || fail "recorded bytes, wrong calls: $sum"

head -c 80000000 /dev/urandom | "${RECORD[@]}" -o "$TMPDIR/d" -- cksum \
	>"$TMPDIR/out" 2>"$TMPDIR/err" || fail "record failed: $(cat "$TMPDIR/err")"
tail -n 1 "$TMPDIR/err" | grep -q ': complete$' || fail "$(cat "$TMPDIR/err")"
