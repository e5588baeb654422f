#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# 160-ends.sh for C++: exceptions that nobody caught by type and what(), values made in templates
# of the library by the user's statement.
. tests/lib.sh
need gojq g++
need_bpf

source=tests/programs/endings.cc program=$TMPDIR/endings

. tests/faultlocate/ends.bash

# form NAME KIND IS BECAUSE
form() {
	local name=$1 want got
	analyze "$name" --json
	want="$2|$3|$4|$(line BAD "$name")|$(line USE "$name")"
	got=$(jq -r '.end | [.kind, .value.is, .value.because, .value.statement.line,
		([.frames[] | select(.library | not)][0].line)] |
		map(. // "" | tostring) | join("|")' "$TMPDIR/out")
	[ "$got" = "$want" ] || fail "$level $name: '$got', not '$want'"
}

said() {
	form "$1" sent "" ""
	jq -e --arg m "$2" '.end.message | contains($m)' "$TMPDIR/out" >/dev/null ||
		fail "$level $1 did not say '$2': $(jq .end.message "$TMPDIR/out")"
}

for level in -O0 -O2; do
	g++ -std=gnu++17 -g $level -w -o "$program" $source || fail "cannot compile"
	record thrown range nothrow virtual owner lookup member
	said thrown "'std::runtime_error'
  what():  too much for a book"
	said range "'std::out_of_range'"
	said nothrow "'int'"
	form virtual access unmapped "freed memory"
	form owner access null stored
	form lookup access null stored
	form member access text "uninitialised heap"
done
