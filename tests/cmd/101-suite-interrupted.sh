#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# faultline suite record, interrupted and killed: what was recorded is kept, there is no
# suite.json, nothing runs on, and the same command goes on.
. tests/lib.sh

need gojq
need_bpf
[ "$(id -u)" = 0 ] || skip "needs root: signals go to sudo"
cd "$TMPDIR" || exit 1
cat >prog <<'END'
#!/bin/sh
echo "$1" >>ran
case $1 in
slow) while [ ! -e may-end ]; do sleep 0.1; done ;;
esac
echo "$1"
END
chmod +x prog
for i in 1 2 3; do
	echo "quick$i" >"out$i"
	echo "{\"name\": \"quick$i\", \"args\": [\"quick$i\"], \"expected\": \"out$i\"}"
done >tests.jsonl
echo '{"name": "slow", "args": ["slow"], "status": 0}' >>tests.jsonl
for i in 4 5; do
	echo "{\"name\": \"quick$i\", \"args\": [\"quick$i\"], \"status\": 0}"
done >>tests.jsonl

again() {
	fresh
	"$FAULTLINE" suite record --tests tests.jsonl -j 1 -o s -- ./prog >out 2>err &
	suite=$!
}
for signal in INT TERM; do
	again
	until_true grep -qs slow ran || fail "it does not get there: $(cat err)"
	kill -$signal $suite
	wait $suite
	[ $? = 2 ] || fail "status: $(cat err)"
	expect_error 'interrupted'
	[ ! -s out ] && [ ! -e s/suite.json ] || fail "it says that it is done: $(cat out)"
	[ ! -e s/tests/slow ] || fail "what was interrupted is kept: $(ls s/tests/slow)"
	looks_whole s/tests/quick3/capture || fail "quick3 is not kept"
	expect_status 2 "$FAULTLINE" suite list s
	expect_error 'not a finished suite'
	[ "$(grep -c . ran)" = 4 ] || fail "ran: $(cat ran)"
	sed -i /slow/d ran
done

# Another one at the same time; then a capture that was not finished.
again
until_true grep -qs slow ran || fail "it does not get there: $(cat err)"
expect_status 2 "$FAULTLINE" suite record --tests tests.jsonl -o s -- ./prog
expect_error 'another faultline'
kill -KILL $suite
wait $suite 2>/dev/null
touch may-end
until_true looks_whole s/tests/slow/capture || fail "its recorder did not go on"
rm s/tests/quick2/capture/manifest.json

# What is expected may be changed meanwhile, and tests be added.
echo other >out1
echo '{"name": "last", "args": ["last"], "status": 0}' >>tests.jsonl
expect_status 1 "$FAULTLINE" suite record --tests tests.jsonl -o s -- ./prog
grep -qx '7 tests: 6 passed, 1 failed, 0 unknown; 0 could not be recorded; in s (3 recorded before)' \
	"$TMPDIR/out" || fail "$(cat "$TMPDIR/out" "$TMPDIR/err")"
printf '%s\n' quick1 quick2 quick3 slow quick2 quick4 quick5 last | sort >want
sort ran | diff want - || fail "ran: $(cat ran)"
jq -e '[.tests[] | select(.outcome == "failed").name] == ["quick1"]' s/suite.json >is ||
	fail "$(cat s/suite.json)"
for dir in s/tests/*; do
	expect_status 0 "$FAULTLINE" replay "$dir/capture"
done

# All done: nothing runs.
expect_status 1 "$FAULTLINE" suite record --tests tests.jsonl -o s -- ./prog
grep -q '(7 recorded before)' "$TMPDIR/out" || fail "$(cat "$TMPDIR/out")"
sort ran | diff want - || fail "ran again: $(cat ran)"
