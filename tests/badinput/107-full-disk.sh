#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# A disk that runs full while recording: said so, status 125, nothing that looks whole.
. tests/lib.sh

need_bpf
[ "$(id -u)" = 0 ] || skip "needs root, to mount a small tmpfs"
mkdir "$TMPDIR/small"
mount -t tmpfs -o size=300k none "$TMPDIR/small" 2>/dev/null || skip "cannot mount a tmpfs"
trap "umount \"$TMPDIR/small\"" EXIT

expect_status 125 "$FAULTLINE" record -o "$TMPDIR/small/c" -- /bin/echo hello
expect_error "No space left"
looks_whole "$TMPDIR/small/c" && fail "a capture was left that looks whole"
rm -rf "$TMPDIR/small/c"

# What is made from a capture: nothing is left.
mount -o remount,size=20k "$TMPDIR/small"
head -c 16000 /dev/zero >"$TMPDIR/small/zeros"
"$FAULTLINE" record --end-core -o "$TMPDIR/crash" -- "$BUILD/examples/list-O2" >/dev/null 2>&1
for how in "--flight $TMPDIR/small/f" "-o $TMPDIR/small/data"; do
	expect_status 2 "$FAULTLINE" encode $how "$TMPDIR/crash"
	expect_error "No space left"
	[ "$(ls -A "$TMPDIR/small")" = zeros ] || fail "$how left $(ls -AR "$TMPDIR/small")"
done
rm "$TMPDIR/small/zeros"

# Room for the start state, not for a megabyte of random input.
mount -o remount,size=14m "$TMPDIR/small"
expect_status 125 "$FAULTLINE" record -o "$TMPDIR/small/c" -- \
	head -c 40000000 /dev/urandom
expect_error "No space left"
looks_whole "$TMPDIR/small/c" && fail "a capture was left that looks whole"
rm -rf "$TMPDIR/small/c"

# The same of a followed child: the program goes on, its own capture is whole, the child's
# is not, and is read up to where it breaks off.
expect_status 125 "$FAULTLINE" record -f -o "$TMPDIR/small/c" -- \
	sh -c 'head -c 40000000 /dev/urandom >/dev/null; echo on'
expect_error "No space left"
grep -qx on "$TMPDIR/out" || fail "the program did not go on"
child=$(echo "$TMPDIR"/small/c/children/1-head.*)
looks_whole "$child" && fail "the child's capture looks whole"
expect_status 2 "$FAULTLINE" replay "$TMPDIR/small/c"
grep -q "process 0 .*all matched" "$TMPDIR/out" || fail "the program: $(cat "$TMPDIR/out")"
grep -q "not finished.* system calls matched up to there" "$TMPDIR/err" ||
	fail "the child: $(cat "$TMPDIR/err")"
exit 0
