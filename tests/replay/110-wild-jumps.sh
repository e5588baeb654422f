#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Branches to addresses where no program can be (tests/programs/wildjump.c): each fault is the
# recorded one, at the branch or at its target as the CPU has it, and the last ends the replay.
. tests/lib.sh

need_bpf
for threads in "" threads; do
	c=$TMPDIR/c$threads
	# shellcheck disable=SC2086 # none or one
	want_status=139 make_capture "$c" "$BUILD/tests/programs/wildjump" $threads
	[ "$(wc -l <"$c.out")" -ge 42 ] || fail "too few faults: $(cat "$c.out")"
	replay_matches "$c"
	expect_status 0 "$FAULTLINE" replay "$c"
	grep -q 'killed by SIGSEGV' "$TMPDIR/out" || fail "$(cat "$TMPDIR/out")"
done
