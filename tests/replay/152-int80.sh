#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# A 32-bit system call is named where it is recorded, and where it is replayed.
. tests/lib.sh

need_bpf
int80=$BUILD/tests/programs/int80
"$int80" >/dev/null 2>&1 || skip "this kernel has no 32-bit system calls"
expect_status 0 "${RECORD[@]}" -o "$TMPDIR/c" -- "$int80"
tail -n 1 "$TMPDIR/err" | grep -q '1 gap: what call 20 by int 0x80, which cannot be replayed, does to memory is not known' ||
	fail "record: $(cat "$TMPDIR/err")"
[ "$(id -u)" = 0 ] || sudo -n chown -R "$(id -u)" "$TMPDIR/c"
expect_status 2 "$FAULTLINE" replay "$TMPDIR/c"
grep -q 'int 0x80 (a 32-bit system call) is an instruction that cannot be replayed' "$TMPDIR/err" ||
	fail "replay: $(cat "$TMPDIR/err")"
