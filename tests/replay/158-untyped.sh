#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Where the kernel refuses the quicker program for the end of a call, the other one does all that it does.
. tests/lib.sh

need_bpf
without_typed_tracepoints
record_and_replay "$BUILD/tests/programs/syscalls"
rm -rf "$TMPDIR/c"
export FAULTLINE_LOG=record:1
timeout 60 "${RECORD[@]}" -o "$TMPDIR/c" -- "$BUILD/tests/programs/pokes" >"$TMPDIR/out" 2>"$TMPDIR/err"
[ $EUID = 0 ] || grep -q "typed" "$TMPDIR/err" || skip "sudo takes the variable for what is logged away"
grep -q "record_sys_exit_typed: " "$TMPDIR/err" || fail "it was not refused: $(cat "$TMPDIR/err")"
grep -q "gap: process [0-9]*, which is not recorded" "$TMPDIR/err" || fail "it is not told: $(cat "$TMPDIR/err")"
