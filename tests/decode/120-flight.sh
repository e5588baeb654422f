#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# A crash without a beginning: of a capture that replays, `encode --flight` keeps what the
# flight recorder would have left. recover shows its last values, analyze finds the same
# faulty statements as in the replay, in an order of its own, and says which are inferred.
# time limit: 300
. "$SOURCE/tests/lib.sh"
need gojq
need_bpf
cd "$TMPDIR" || exit 1
spec=$SOURCE/examples/list/list.spec

# faults DIR - the faulty statements, a line each.
faults() {
	"$FAULTLINE" analyze --json "$1" --spec "$spec" >"$1.json"
	[ $? = 1 ] || fail "analyze of $1 did not find a violation"
	jq -r '.faults[] | "\(.file | split("/") | last):\(.line)"' "$1.json" | sort
}

for level in O0 O2; do
	"${RECORD[@]}" --end-core -e heap -o whole$level -- "$BUILD/examples/list-$level" \
		>/dev/null 2>record.err
	[ -e whole$level/end.core ] || fail "no end.core: $(cat record.err)"
	[ "$(id -u)" = 0 ] || sudo -n chown -R "$(id -u)" whole$level
	expect_status 0 "$FAULTLINE" encode --flight late$level whole$level
	[ ! -e late$level/start.core ] || fail "a flight recorder's capture has no start.core"
	want=$(faults whole$level)
	got=$(faults late$level)
	[ -n "$want" ] && [ "$got" = "$want" ] || fail "$level: statements differ:
replayed: $want
recovered: $got"
	jq -e '[.faults[] | has("inferred") | not] | all' whole$level.json >/dev/null ||
		fail "a replay infers nothing"
	jq -e '[.faults[].inferred] | all(type == "boolean")' late$level.json >/dev/null ||
		fail "analyze does not say which statements are inferred"
	expect_status 0 "$FAULTLINE" recover --last 5 late$level
	grep -q 'ended in list_unique (list.c:' out || fail "not at the crash: $(tail -n 5 out)"
	# The load that faulted is the last line: its address came from the one before.
	grep -Eq '^ +-1 +.* -> .*=[0-9a-f]+' out || fail "no value: $(cat out)"
	grep -Eq '^ +0 +.*\[.*r[a-z0-9]+=[0-9a-f]+' out || fail "not what faulted: $(cat out)"
	expect_status 0 "$FAULTLINE" recover --json --window 20000 --last 3 late$level
	jq -e '.window == 20000 and .gaps == 0 and (.instructions | length) == 3 and
		.allocator_calls > 0 and .registers.known > 0 and
		(.end | .place and .text and (.registers | length == 16))' out >/dev/null ||
		fail "recover --json says $(head -c 2000 out)"
done
grep -q inferred lateO0.json || fail "no member inferred"
"$FAULTLINE" analyze lateO0 --spec "$spec" >text
grep -q '(inferred)' text || fail "no statement is marked (inferred): $(cat text)"

# What store probes told makes more of it known.
"${RECORD[@]}" --end-core -e heap -e stores -o stores -- "$BUILD/examples/list-O2" \
	>/dev/null 2>record.err
[ "$(id -u)" = 0 ] || sudo -n chown -R "$(id -u)" stores
expect_status 0 "$FAULTLINE" encode --flight lateStores stores
expect_status 0 "$FAULTLINE" recover --json lateStores
hits=$(jq .store_probe_hits out) known=$(jq .registers.known out)
[ "$hits" -gt 10 ] || fail "recover found $hits hits of store probes"
expect_status 0 "$FAULTLINE" recover --json --no-store-events lateStores
jq -e '.store_probe_hits == 0' out >/dev/null || fail "--no-store-events uses some"
[ "$known" -gt "$(jq .registers.known out)" ] || fail "probes made nothing known"

# What cannot be recovered says why.
expect_status 2 "$FAULTLINE" replay lateO0
"${RECORD[@]}" -o plain -- true >/dev/null 2>record.err
[ "$(id -u)" = 0 ] || sudo -n chown -R "$(id -u)" plain
expect_status 2 "$FAULTLINE" recover plain
expect_error 'no end.core'
expect_status 2 "$FAULTLINE" encode --flight other plain
grep -q 'end.core' err || fail "encode --flight does not say what is missing: $(cat err)"
[ ! -e other ] || fail "encode --flight left something"
rm lateO0/perf.data
expect_status 2 "$FAULTLINE" recover lateO0
expect_error 'perf.data|PT'
exit 0
