#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Of a program that a signal ended `faultline analyze` says, without a specification, where in the
# user's code it was, which value was wrong, and which statement made it: tests/programs/ends.c
# has the truth in comments.
# time limit: 300
. tests/lib.sh
need gojq gcc
need_bpf

source=tests/programs/ends.c program=$TMPDIR/ends

. tests/faultlocate/ends.bash

# form NAME KIND IS BECAUSE VALUE - it ends so; the value is called VALUE, and is not right
# because of statement BAD (where there is one).
form() {
	local name=$1 want got
	analyze "$name" --json
	want="$2|$3|$4|$5|$(line BAD "$name")|$(line USE "$name")"
	got=$(jq -r '.end | [.kind, .value.is, .value.because, .value.name,
		.value.statement.line, ([.frames[] | select(.library | not)][0].line)] |
		map(. // "" | tostring) | join("|")' "$TMPDIR/out")
	[ "$got" = "$want" ] || fail "$level $name: '$got', not '$want'"
}

# said NAME MESSAGE ARGUMENTS - it gave up at USE, with this on stderr.
said() {
	form "$1" sent "" "" ""
	jq -e --arg m "$2" '.end.message | contains($m)' "$TMPDIR/out" >/dev/null ||
		fail "$level $1 did not say '$2': $(jq .end.message "$TMPDIR/out")"
	jq -e --arg a "$3" '[.end.frames[] | select(.library | not)][0].arguments | contains($a)' \
		"$TMPDIR/out" >/dev/null || fail "$level $1 has no arguments $3: $(jq .end "$TMPDIR/out")"
}

build() {
	level=$1
	gcc -std=gnu11 -g "$level" -fno-builtin -w -o "$program" $source || fail "cannot compile"
}

for level in -O0 -O2; do
	build $level
	forms=(null index stale moved bytes)
	case $level in
	-O2) forms+=(freed heap zeroed overflow variant callee division smashed constant input
		nobody refused truncated trap deep) ;;
	-O0) forms+=(local assert abort twice inside guarded fortified) ;;
	esac
	record "${forms[@]}"
	form null access null stored found
	form index access index stored t-\>at
	form stale access text "dead stack frame" n-\>next
	form moved access unmapped stored "all[1].list"
	form bytes access text stored r-\>next
	[ $level = -O0 ] || continue

	form local access text "uninitialised local" n
	said assert "Assertion \`r->key > level' failed" "level = 7"
	said abort "ends: nothing left (42)" 'why = 0x'
	said twice "double free" "(n9, freed)"
	said inside "invalid pointer" "p = 0x"
	said guarded "stack smashing" "text = 0x"
	said fortified "buffer overflow detected" "text = 0x"
	analyze guarded
	grep -q 'in abort() called by __stack_chk_fail()' "$TMPDIR/out" || fail "$(cat "$TMPDIR/out")"
	grep -q pthread_kill "$TMPDIR/out" && fail "libc's own calls: $(cat "$TMPDIR/out")"
done

form freed access unmapped "freed memory" n
[ "$(jq -r '.end.value.node.freed.line' "$TMPDIR/out")" = "$(line BAD freed)" ] ||
	fail "the node is not told: $(jq .end.value "$TMPDIR/out")"
form heap access text "uninitialised heap" r-\>next
form zeroed access null "uninitialised heap" r-\>next
form overflow access text stored r-\>next
form variant access unmapped stored v-\>list
form callee jump null stored r-\>call
form division division divisor stored t-\>count
form smashed jump text stored ""
form constant access protected stored text
form input access text input n-\>next
form nobody access null "never written" nobody
form refused access null returned p
form truncated access "beyond file" input p
form trap trap "" "" ""

analyze deep
grep -q 'the stack is used up, [0-9]\{4,\} calls deep' "$TMPDIR/out" || fail "$(cat "$TMPDIR/out")"
grep -q "called at $source:$(line USE deep) in deep(n = 1," "$TMPDIR/out" ||
	fail "the first call is not told: $(cat "$TMPDIR/out")"

# Nothing ended it, and no rule finds anything.
make_capture "$TMPDIR/d" true
expect_status 0 "$FAULTLINE" analyze "$TMPDIR/d"
grep -q "nothing is wrong by any rule" "$TMPDIR/out" || fail "nothing is said: $(cat "$TMPDIR/out")"
expect_status 2 "$FAULTLINE" analyze --end-only "$TMPDIR/d"
expect_error "no signal ended the program .exit status 0.: what should hold"
