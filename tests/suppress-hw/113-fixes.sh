#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# A seeded fault of bench/seeded/: its situation, what is learnt of it, the edit that is suggested where
# it is met again, which makes the program right; and what cannot be asked.
. tests/lib.sh

need gojq gcc patch
need_bpf
version() { # PROGRAM N DIR TESTS
	local as=()
	[ "$(id -u)" = 0 ] || as=(sudo -n)
	"${as[@]}" bench/seeded/version.sh "$(realpath "$FAULTLINE")" "$1" "$2" "$TMPDIR/$3" "$4" >"$TMPDIR/at" ||
		fail "cannot record $1, fault $2"
	[ "$(id -u)" = 0 ] || sudo -n chown -R "$(id -u)" "$TMPDIR/$3"
	read -r line right <"$TMPDIR/at"
}

# `room >= SLOW' in the place of `room > SLOW': three of the first four tests fail.
version separate 13 v 4
suite=$TMPDIR/v/suite at=separate.c:$line
expect_status 0 "$FAULTLINE" fixes learn "$suite" --at "$at" --to "$right" --into "$TMPDIR/k.json"
grep -q 'fixed by `>=|>. `copm. `opm.; 1 fixes there' "$TMPDIR/out" || fail "learnt: $(cat "$TMPDIR/out")"
expect_status 0 "$FAULTLINE" fixes "$suite" --at "$at" --alone --knowledge "$TMPDIR/k.json" --json
jq -e '.known == 1 and (.suggestions | length) == 3 and all(.suggestions[]; .rank == 1 and .confidence == 1)
	and ([.situation[]] | index("while") and index(">=") and index("COND_STMT") and index("int-CONST")
		and index("int-VAR"))
	and all(.suggestions[]; .descriptors > 8)' "$TMPDIR/out" >/dev/null || fail "$(cat "$TMPDIR/out")"
jq -r '.suggestions[] | select(.fix == ">=|>").edit' "$TMPDIR/out" >"$TMPDIR/edit"
patch -s "$TMPDIR/v/separate.c" "$TMPDIR/edit" || fail "no edit: $(cat "$TMPDIR/edit")"
cmp "$TMPDIR/v/separate.c" bench/seeded/separate.c || fail "the edit makes another program"
patch -s -R "$TMPDIR/v/separate.c" "$TMPDIR/edit"

# What is brought along knows it, too; a second one joins the file.
expect_status 0 "$FAULTLINE" fixes "$suite" --at "$at"
grep -q '^separate.c:[0-9]*: while (room >= SLOW)$' "$TMPDIR/out" || fail "$(cat "$TMPDIR/out")"
grep -q '^   1\. `' "$TMPDIR/out" || fail "no suggestion: $(cat "$TMPDIR/out")"
expect_status 0 "$FAULTLINE" fixes learn "$suite" --at "$at" --fix own:mine --into "$TMPDIR/k.json"
[ "$(jq '.scenarios | length' "$TMPDIR/k.json")" = 2 ] || fail "$(cat "$TMPDIR/k.json")"
# Of two that are the same, and were fixed differently, neither is sure.
expect_status 1 "$FAULTLINE" fixes "$suite" --at "$at" --alone --knowledge "$TMPDIR/k.json"
expect_status 0 "$FAULTLINE" fixes "$suite" --at "$at" --alone --knowledge "$TMPDIR/k.json" --confidence 50 --json
jq -e '[.suggestions[].confidence] == [0.5, 0.5, 0.5, 0.5]' "$TMPDIR/out" >/dev/null || fail "$(cat "$TMPDIR/out")"

# Asked wrongly.
expect_status 2 "$FAULTLINE" fixes "$suite" --at separate.c:1
expect_error "no test executes 'separate.c:1'"
echo '{"format": "faultline-fixes", "version": 1, "scenarios": [{"fixes": ["a"]}]}' >"$TMPDIR/bad"
expect_status 2 "$FAULTLINE" fixes "$suite" --at "$at" --knowledge "$TMPDIR/bad"
expect_error "bad': scenario 1 has no list 'situation'"
expect_status 2 "$FAULTLINE" fixes learn "$suite" --at "$at" --fix opm --into "$TMPDIR/bad"
expect_error "scenario 1"
for wrong in "--at $at --fix copn" "--at x" "" "--at $at --to x" "learn --at $at --fix opm" \
	"learn --at $at --into $TMPDIR/k.json" "--at $at --alone"; do
	expect_status 2 "$FAULTLINE" fixes ${wrong/learn /learn "$suite" } "$suite"
	[ -s "$TMPDIR/err" ] || fail "'$wrong' is not told"
done
mv "$TMPDIR/v/separate.c" "$TMPDIR/elsewhere.c"
expect_status 2 "$FAULTLINE" fixes "$suite" --at "$at"
expect_error "source .* is not at hand.*--sources"
exit 0
