#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# bench --from: the report and the Markdown hold each row, each series and why a row has no
# value; the report asks nothing of the network.
. tests/lib.sh

need gojq

from=tests/bench/results.json
expect_status 0 "$FAULTLINE" bench --from $from --html "$TMPDIR/report.html" \
	--markdown "$TMPDIR/report.md" --json "$TMPDIR/again.json"
cmp $from "$TMPDIR/again.json" || fail "the results are others after reading and writing them"

# The HTML's text alone, without tags.
sed 's/<[^>]*>/\n/g; s/&quot;/"/g; s/&lt;/</g; s/&amp;/\&/g' "$TMPDIR/report.html" >"$TMPDIR/text"
jq -r '.rows[], .series[] | .work, .command, (.skipped // empty)' $from | sort -u >"$TMPDIR/names"
[ -s "$TMPDIR/names" ] || fail "nothing is named in $from"
for file in "$TMPDIR/text" "$TMPDIR/report.md" "$TMPDIR/out"; do
	while read -r want; do
		grep -qF -- "$want" "$file" || fail "no '$want' in $file"
	done <"$TMPDIR/names"
	for want in 'not the best: strace -f is 1.5' 'noise: as native' 'wanted at most 1.10x: MISSED' \
		'1.01 (0.97-1.05)' '1.18 s' 'abc1234' \
		'other work had 25 % of the processors: TIMES ARE NOT TO BE QUOTED'; do
		grep -qF -- "$want" "$file" || fail "no '$want' in $file"
	done
done
# A line for each row (one for both metrics of the wide suite), series, work and tool.
[ "$(grep -c '^<tr class="[a-z]* \(first\|sub\)' "$TMPDIR/report.html")" = 16 ] ||
	fail "$(grep -c '^<tr' "$TMPDIR/report.html") lines"
[ "$(grep -c '<svg ' "$TMPDIR/report.html")" = "$(grep -c '</svg>' "$TMPDIR/report.html")" ] ||
	fail "plots are not closed"
grep -c '<svg ' "$TMPDIR/report.html" | grep -qx 4 || fail "not four plots"
grep -Eq 'src=|url\(|@import|href="[^#]' "$TMPDIR/report.html" && fail "it loads something"
xml=$(sed -n '/<svg /,/<\/svg>/p' "$TMPDIR/report.html")
if command -v xmllint >/dev/null; then
	xmllint --noout - <<<"<r>$xml</r>" || fail "the plots are not well-formed"
fi

# Beside the Markdown stand the plots of each suite that has some, and it links them.
jq -r '.series[].suite' $from | sort -u >"$TMPDIR/suites"
[ -s "$TMPDIR/suites" ] || fail "no suite in $from"
while read -r suite; do
	picture=$TMPDIR/report-$suite.svg
	grep -qF "](report-$suite.svg)" "$TMPDIR/report.md" || fail "no link to $picture"
	want=$(jq -r --arg s "$suite" '[.series[] | select(.suite == $s) | [.work, .y_name]] |
		unique | length' $from)
	[ "$(grep -c '<text [^>]*class="title"' "$picture")" = "$want" ] ||
		fail "not $want plots in $picture"
	jq -r --arg s "$suite" '.series[] | select(.suite == $s) | .command' $from >"$TMPDIR/names"
	while read -r command; do
		grep -qF ">$command: " "$picture" || fail "no '$command' in $picture"
	done <"$TMPDIR/names"
	grep -Eq 'src=|url\(|@import|href=' "$picture" && fail "$picture loads something"
	if command -v xmllint >/dev/null; then
		xmllint --noout "$picture" || fail "$picture is not well-formed"
	fi
done <"$TMPDIR/suites"

# What cannot be written leaves nothing behind.
expect_status 2 "$FAULTLINE" bench --from $from --html "$TMPDIR/none/report.html"
expect_error "none/report.html"
expect_status 2 "$FAULTLINE" bench --from $from record
