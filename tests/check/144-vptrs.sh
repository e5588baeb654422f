#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# A destructor that stores the vtable pointer that is there already does not race with virtual calls; one that
# stores another does.
. tests/lib.sh
need gojq g++ clang++
need_bpf

source=tests/check/programs/vptrs.cc
grep -n '// race' $source | cut -d: -f1 | jq -cs . >"$TMPDIR/lines"
check() { # status compiler option...
	local status=$1
	shift
	"$@" -g -w -pthread -o "$TMPDIR/vptrs" $source || fail "cannot compile: $*"
	rm -rf "$TMPDIR/c"
	make_capture "$TMPDIR/c" "$TMPDIR/vptrs"
	expect_status "$status" "$FAULTLINE" check --json --only RACE "$TMPDIR/c"
}

check 0 g++ -O0
check 0 g++ -O2 -no-pie
check 0 clang++ -O1
for level in O0 O1; do
	check 1 g++ -$level -DRACY
	jq -c '[.findings[] | .one.line, .other.line] | unique' "$TMPDIR/out" | cmp - "$TMPDIR/lines" ||
		fail "-$level -DRACY: not $(cat "$TMPDIR/lines") alone: $(cat "$TMPDIR/out")"
done
exit 0
