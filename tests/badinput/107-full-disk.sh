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

# Room for the start state, not for a megabyte of random input.
mount -o remount,size=14m "$TMPDIR/small"
expect_status 125 "$FAULTLINE" record -o "$TMPDIR/small/c" -- \
	head -c 40000000 /dev/urandom
expect_error "No space left"
looks_whole "$TMPDIR/small/c" && fail "a capture was left that looks whole"
exit 0
