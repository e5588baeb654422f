#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Each specification of specs/ fits its program's structs, takes as many statements as
# specs/README.md says and no more than table 2.2 of paper 001, finds nothing wrong where
# nothing is, and leads to the statement that went wrong otherwise. FAULTLINE_SEEDS="1 2 3"
# chooses the seeds, at both levels; else each has one level, with a seed of its own.
# time limit: 600
. tests/lib.sh
need gojq
need_bpf

# statements NAME - as README.md's table has them; allowed: as table 2.2 does.
column() {
	awk -F'|' -v name="$1" -v n="$2" '{ gsub(/ /, "", $3) } $3 == name { print $n + 0 }' \
		specs/README.md
}

check_spec() {
	local name=$1 got want most
	"$FAULTLINE" spec check --json "specs/$name.spec" --binary "$BUILD/specs/$name-O0" \
		>"$TMPDIR/check" || fail "specs/$name.spec: $(cat "$TMPDIR/check")"
	got=$(jq .statements "$TMPDIR/check") want=$(column "$name" 4) most=$(column "$name" 5)
	[ "$got" = "$want" ] || fail "$name: $got statements, specs/README.md has '$want'"
	[ "$most" = 0 ] || [ "$got" -le "$most" ] || fail "$name: $got statements, not $most"
}

# run_subject NAME LEVEL SEED FAULTS WANT - record and analyze it; JSON in $TMPDIR/json.
run_subject() {
	local got=0
	rm -rf "$TMPDIR/capture"
	# It may crash once it is broken.
	"${RECORD[@]}" -o "$TMPDIR/capture" -- "$BUILD/specs/$1-$2" "$3" "$4" \
		>/dev/null 2>"$TMPDIR/truth"
	"$FAULTLINE" analyze "$TMPDIR/capture" --spec "specs/$1.spec" --cpoint operate --json \
		>"$TMPDIR/json" 2>"$TMPDIR/err" || got=$?
	[ $got = "$5" ] ||
		fail "$1 -$2 $3 $4: exit status $got, not $5: $(cat "$TMPDIR/err" "$TMPDIR/json")"
}

n=0 turn=0
for source in specs/*.c; do
	name=$(basename "$source" .c)
	check_spec "$name"
	# One build of each, in turn; with seeds of your own both.
	both=("O0 6" "O2 7")
	[ -n "${FAULTLINE_SEEDS:-}" ] || both=("${both[turn++ % 2]}")
	for seeded in "${both[@]}"; do
		level=${seeded% *}
		[ $level = O2 ] || run_subject "$name" $level 1 0 0
		for seed in ${FAULTLINE_SEEDS:-${seeded#* }}; do
			run_subject "$name" $level "$seed" 10 1
			line=$(sed -n 's/^wrong: .*:\([0-9]*\)$/\1/p;' "$TMPDIR/truth" | head -n 1)
			[ -n "$line" ] || fail "$name -$level $seed: nothing went wrong"
			jq -e --argjson line "$line" '.faults | any(.line == $line)' \
				"$TMPDIR/json" >/dev/null ||
				fail "$name -$level $seed: line $line is not in $(jq -c .faults "$TMPDIR/json")"
			n=$((n + 1))
		done
	done
done
[ $n -ge 20 ] || fail "only $n faults"
echo "$n of $n faults located"
