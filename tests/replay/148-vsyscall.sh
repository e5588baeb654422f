#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# What the kernel answers without a system call, in the vsyscall page, is named.
. tests/lib.sh

need_bpf
"$BUILD/tests/programs/vsyscall" >"$TMPDIR/native" 2>&1 || skip "this kernel has no vsyscall page"
make_capture "$TMPDIR/c" "$BUILD/tests/programs/vsyscall"
expect_status 2 "$FAULTLINE" replay "$TMPDIR/c"
expect_error 'a call into the vsyscall page, which the kernel answers unseen, cannot be replayed'
