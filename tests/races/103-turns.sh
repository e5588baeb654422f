#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# In some runs threads take turns at the memory that they share: two that write to a word then
# change places at it again and again.
. "$SOURCE/tests/lib.sh"
need_bpf
need_breakpoints

FAULTLINE_LOG=record:2 "${RECORD[@]}" --chaos=1 --until-fail 80 -o "$TMPDIR/c" -- \
	"$BUILD/tests/programs/alternate" >"$TMPDIR/log" 2>&1 || fail "$(tail -n 3 "$TMPDIR/log")"
read -r turns often <<<"$(awk '/ points, system calls / { in_turn = /, in turn/; turns += in_turn }
	/^changes/ && in_turn && $2 >= 15 { often++ }
	END { print turns + 0, often + 0 }' "$TMPDIR/log")"
echo "in turn in $turns of 80 runs, change places 15 times or more in $often"
[ "$turns" -ge 10 ] || fail "turns are taken in $turns of 80 runs"
[ "$often" -ge 2 ] || fail "they change places in $often of $turns runs"
