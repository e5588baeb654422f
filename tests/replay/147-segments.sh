#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Segments of a program's own are not in the replay: that is told when they are made, and where the
# replay parts for it the call is the cause, not what the loader read of libraries.
. tests/lib.sh

need_bpf
program=$BUILD/tests/programs/segments
[ "$("$program" | wc -c)" = 8 ] || skip "no segments of one's own here, or the processor does not know them"
"${RECORD[@]}" -o "$TMPDIR/c" -- "$program" >/dev/null 2>"$TMPDIR/said" || fail "it fails"
grep -q "gap.*modify_ldt" "$TMPDIR/said" || fail "no word of the gap: $(cat "$TMPDIR/said")"
[ "$(id -u)" = 0 ] || sudo -n chown -R "$(id -u)" "$TMPDIR/c"
"$FAULTLINE" replay --explain "$TMPDIR/c" >"$TMPDIR/why" 2>&1 && fail "nothing differs"
sed -n '/likely cause/{n;p;}' "$TMPDIR/why" | grep -q modify_ldt || fail "$(cat "$TMPDIR/why")"
