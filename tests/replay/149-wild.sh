#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# A fault that was recorded is one in the replay, too, where the machine has memory of its own at that
# address: it goes elsewhere.
. tests/lib.sh

need_bpf
[ "$("$BUILD/tests/programs/wild")" = "3584 faults" ] || skip "something lies where nothing should"
make_capture "$TMPDIR/c" "$BUILD/tests/programs/wild"
expect_status 0 "$FAULTLINE" replay "$TMPDIR/c"
grep -q 'all matched' "$TMPDIR/out" || fail "$(cat "$TMPDIR/out")"
[ "$("$FAULTLINE" replay --stdout "$TMPDIR/c" 2>/dev/null)" = "3584 faults" ] || fail "its output is another"
