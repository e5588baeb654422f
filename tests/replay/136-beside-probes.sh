#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Return probes of another recorder write below the stack pointers of what is recorded beside:
# the place of a signal is found all the same, whatever is logged.
. tests/lib.sh

need_bpf
mkfifo "$TMPDIR/hold"
"${RECORD[@]}" --snapshot -e heap -o "$TMPDIR/other" -- \
	sh -c 'echo ready; exec cat' <"$TMPDIR/hold" >"$TMPDIR/ready" 2>"$TMPDIR/other.err" &
exec {hold}>"$TMPDIR/hold"
until [ -s "$TMPDIR/ready" ]; do
	kill -0 $! || fail "$(cat "$TMPDIR/other.err")"
	sleep 0.05
done
for n in 1 2 3; do
	expect_status 134 "${RECORD[@]}" -e heap -o "$TMPDIR/$n" -- "$BUILD/tests/programs/crashes" hash
	for log in none flow values; do
		expect_status 0 "$FAULTLINE" replay --log=$log "$TMPDIR/$n"
	done
done
exec {hold}>&-
wait
