#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Figures 6.3 to 6.6 of paper 003, number by number: which lines of which thread crash, and what is
# suppressed at each step. Of 6.3 the race at line 2 is what is reported; of 6.5 that race and the one at
# line -1 are judged, and cannot do harm, and line -1 is reported. --race judges one that check tells of.
# Then the seven kinds of Table 6.1: the line that is named first, in no more runs than those of Table
# 6.2 (strncpy: one more), schedules included.
. tests/lib.sh
. tests/suppress-hw/table.sh

need gojq gcc
need_bpf
source=tests/suppress-hw/figure-6.c
for figure in 63 65; do
	gcc -g -O0 -w -DFIGURE=$figure -pthread -o "$TMPDIR/f$figure" "$source" || fail "compiling"
	want_status=139 make_capture "$TMPDIR/$figure.flt" "$TMPDIR/f$figure"
	expect_status 1 "$FAULTLINE" suppress --json "$TMPDIR/$figure.flt"
	cp "$TMPDIR/out" "$TMPDIR/$figure.json"
done

# is FIGURE FILTER NUMBERS - of the lines that the filter gives.
is() {
	local numbers

	numbers=$(jq -r "$2" "$TMPDIR/$1.json" | while read -r line; do
		sed -n "${line}s|.*// \(-*[0-9]*\)$|\1|p" "$source"
	done | tr '\n' ' ')
	[ "$numbers" = "$3 " ] || fail "figure $1, $2: $numbers, not $3: $(cat "$TMPDIR/$1.json")"
}
is 63 '.steps[].at.line' "4 4 5"
is 63 '.steps[].suppressed[].line' "3 3 2"
is 63 '.identified[].line' 2
is 65 '.steps[].at.line' "4 4 5 6"
is 65 '.steps[].suppressed[].line' "3 3 2 -1"
is 65 '.identified[].line' -1
jq -e '.race and (.removed | not) and .races[-1].harmful' \
	"$TMPDIR/63.json" >/dev/null || fail "no harm: $(cat "$TMPDIR/63.json")"
jq -e '(.race | not) and .removed and ([.races[].harmful] | any | not) and
	[.races[] | select(.kind == "WAW" and .value == "0x3")] != []' "$TMPDIR/65.json" >/dev/null ||
	fail "harm: $(cat "$TMPDIR/65.json")"
# Another thread goes first: the value is another one, and nothing crashes.
jq -e '.races[-1] | .value as $v | [.schedules[] | select(.reached and .value != $v and
	.end == "exits with status 0")] != []' "$TMPDIR/63.json" >/dev/null ||
	fail "the same value: $(cat "$TMPDIR/63.json")"

harmful=0 harmless=0
n=$("$FAULTLINE" check --json "$TMPDIR/63.flt" | jq '[.findings[] | select(.rule == "RACE")] | length')
[ "$n" -ge 2 ] || fail "check tells of $n races"
for ((i = 1; i <= n && !(harmful && harmless); i++)); do
	got=0
	"$FAULTLINE" suppress --race $i "$TMPDIR/63.flt" >"$TMPDIR/out" || got=$?
	[ $got -le 1 ] || fail "race $i: status $got"
	grep -q "^race, .*$([ $got = 1 ] && echo 'may do harm' || echo 'not seen to')" "$TMPDIR/out" ||
		fail "race $i, status $got: $(cat "$TMPDIR/out")"
	[ $got = 1 ] && harmful=1 || harmless=1
done
[ $harmful = 1 ] || fail "none of $n races may do harm"
expect_status 2 "$FAULTLINE" suppress --race $((n + 1)) "$TMPDIR/63.flt"
grep -q "has $n race" "$TMPDIR/err" || fail "$(cat "$TMPDIR/err")"

source=tests/suppress-hw/threads.c
gcc -g -O0 -w -fno-stack-protector -U_FORTIFY_SOURCE -pthread -o "$TMPDIR/threads" "$source" ||
	fail "compiling"
while read -r kind runs is_race; do
	"${RECORD[@]}" -o "$TMPDIR/$kind.flt" -- "$TMPDIR/threads" "$kind" >/dev/null 2>&1 </dev/null
	[ $? -ge 128 ] || fail "$kind does not crash"
	[ "$(id -u)" = 0 ] || sudo -n chown -R "$(id -u)" "$TMPDIR/$kind.flt"
	expect_status 1 "$FAULTLINE" suppress --json "$TMPDIR/$kind.flt"
	fault=$(sed -n "\\|// $kind\$|=" "$source")
	[ "$(jq '.identified[0].line' "$TMPDIR/out")" = "$fault" ] ||
		fail "$kind: not line $fault: $(cat "$TMPDIR/out" "$TMPDIR/err")"
	[ "$(jq .race "$TMPDIR/out")" = "$is_race" ] || fail "$kind: $(cat "$TMPDIR/out")"
	got=$(jq '1 + ([.steps[] | select(.instructions > 0)] | length) +
		([.races[].schedules[]] | length)' "$TMPDIR/out")
	row "threads: $kind" "$TMPDIR/$kind.flt" "$source" "$fault" "$got"
	[ "$got" -le "$runs" ] || fail "$kind takes $got runs: $(cat "$TMPDIR/out")"
done <<'EOF'
apache 3 true
order 3 true
closed 3 true
none 2 false
strncpy 3 false
sprintf 4 false
sscanf 3 false
EOF
