#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# The statement that stored the value that ended the program is found in what gcc and clang make
# with and without optimisation: tests/programs/origins.c has the truth in comments.
# time limit: 300
. tests/lib.sh
need gojq gcc clang
need_bpf

source=tests/programs/origins.c program=$TMPDIR/origins
forms=(bucket unlink global tls tagged wipe assign strcpy sprintf ops negative tree reuse
	varargs cut swap packed shift poison grown ungrown tripled mark cursor sorted xored
	word boxed brief)

. tests/faultlocate/ends.bash

for compiler in gcc clang; do
	for level in -O0 -O1 -O2; do
		# What differs without optimisation: numbers that become pointers, and back; with some: constants.
		some=(bucket negative cut packed tripled cursor boxed brief)
		[ $level != -O1 ] || some=(bucket grown mark sorted xored)
		[ $level != -O2 ] || some=("${forms[@]}")
		$compiler -std=gnu11 -g $level -fno-builtin -w -o "$program" $source ||
			fail "cannot compile"
		record "${some[@]}"
		for form in "${some[@]}"; do
			analyze "$form" --end-only --json
			want=$(line BAD "$form")
			got=$(jq -r '.end.value.statement.line' "$TMPDIR/out")
			[ "$got" = "${want:-null}" ] ||
				fail "$compiler $level $form: line $got, not '$want'"
			[ $form != tls ] || [ "$(jq -r .end.value.name "$TMPDIR/out")" = current ] ||
				fail "a thread's variable has no name: $(jq .end.value "$TMPDIR/out")"
		done
	done
done

# And what the first programs have of it, as clang makes it.
source=tests/programs/ends.c
clang -std=gnu11 -g -O2 -fno-builtin -w -o "$program" $source || fail "cannot compile"
record moved index bytes
for form in moved index bytes; do
	analyze "$form" --end-only --json
	jq -e --argjson want "$(line BAD $form)" '.end.value.statement.line == $want' \
		"$TMPDIR/out" >/dev/null || fail "$form: $(jq .end.value "$TMPDIR/out")"
done
