#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
# time limit: 300
#
# What C++'s library does to order threads is known as such: nothing is told of a program that uses much of it,
# and of one line that is not in order, that line.
. tests/lib.sh
need gojq g++ clang++
need_bpf

source=tests/check/programs/threads.cc
check() { # status compiler option...
	local status=$1
	shift
	"$@" -std=c++17 -g -w -pthread -o "$TMPDIR/threads" $source || fail "cannot compile: $*"
	rm -rf "$TMPDIR/c"
	make_capture "$TMPDIR/c" "$TMPDIR/threads"
	expect_status "$status" "$FAULTLINE" check --json --only RACE "$TMPDIR/c"
}

check 0 g++ -O2
check 0 clang++ -O2
check 1 g++ -O1 -DRACY
line=$(grep -n '// race' $source | cut -d: -f1)
jq -e "[.findings[] | .one.line, .other.line] | unique == [$line]" "$TMPDIR/out" >/dev/null ||
	fail "not line $line alone: $(cat "$TMPDIR/out")"
exit 0
