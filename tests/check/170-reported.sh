#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# The eight bugs of paper 002's Table 3.4, in kind: each is found where it goes wrong, nothing is found elsewhere, and
# the chains of its values are as short as the paper's or shorter, lead to the line that is to be mended, and
# are beside what a slice and a backward trace have on the same captures (in the log).
. tests/lib.sh
need gojq gcc
need_bpf

source=tests/programs/reported.c
printf '%-12s %-4s %12s %8s %6s %6s\n' bug "" trace slice chain paper
# marked NAME WORD - the line that says so of it.
marked() { grep -n "// .*\(expect \|\)$1: $2" $source | cut -d: -f1; }
n=0
while read -r line name rule paper; do
	for level in O0 O2; do
		[ -x "$TMPDIR/$level" ] ||
			gcc -std=gnu11 -D_GNU_SOURCE -g -$level -fno-builtin -w -o "$TMPDIR/$level" $source ||
			fail "cannot compile"
		c=$TMPDIR/$name$level
		"${RECORD[@]}" -o "$c" -- "$TMPDIR/$level" "$name" >/dev/null 2>&1
		[ "$(id -u)" = 0 ] || sudo -n chown -R "$(id -u)" "$c"
		expect_status 1 "$FAULTLINE" check --json "$c"
		jq -e --argjson line "$line" --arg rule "$rule" '[.findings[].at.line] == [.findings[] | $line] and
			any(.findings[]; .rule == $rule)' "$TMPDIR/out" >/dev/null ||
			fail "$name -$level: $(jq -c '.findings[] | [.rule, .at.line]' "$TMPDIR/out")"
		# Two chains may have a part in common: it is read once.
		jq --arg rule "$rule" '[.findings[] | select(.rule == $rule)][0]' "$TMPDIR/out" >"$TMPDIR/f"
		length=$(jq '[.chains[] | .links[:.length][].time] | unique | length' "$TMPDIR/f")
		time=$(jq .time "$TMPDIR/f")
		from=$(jq '[.chains[].links[].time] | min' "$TMPDIR/f")
		root=$(marked "$name" root)
		if [ "$level" = O0 ] && [ -n "$root" ]; then
			from=$(jq "[.chains[].links[] | select(.line == $root).time] | max" "$TMPDIR/f")
			[ "$from" != null ] || fail "$name: no chain leads to line $root: $(jq -c .chains "$TMPDIR/f")"
		fi
		slice=
		if [ $level = O0 ]; then
			at=$time
			[ "$rule" != NULL-DEREF ] || at=crash
			expect_status 0 "$FAULTLINE" slice --json --at "$at" "$c"
			slice=$(jq '[.statements[].instances] | add' "$TMPDIR/out")
			[ "$slice" -gt "$length" ] || fail "$name: a slice of $slice, a chain of $length"
		fi
		printf '%-12s %-4s %12s %8s %6s %6s\n' "$name" $level $((time - from)) "$slice" "$length" "$paper"
		((length >= 1 && length <= paper)) || fail "$name -$level: $(jq -c '.chains' "$TMPDIR/f")"
		n=$((n + 1))
	done
done < <(sed -n 's/.*\/\/ expect \([a-z]*\): \([A-Z-]*\) \([0-9]*\)$/\1 \2 \3/p' $source | while read -r name rest; do
	echo "$(marked "$name" '[A-Z]') $name $rest"
done)
[ $n = 16 ] || fail "$n of 16 were looked at"
exit 0
