#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Two faults at once, fixed one after the other: partial searches again only the tests that execute
# what was fixed, full all; an interrupted search goes on from its state; critical
# predicates; states that are none.
# time limit: 300
. tests/lib.sh

need gojq gcc
need_bpf
SUITE=("${RECORD[@]:0:${#RECORD[@]}-1}" suite)
cd "$TMPDIR" || exit 1
cat >p.c <<'END_OF_C'
#include <stdio.h>
#include <stdlib.h>
#ifndef FIXED
#define FIXED 0
#endif
static int area(int w, int h)
{
	int a = w * h;
	if (w == h)
#if FIXED >= 1
		a = w * w;
#else
		a = a + w; // FAULT 1
#endif
	return a;
}
static int length(int w, int h)
{
	int n = 2 * w;
#if FIXED >= 2
	n += 2 * h;
#else
	n += 3 * h; // FAULT 2
#endif
	return n;
}
static const char *size(int n)
{
#if FIXED >= 3
	if (n < 10)
#else
	if (n > 10) // FAULT 3
#endif
		return "small";
	return "large";
}
int main(int argc, char **argv)
{
	int w = atoi(argv[2]), h = atoi(argv[3]);
	switch (argv[1][0]) {
	case 'a':
		printf("%d\n", area(w, h));
		break;
	case 'l':
		printf("%d\n", length(w, h));
		break;
	case 's':
		puts(size(w * h));
		break;
	}
	return 0;
}
END_OF_C
line() {
	grep -n "// FAULT $1" p.c | cut -d: -f1
}
fixed=$(grep -nF 'a = w * w' p.c | cut -d: -f1) # what became of line 1
gcc -g -O0 -w -DFIXED=3 -o right p.c || fail "compiling"
# suite N WHAT... - record the tests WHAT, "a 3 3", of the program with N faults fixed.
suite() {
	local n=$1 t
	shift
	gcc -g -O0 -w -DFIXED="$n" -o prog p.c || fail "compiling"
	for t; do
		set -- $t
		./right "$@" >"$1$2$3.out"
		echo "{\"name\": \"$1$2$3\", \"args\": [\"$1\", \"$2\", \"$3\"], \"expected\": \"$1$2$3.out\"}"
	done >list.jsonl
	"${SUITE[@]}" record --tests list.jsonl -o "$n.suite" -- ./prog >said 2>&1 || [ $? = 1 ] ||
		fail "recording: $(cat said)"
	[ "$(id -u)" = 0 ] || sudo -n chown -R "$(id -u)" "$n.suite"
}
tests=("a 3 3" "a 3 4" "a 5 5" "l 3 0" "l 4 2" "l 5 1")
suite 0 "${tests[@]}"
suite 1 "${tests[@]}"
[ "$(jq '[.tests[] | select(.outcome == "failed")] | length' 0.suite/suite.json)" = 4 ] ||
	fail "not four tests fail"

expect_status 1 "$FAULTLINE" rank --faults partial --state partial.json --json 0.suite
jq -e --argjson line "$(line 1)" '(.statements[] | select(.line == $line)) as $s |
	$s.rank == .statements[0].rank and $s.ivmp_tests == 2 and .faults == "partial" and (.list_of | test("p.c:"))' out >/dev/null ||
	fail "the first fault: $(cat out)"
# The list stays until something is fixed, and nothing is searched twice.
expect_status 1 "$FAULTLINE" rank --faults partial --state partial.json --json 0.suite
jq -e --argjson line "$(line 1)" '.statements[0].rank <= 2 and .runs == 0 and .recalled == 4' \
	out >/dev/null || fail "the same again: $(cat out)"
jq '.faults = 2' partial.json >full.json
for faults in partial full; do
	expect_status 1 "$FAULTLINE" rank --faults $faults --state $faults.json \
		--fixed "p.c:$fixed" --json 1.suite
	[ $faults = full ] && recalled=0 || recalled=2
	jq -e --argjson line "$(line 2)" --argjson recalled $recalled \
		'(.statements[] | select(.line == $line)).rank == .statements[0].rank
		and .searched == 2 and .recalled == $recalled' \
		out >/dev/null || fail "$faults, the second fault: $(cat out)"
done
# All tests execute what was fixed in main(); of what none does (any more), nobody knows.
for place in "p.c:$(grep -n 'switch' p.c | cut -d: -f1)" p.c:9999; do
	jq '.faults = 3' full.json >some.json
	expect_status 1 "$FAULTLINE" rank --faults partial --state some.json --json \
		--fixed "$place" 1.suite
	jq -e '.recalled == 0 and .searched == 2' out >/dev/null ||
		fail "not searched again: $(cat out)"
done
jq -e '.notes[0] | test("no test executes .p.c:9999. .any more.: --faults partial searches all")' \
	out >/dev/null || fail "what nobody executes: $(cat out)"

# Half a state: what is missing is searched.
expect_status 1 "$FAULTLINE" rank --state one.json --json 0.suite
cp out whole
jq '.tests |= with_entries(select(.key | startswith("a")))' one.json >half.json
expect_status 1 "$FAULTLINE" rank --state half.json --json 0.suite
jq -e '.recalled == 2 and .searched == 4' out >/dev/null || fail "half a state: $(cat out)"
jq -e --slurpfile whole whole '[.statements[] | [.line, .rank]] == [$whole[0].statements[] | [.line, .rank]]' \
	out >/dev/null || fail "half a state: another ranking"

# Critical predicates.
suite 2 "s 1 2" "s 5 5"
expect_status 1 "$FAULTLINE" rank --method predicates --json 2.suite
jq -e --argjson line "$(line 3)" '.statements[0].line == $line and .statements[0].ivmp_tests == 2
	and ([.ivmps[] | select(.branch | not)] | length) == 0 and .method == "predicates"' \
	out >/dev/null || fail "predicates: $(cat out)"

# ---- what cannot be
says() { # TEXT OPTION...
	local text=$1
	shift
	expect_status 2 "$FAULTLINE" rank "$@" 0.suite
	expect_error "$text"
}
says "was made with other --method, --lossless or --faults" --state partial.json
for wrong in "--faults two" "--fixed p.c:1" "--method ochiai --state x.json"; do
	expect_status 2 "$FAULTLINE" rank $wrong 0.suite
	grep -q "there are: one, min, full, partial\|fixed goes on from a --state\|not with --method ochiai" err ||
		fail "$wrong: $(cat err)"
done
echo '{"format": "other"}' >other.json
echo '{"for' >cut.json
says "'other.json' is no state of" --state other.json
says "'cut.json' is no state of" --state cut.json
jq '.version = 2' one.json >newer.json
says "'newer.json' was written by a newer faultline" --state newer.json
[ "$(cat other.json)" = '{"format": "other"}' ] || fail "a file that is no state was replaced"
mkfifo pipe
says "cannot rank by '0.suite'" --state pipe
[ -p pipe ] || fail "a pipe was replaced"
says "cannot write 'nowhere/state.json'" --state nowhere/state.json
