#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# faultline decode: its instructions and branches are those that `perf script` finds, its
# calls are those that the program counts and that the allocator's probes saw; filters
# leave out what they should, damage is shown and no failure.
. tests/lib.sh

need gojq
need_bpf
capture=$TMPDIR/capture
"${RECORD[@]}" -e heap -o "$capture" -- "$BUILD/tests/programs/rbtree" 2000 \
	>"$TMPDIR/printed" 2>"$TMPDIR/err" || fail "record: $(cat "$TMPDIR/err")"
[ "$(id -u)" = 0 ] || sudo -n chown -R "$(id -u)" "$capture"

# Before there is PT, one line says how to get some.
expect_status 2 "$FAULTLINE" decode "$capture"
expect_error "faultline encode"
expect_status 0 "$FAULTLINE" encode --psb=4K "$capture"
data=$capture/perf.data

# decode OPTIONS... - prints; what goes to stderr is in $TMPDIR/said.
decode() {
	"$FAULTLINE" decode "$@" 2>"$TMPDIR/said" || fail "decode $*: $(cat "$TMPDIR/said")"
}

# ---- the summary
want=$("$FAULTLINE" replay --json "$capture" | jq .instructions)
decode --json "$capture" >"$TMPDIR/summary"
jq -e ".instructions == $want and .gaps == 0 and (.threads | length) == 1 and
	.threads[0].name == \"rbtree\" and .threads[0].to > .threads[0].from" \
	"$TMPDIR/summary" >/dev/null || fail "summary, not of $want: $(cat "$TMPDIR/summary")"
decode "$capture" >"$TMPDIR/text"
grep -q "^$want instructions of 1 thread, no gap" "$TMPDIR/text" || fail "$(cat "$TMPDIR/text")"
decode "$data" | grep -q "^$want instructions of 1 thread, no gap" || fail "the bare file differs"
tid=$(jq '.threads[0].tid' "$TMPDIR/summary")

# ---- instructions and branches, against perf
decode --instructions "$capture" >"$TMPDIR/instructions"
[ "$(wc -l <"$TMPDIR/instructions")" = "$want" ] || fail "not $want lines"
decode --branches --json "$capture" >"$TMPDIR/branches"
judge=
# branches_as_perf CAPTURE - `decode --branches --json`, in $TMPDIR/branches, has perf's.
branches_as_perf() {
	perf script --symfs "$1/symfs" -i "$1/perf.data" --itrace=b -F ip,addr \
		2>"$TMPDIR/err" | awk '{ print $1, $3 }' >"$TMPDIR/perf"
	jq -r '(.from.ip // "0x0")[2:] + " " + (.to.ip // "0x0")[2:]' "$TMPDIR/branches" |
		cmp - "$TMPDIR/perf" || fail "perf script finds other branches in $1"
}
if command -v perf >/dev/null; then
	perf script --symfs "$capture/symfs" -i "$data" --itrace=i0ns -F ip 2>"$TMPDIR/err" |
		awk '{ print $1 }' >"$TMPDIR/perf"
	awk '{ sub(/^0*/, "", $3); print $3 }' "$TMPDIR/instructions" |
		cmp - "$TMPDIR/perf" || fail "perf script finds other instructions"
	branches_as_perf "$capture"
	judge="as perf script does"
fi
n_branches=$(wc -l <"$TMPDIR/branches")

# ---- calls: the program counts its rotations, and probes the allocator's calls
decode --calls --json "$capture" | jq -r 'select(.call != "return") | .to.symbol' \
	>"$TMPDIR/calls"
rotations=$(sed 's/.* \([0-9]*\) rotations.*/\1/' "$TMPDIR/printed")
[ "$rotations" -gt 0 ] || fail "no rotations: $(cat "$TMPDIR/printed")"
[ "$(grep -cx rotate "$TMPDIR/calls")" = "$rotations" ] ||
	fail "$(grep -cx rotate "$TMPDIR/calls") calls of rotate, not $rotations"
probed=$("$FAULTLINE" dump "$capture" | grep -c 'HEAP calloc(')
[ "$probed" -gt 0 ] || fail "no calloc was probed"
[ "$(grep -cx calloc "$TMPDIR/calls")" = "$probed" ] ||
	fail "$(grep -cx calloc "$TMPDIR/calls") calls of calloc, not $probed"
decode --calls --function rotate "$capture" >"$TMPDIR/text"
[ "$(grep -c ' rotate  <- main' "$TMPDIR/text")" = "$rotations" ] ||
	fail "--function rotate: $(head -n 3 "$TMPDIR/text")"

# ---- filters
decode --calls --function rotat "$capture" >"$TMPDIR/text"
[ ! -s "$TMPDIR/text" ] && grep -q "note: nothing .* function 'rotat'" "$TMPDIR/said" ||
	fail "a function that there is not: $(cat "$TMPDIR/said")"
inside=$(grep -c '  rotate' "$TMPDIR/instructions")
[ "$inside" -gt 0 ] || fail "no instruction of rotate"
decode --instructions --function rotate "$capture" >"$TMPDIR/text"
[ "$(wc -l <"$TMPDIR/text")" = "$inside" ] || fail "--function rotate is not $inside lines"
first=$(awk 'NR == 1 { print $2 }' "$TMPDIR/instructions")
next=$(awk -v t="$first" '$2 > t { print $2; exit }' "$TMPDIR/instructions")
[ -n "$next" ] || fail "all have one time"
before=$(decode --instructions --time ",$first" "$capture" | wc -l)
after=$(decode --instructions --time "$next," "$capture" | wc -l)
[ "$before" -gt 0 ] && [ "$after" -gt 0 ] && [ $((before + after)) = "$want" ] ||
	fail "--time: $before up to $first and $after from $next on are not $want"
[ "$(decode --json --time +0,+1000 "$capture" | jq .instructions)" = "$want" ] ||
	fail "--time from the beginning leaves something out"
[ "$(decode --json --thread "$tid" "$capture" | jq .instructions)" = "$want" ] ||
	fail "--thread $tid leaves something out"
expect_status 2 "$FAULTLINE" decode --thread 1 "$capture"
expect_error "no thread 1"
expect_status 2 "$FAULTLINE" decode --time 5 "$capture"
expect_error "FROM,TO"
for n in 1 2 5; do
	[ "$(decode --json --threads $n "$capture" | jq .instructions)" = "$want" ] ||
		fail "with $n threads it differs"
done

# ---- faults where control has just come to: how it came there is a branch of its own
faults=$TMPDIR/faults
"${RECORD[@]}" -o "$faults" -- "$BUILD/tests/programs/faults" 60 >/dev/null 2>"$TMPDIR/err" ||
	fail "record: $(cat "$TMPDIR/err")"
[ "$(id -u)" = 0 ] || sudo -n chown -R "$(id -u)" "$faults"
expect_status 0 "$FAULTLINE" encode "$faults"
decode --branches --json "$faults" >"$TMPDIR/branches"
jq -r 'select(.branch == "call") | .to.symbol' "$TMPDIR/branches" | grep -cx faulty |
	grep -qx 20 || fail "not 20 calls of faulty among the branches"
jq -r 'select(.branch == "interrupt") | .from.symbol' "$TMPDIR/branches" | grep -cx faulty |
	grep -qx 20 || fail "not 20 interruptions at the beginning of faulty"
decode --calls --json "$faults" | jq -r '.call + " " + (.to.symbol // "")' >"$TMPDIR/calls"
for call in 'call faulty 20' 'signal skip 60' 'signal faulty 0'; do
	[ "$(grep -cx "${call% *}" "$TMPDIR/calls")" = "${call##* }" ] ||
		fail "$(grep -cx "${call% *}" "$TMPDIR/calls") of $call"
done
[ -z "$judge" ] || branches_as_perf "$faults"

# ---- packets lie one behind the other, to the end
decode --packets --json "$capture" >"$TMPDIR/packets"
jq -es 'reduce .[] as $p (0; if $p.offset == . then . + $p.bytes else -1 end) > 10000' \
	"$TMPDIR/packets" >/dev/null || fail "packets do not follow from each other"
decode --packets "$capture" | head -n 1 | grep -q '^0000000000000000  psb$' ||
	fail "--packets does not begin with a PSB"

# ---- damage is shown; the rest is decoded
cp "$data" "$TMPDIR/damaged"
size=$(stat -c %s "$data")
for part in 3 5 7; do
	printf '\xff\xff\xff\xff\xff\xff\xff\xff' | dd of="$TMPDIR/damaged" bs=1 conv=notrunc \
		seek=$((size * part / 10)) status=none
done
decode --json "$TMPDIR/damaged" >"$TMPDIR/summary"
jq -e ".gaps > 0 and .gaps == ([.causes[].count] | add) and .instructions > $want / 4" \
	"$TMPDIR/summary" >/dev/null || fail "damaged: $(cat "$TMPDIR/summary")"
decode --instructions "$TMPDIR/damaged" | grep -q '\[gap: ' || fail "no gap among the lines"
head -c $((size / 2)) "$data" >"$TMPDIR/short"
decode --json "$TMPDIR/short" >"$TMPDIR/summary"
jq -e ".instructions > $want / 4 and .instructions < $want" "$TMPDIR/summary" >/dev/null ||
	fail "cut short: $(cat "$TMPDIR/summary")"

# ---- values are not in it
expect_status 2 "$FAULTLINE" replay "$data"
expect_error "perf.data.*faultline decode"
echo 'x 1' >"$TMPDIR/x.spec"
expect_status 2 "$FAULTLINE" analyze "$data" --spec "$TMPDIR/x.spec"
expect_status 2 "$FAULTLINE" decode /etc/passwd
expect_error "passwd"
echo "result: $want instructions, $n_branches branches $judge"
