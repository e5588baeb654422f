#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# bench --compare: of prepared results it says what moved, what is noise, and what is in one
# only; its exit status tells a script.
. tests/lib.sh

need gojq

old=tests/bench/results.json new=$TMPDIR/new.json

expect_status 0 "$FAULTLINE" bench --compare $old $old
grep -q '^0 worse, 0 better, 0 changed, ' "$TMPDIR/out" || fail "$(cat "$TMPDIR/out")"

# edit FILTER - make the new results of the old ones.
edit() {
	jq "$1" $old >"$new" || fail "jq cannot edit $old"
}
row() {
	echo "(.rows[] | select(.work == \"$1\" and .command == \"$2\" and .metric == \"$3\"))"
}

# Every run a fifth slower, native the same: worse. Within the range of the runs: noise.
edit "$(row list record time).runs |= map(. * 1.2) | $(row gzip record time).runs |= map(. * 1.02)"
expect_status 1 "$FAULTLINE" bench --compare $old "$new"
grep -q '^worse *record, list, record: time, .*(+20.0 %)' "$TMPDIR/out" ||
	fail "list is not worse: $(cat "$TMPDIR/out")"
grep -q 'gzip' "$TMPDIR/out" && fail "gzip moved: $(cat "$TMPDIR/out")"
grep -q '^1 worse, 0 better' "$TMPDIR/out" || fail "$(cat "$TMPDIR/out")"

# Smaller works are other works.
edit '.header.is_quick = true'
expect_status 2 "$FAULTLINE" bench --compare $old "$new"
expect_error "cannot compare '.*': '.*new.json' is of the quick form"
edit "$(row list record time).runs |= map(. * 1.2)"

# The other way round it got better, and that is no failure.
expect_status 0 "$FAULTLINE" bench --compare "$new" $old
grep -q '^better *record, list, record: time' "$TMPDIR/out" || fail "$(cat "$TMPDIR/out")"

# A machine twice as slow for all moves nothing.
edit '(.rows[] | select(.unit == "s").runs | values) |= map(. * 2)'
expect_status 0 "$FAULTLINE" bench --compare $old "$new"
grep -q '^0 worse, 0 better, 0 changed' "$TMPDIR/out" || fail "$(cat "$TMPDIR/out")"

# One figure that is no time, one exponent, one row that is gone.
edit "$(row 'AVL tree' 'at the end' located) |= (.runs = [90] | .value = {median: 90, min: 90, max: 90}) |
	.series[0].fit |= (.exponent = 2 | .low = 1.9 | .high = 2.1) |
	del($(row gzip record time))"
expect_status 1 "$FAULTLINE" bench --compare $old "$new"
for want in '^worse *locate, AVL tree, at the end: located, was 100%, is 90' \
	'^worse *growth, list, record: exponent, was 1.01 (0.97-1.05), is 2.00' \
	'^only old *record, gzip, record: time'; do
	grep -q "$want" "$TMPDIR/out" || fail "no '$want' in: $(cat "$TMPDIR/out")"
done

# Two rounds tell nothing, and that is said.
edit "(.rows[] | select(.runs).runs) |= .[:2]"
expect_status 0 "$FAULTLINE" bench --compare "$new" "$new"
grep -q ' 4 of too few runs to tell' "$TMPDIR/out" || fail "$(cat "$TMPDIR/out")"

echo '{"version": 1}' >"$new"
expect_status 2 "$FAULTLINE" bench --compare $old "$new"
expect_error "new.json': not results of faultline bench"
expect_status 2 "$FAULTLINE" bench --compare $old "$TMPDIR/none.json"
expect_error "none.json"
expect_status 2 "$FAULTLINE" bench --compare $old
