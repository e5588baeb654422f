#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# What lies below the stack pointer is nobody's as far as that stack goes, and no farther: other stacks and static data may be
# there, too. What lies where a block had a mapping of its own is no heap when that is gone.
. tests/lib.sh
need gcc
need_bpf

for level in O0 O2; do
	gcc -g -w -$level -pthread -o "$TMPDIR/elsewhere" tests/check/programs/elsewhere.c || fail "cannot compile"
	for how in heap static mapping thread placed hole; do
		rm -rf "$TMPDIR/c"
		make_capture "$TMPDIR/c" "$TMPDIR/elsewhere" $how
		expect_status 0 "$FAULTLINE" check "$TMPDIR/c"
	done
done
exit 0
