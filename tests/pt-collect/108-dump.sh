#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# dump --json has every event that dump prints, one object a line; --thread and --kind
# leave out the others.
. tests/lib.sh

need gojq
need_bpf
"${RECORD[@]}" -o "$TMPDIR/c" -- "$BUILD/tests/programs/inputs" thread <<<7 \
	>"$TMPDIR/out" 2>"$TMPDIR/err" || fail "record: $(cat "$TMPDIR/err")"
dump() {
	"$FAULTLINE" dump "$@" "$TMPDIR/c" || fail "dump $*"
}

dump >"$TMPDIR/text"
dump --json >"$TMPDIR/json"
n=$(grep -cE '^[0-9]+ [0-9]+ [A-Z]' "$TMPDIR/text")
[ "$(jq -s length "$TMPDIR/json")" = "$n" ] || fail "$n events, not as many objects"
[ "$(wc -l <"$TMPDIR/json")" = "$n" ] || fail "not one object a line"
jq -se 'map(.event) == [range(length)]' "$TMPDIR/json" >/dev/null || fail "not in order"

# The read of the 7, in full.
dump --json --memory --registers --kind syscall | jq -se '
	map(select(.name == "read" and .arguments[0] == "0x0")) | length == 1 and
	(.[0] | .number == 0 and .result == 2 and .writes[0].bytes == 2 and
	 .writes[0].data == "370a" and .writes[0].address == .arguments[1] and
	 .registers.rdi == "0x0" and .registers.rsi == .arguments[1] and
	 (.unlisted | not))' >/dev/null || fail "the read is not as it was"

# Kinds.
for kind in syscall tsc exit; do
	want=$(grep "\"kind\":\"$kind\"" "$TMPDIR/json")
	[ -n "$want" ] || fail "no $kind"
	[ "$(dump --json --kind "$kind")" = "$want" ] || fail "--kind $kind"
done
[ "$(dump -k tsc,exit | wc -l)" = "$(grep -cE '^[0-9]+ [0-9]+ (TSC|EXIT) ' "$TMPDIR/text")" ] ||
	fail "two kinds"

# Threads: the second one read it.
second=$(jq -s 'map(select(.name == "read" and .arguments[0] == "0x0"))[0].thread' \
	"$TMPDIR/json")
[ "$second" != "$(jq -s '.[0].thread' "$TMPDIR/json")" ] || fail "one thread only"
dump --json --thread "$second" |
	jq -se "length > 1 and all(.thread == $second or .next == $second)" >/dev/null ||
	fail "--thread $second"
[ -z "$(dump --thread 1)" ] || fail "there is no thread 1"

expect_status 2 "$FAULTLINE" dump --kind nonsense "$TMPDIR/c"
expect_status 2 "$FAULTLINE" dump --thread x "$TMPDIR/c"

# The clock is asked for one in 16 usual calls that follow each other closely: each is 1 ns later than
# the one before. Only behind what we have done meanwhile have some the same time. It never goes back.
expect_status 0 "${RECORD[@]}" -o "$TMPDIR/many" -- "$BUILD/tests/programs/pressure" calls 3000
"$FAULTLINE" dump --json "$TMPDIR/many" | jq -se 'map(.at_ns | tonumber) as $t |
	[range(1; $t | length) | $t[.] - $t[. - 1]] as $later |
	($later | map(select(. < 0)) | length) == 0 and
	($later | map(select(. == 1)) | length) > 2000 and
	(reduce $later[] as $d ([0, 0]; (if $d == 1 then .[0] + 1 else 0 end) as $n | [$n, ([.[1], $n] | max)]) |
		.[1] <= 15)' >/dev/null ||
	fail "times: $("$FAULTLINE" dump --json "$TMPDIR/many" | jq -s '[.[].at_ns] | .[1000:1040]')"

# So the most uniform of loops, too, is no more events than a log of its size may have.
expect_status 0 "${RECORD[@]}" -o "$TMPDIR/alike" -- "$BUILD/tests/programs/pressure" alike 700000
expect_status 0 "$FAULTLINE" replay "$TMPDIR/alike"
