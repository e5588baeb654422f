#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# What the kernel answers without a system call, in the vsyscall page, is named where it is recorded, and where it is replayed.
. tests/lib.sh

need_bpf
"$BUILD/tests/programs/vsyscall" >"$TMPDIR/native" 2>&1 || skip "this kernel has no vsyscall page"
expect_status 0 "${RECORD[@]}" -o "$TMPDIR/c" -- "$BUILD/tests/programs/vsyscall"
[ "$(id -u)" = 0 ] || sudo -n chown -R "$(id -u)" "$TMPDIR/c"
tail -n 1 "$TMPDIR/err" | grep -q '1 gap: a call into the vsyscall page' ||
	fail "record: $(cat "$TMPDIR/err")"
expect_status 2 "$FAULTLINE" replay "$TMPDIR/c"
expect_error 'a call into the vsyscall page, which the kernel answers unseen, cannot be replayed'
