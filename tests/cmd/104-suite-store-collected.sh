#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# A store is collected again and again beside a suite that is being recorded into it: what a capture has
# is not lost, and what was put there again is whole.
. tests/lib.sh

need_bpf
SUITE=("${RECORD[@]:0:${#RECORD[@]}-1}" suite)
cd "$TMPDIR" || exit 1
for i in $(seq 5); do
	echo "{\"name\": \"t$i\", \"args\": [\"$i\"], \"status\": 0}"
done >tests.jsonl
expect_status 0 "${SUITE[@]}" record --store store --tests tests.jsonl -o old -- /bin/echo
"${SUITE[@]}" record --store store --tests tests.jsonl -o s -- /bin/echo >out 2>err &
recorder=$!
n=0
while kill -0 $recorder 2>/dev/null; do
	# Files become nobody's meanwhile, too.
	rm -rf "old/tests/t$((n + 1))"
	"$FAULTLINE" suite store --collect store >collected 2>&1 || fail "$(cat collected)"
	n=$((n + 1))
done
wait $recorder || fail "$(cat err)"
[ ! -s err ] || fail "not all is shared: $(cat err)"
[ $n -ge 2 ] || fail "collected $n times only"
whole() { # suite: each of its captures is, and none has a start state of its own
	local capture
	for capture in $1/tests/*/capture; do
		expect_status 0 "$FAULTLINE" replay "$capture"
		[ -z "$(ls -d "$capture"/files/.shared* 2>/dev/null)" ] && [ ! -e "$capture/start.core" ] ||
			fail "$capture has its own: $(find "$capture")"
	done
}
whole s
# What somebody has was never collected: so all have the same.
for file in s/tests/t1/capture/files/*.zst; do
	[ "$(stat -c %i s/tests/*/capture/files/"${file##*/}" | sort -u | wc -l)" = 1 ] || fail "$file is there more than once"
done
expect_status 0 "$FAULTLINE" suite store store

# Collected at any instant.
mkdir -m 700 empty
"${SUITE[@]}" record --store empty --tests tests.jsonl -o e -- /bin/echo >out 2>err &
recorder=$!
while kill -0 $recorder 2>/dev/null; do
	rm -f empty/*
done
wait $recorder || fail "$(cat err)"
[ ! -s err ] || fail "not all is shared: $(cat err)"
whole e
echo "result: collected $n times beside 5 recordings"
