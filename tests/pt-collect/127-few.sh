#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# A few bytes of memory come by the page tables where the kernel can load from any address, and are those that are there:
# by the end of a page, in large ones, in memory that nobody else sees.
. tests/lib.sh

need_bpf
export FAULTLINE_LOG=record:2
grep -q ' bpf_rdonly_cast$' /proc/kallsyms || skip "this kernel cannot load from any address"
[ $EUID = 0 ] || skip "sudo takes the variable for what is logged away"

# record_few BY - they are read by BY, and each is as the program had it.
record_few() {
	rm -rf "$TMPDIR/c"
	expect_status 0 "${RECORD[@]}" -o "$TMPDIR/c" -- "$BUILD/tests/programs/few"
	grep -q "a few bytes of memory are read by $1" "$TMPDIR/err" || fail "not by $1: $(tail -n 3 "$TMPDIR/err")"
	cp "$TMPDIR/out" "$TMPDIR/recorded"
	[ "$(grep -c '^640/640 ' "$TMPDIR/recorded")" -ge 6 ] || fail "recorded: $(cat "$TMPDIR/recorded")"
	! grep -v -e '^640/640 ' -e '^no ' "$TMPDIR/recorded" || fail "a read went wrong when recorded"
	expect_status 0 "$FAULTLINE" replay --stdout "$TMPDIR/c"
	grep -q 'all matched' "$TMPDIR/err" || fail "$(cat "$TMPDIR/err")"
	cmp "$TMPDIR/recorded" "$TMPDIR/out" || fail "other bytes: $(cat "$TMPDIR/out")"
}

record_few "page tables"
without_typed_tracepoints
record_few "the kernel"
