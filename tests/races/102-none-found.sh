#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# In programs whose threads wait for each other and for their ends, and which have no bug, no
# schedule is found that fails or hangs. (One of them did hang when the machine was busy.)
. tests/lib.sh

need_bpf
for run in "robust 20" "sem 5" "sleep 5" "detached 5" "leader 5"; do
	read -r mode n <<<"$run"
	expect_status 0 "${RECORD[@]}" --chaos=1 --until-fail "$n" -o "$TMPDIR/c" -- \
		"$BUILD/tests/programs/crowd" "$mode"
	grep -q "no failure in $n runs" "$TMPDIR/err" || fail "$mode: $(cat "$TMPDIR/err")"
done
