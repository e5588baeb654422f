#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Figure 2.6 of paper 003: which lines have IVMPs in which failing run; two seeded faults of a
# program of our own, which value replacement puts first and Tarantula does not; one failing
# capture alone.
. tests/lib.sh

need gojq gcc
need_bpf
SUITE=("${RECORD[@]:0:${#RECORD[@]}-1}" suite)
here=$PWD
cd "$TMPDIR" || exit 1

# record_suite DIR LIST PROGRAM
record_suite() {
	"${SUITE[@]}" record --tests "$2" -o "$1" -- "$3" >said 2>&1 || [ $? = 1 ] ||
		fail "recording $1: $(cat said)"
	[ "$(id -u)" = 0 ] || sudo -n chown -R "$(id -u)" "$1"
}

gcc -g -O0 -w -o figure "$here/tests/suppress-hw/figure-2.6.c" || fail "compiling"
for t in "A 0 0 1" "B -1 0 -1" "C 1 1 1" "D 0 1 -1"; do
	set -- $t
	echo "$4" >"$1.out"
	echo "{\"name\": \"$1\", \"args\": [\"$2\", \"$3\"], \"expected\": \"$1.out\"}"
done >figure.jsonl
record_suite figure.suite figure.jsonl ./figure
expect_status 1 "$FAULTLINE" rank --lossless --json figure.suite
cp out json
# ivmps N - the failing tests that have one at the figure's line N.
ivmps() {
	jq -r --argjson line "$(sed -n "\|// $1|=" "$here/tests/suppress-hw/figure-2.6.c")" \
		'[.ivmps[] | select(.line == $line).test] | sort | join(" ")' json
}
[ "$(ivmps 2)" = "C D" ] || fail "line 2: $(ivmps 2)"
[ "$(ivmps 4)" = D ] || fail "line 4: $(ivmps 4)"
[ "$(ivmps 6)" = C ] || fail "line 6: $(ivmps 6)"
[ "$(ivmps 3)" = "" ] || fail "line 3: $(ivmps 3)"
jq -e '.statements[0].rank == 1 and .statements[0].ivmp_tests == 2' json >/dev/null ||
	fail "line 2 is not alone at the head"
line=$(sed -n "\|// 2|=" "$here/tests/suppress-hw/figure-2.6.c")
[ "$(jq '.statements[0].line' json)" = "$line" ] || fail "another line is first"
expect_status 1 "$FAULTLINE" rank figure.suite
grep -q "^   1\. .*figure-2.6.c:$line in main  IVMPs in 2 of 2, executed by 2 failing, 2 passing" out ||
	fail "text: $(cat out)"
grep -q "right in test D with -1 instead of 1" out || fail "no value told: $(cat out)"

source=$here/tests/suppress-hw/rank/totals.c
gcc -g -O0 -w -o right "$source" || fail "compiling"
n=0
while read -r line; do
	n=$((n + 1))
	echo "$line" | tr , '\n' >"in$n"
	./right <"in$n" >"out$n"
	echo "{\"name\": \"t$n\", \"stdin\": \"in$n\", \"expected\": \"out$n\", \"status\": 0}"
done >totals.jsonl <<'END'
1 2,0 7
2 1,50,60
x
3 1,0,0,0
16 1,1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16
END
# Fault 6 ends the program before it has read that its input ends, as a branch that goes on does.
for v in 1 6 3; do
	gcc -g -O0 -w -DV=$v -o "wrong$v" "$source" || fail "compiling"
	record_suite "$v.suite" totals.jsonl "./wrong$v"
	line=$(sed -n "\|// V$v|=" "$source")
	expect_status 1 "$FAULTLINE" rank --json "$v.suite"
	jq -e '.runs > 0 and .searched == .failed and .interrupted == false' out >/dev/null ||
		fail "V$v: not all was searched: $(cat out)"
	# Tarantula's rank of it: so many are as suspicious.
	jq -e --argjson line "$line" '(.statements[] | select(.line == $line)) as $s |
		([.statements[] | select(.tarantula >= $s.tarantula)] | length) as $tarantula |
		$s.rank <= 2 and $s.rank < $tarantula' out >/dev/null ||
		fail "V$v: $(cat out)"
done
expect_status 1 "$FAULTLINE" rank --method ochiai --json 3.suite
jq -e '.runs == 0 and .method == "ochiai" and .statements[0].suspicion <= 1' out >/dev/null ||
	fail "ochiai: $(cat out)"

# The seeded fault decides which numbers come to the assignment behind it.
expect_status 1 "$FAULTLINE" rank --method ranges --json 3.suite
jq -e --argjson line "$line" '.runs == 0 and .method == "ranges" and .statements[0].suspicion == 1 and
	(.statements[] | select(.line == $line) | .suspicion == 1)' out >/dev/null || fail "ranges: $(cat out)"

expect_status 1 "$FAULTLINE" rank --expected out1 --json 3.suite/tests/t1/capture
jq -e --argjson line "$(sed -n "\|// V3|=" "$source")" \
	'.failed == 1 and (.statements[] | select(.line == $line).ivmp_tests) == 1' out >/dev/null ||
	fail "one capture alone: $(cat out)"
