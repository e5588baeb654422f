# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# The test of one example program; source it, then call check_example.
. tests/lib.sh
need gojq cc

# analyzed STATUS CAPTURE SPEC - analyze it, expecting that exit status; JSON in $out.
analyzed() {
	local want=$1 capture=$2 spec=$3 got=0
	out=$capture.json
	"$FAULTLINE" analyze "$capture" --spec "$spec" --json >"$out" 2>"$capture.err" || got=$?
	[ $got = "$want" ] || {
		cat "$capture.err"
		jq -c . "$out" || cat "$out"
		fail "analyze exited with $got, not $want: $capture"
	}
	[ "$(jq .version "$out")" = 1 ] || fail "not version 1: $(cat "$out")"
	[ "$(jq .capture.complete "$out")" = true ] || fail "not complete: $(cat "$out")"
}

# check_example NAME MAX_FAULTS STATUS CONSTRAINT - record examples/NAME at -O0 and -O2: it
# ends with exit status STATUS, CONSTRAINT is violated, and the line marked BUG is among at
# most MAX_FAULTS faulty statements. Its corrected twin ends with 0 and violates nothing.
check_example() {
	local name=$1 max=$2 status=$3 constraint=$4 level line capture
	local source=examples/$name/$name.c spec=examples/$name/$name.spec
	line=$(grep -n '/\* BUG \*/' "$source" | cut -d: -f1)
	[ "$(echo "$line" | wc -w)" = 1 ] || fail "not exactly one line marked BUG in $source"
	for level in O0 O2; do
		capture=$TMPDIR/$level
		want_status=$status make_capture "$capture" "$BUILD/examples/$name-$level"
		analyzed 1 "$capture" "$spec"
		echo "$name -$level:"
		jq -r '.faults[] | "\t\(.file):\(.line) in \(.function), \(.instances) times"' "$out"
		jq -e --arg c "$constraint" '.violations | any(.constraint == $c)' "$out" \
			>/dev/null || fail "-$level: $constraint is not violated: $(cat "$out")"
		jq -e --arg file "/$name.c" --argjson line "$line" \
			'.faults | any(("/" + .file | endswith($file)) and .line == $line)' \
			"$out" >/dev/null ||
			fail "-$level: line $line is not among the faulty statements"
		jq -e --argjson max "$max" '(.faults | length) <= $max' "$out" >/dev/null ||
			fail "-$level: more than $max faulty statements"

		cc -std=gnu11 -D_GNU_SOURCE -g "-$level" -DFIXED -o "$TMPDIR/fixed-$level" \
			"$source" || fail "cannot compile $source"
		make_capture "$capture-fixed" "$TMPDIR/fixed-$level"
		analyzed 0 "$capture-fixed" "$spec"
		jq -e '.violations == [] and .faults == []' "$out" >/dev/null ||
			fail "-$level, corrected: $(cat "$out")"
	done
}
