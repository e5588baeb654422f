#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Replay checked by PT: a capture with PT of its own run agrees with it branch by branch; a
# forged bit is a divergence, or damage that is skipped and told.
. tests/lib.sh

need gojq
need_bpf
c=$TMPDIR/capture
make_capture "$c" sort -r /usr/share/common-licenses/GPL-3
expect_status 0 "$FAULTLINE" replay "$c"
grep -q PT: "$TMPDIR/out" && fail "PT without PT: $(cat "$TMPDIR/out")"
expect_status 0 "$FAULTLINE" encode "$c"
expect_status 0 "$FAULTLINE" replay "$c"
grep -Eq '^PT: [0-9]{5,} branches of 1 thread compared$' "$TMPDIR/out" ||
	fail "not compared: $(cat "$TMPDIR/out")"
expect_status 0 "$FAULTLINE" replay --no-pt "$c"
grep -q PT: "$TMPDIR/out" && fail "--no-pt compares"

# Threads, and as JSON.
t=$TMPDIR/threads
make_capture "$t" "$BUILD/tests/programs/crowd" fill
expect_status 0 "$FAULTLINE" encode "$t"
expect_status 0 "$FAULTLINE" replay --json "$t"
grep -q '"pt":{"threads":4,"branches":[0-9]*,"instructions":[0-9]*,"gaps":0,"lost":0,"skipped":0,' \
	"$TMPDIR/out" || fail "$(cat "$TMPDIR/out")"
# A memset or memcpy that was interrupted in its middle is one instruction for all of them.
want=$("$FAULTLINE" decode --json "$t" | jq .instructions)
[ "$(jq -c '[.instructions, .pt.instructions]' "$TMPDIR/out")" = "[$want,$want]" ] ||
	fail "not $want instructions, as decoded: $(cat "$TMPDIR/out")"

# PT that cannot be read keeps nobody from replaying.
cp "$t/perf.data" "$TMPDIR/sound"
head -c 60 "$TMPDIR/sound" >"$t/perf.data"
expect_status 0 "$FAULTLINE" replay "$t"
grep -q 'all matched' "$TMPDIR/out" || fail "$(cat "$TMPDIR/out")"
grep -q '^faultline: note: not compared with Intel PT: ' "$TMPDIR/err" ||
	fail "no note: $(cat "$TMPDIR/err")"

# One bit at a time, from the first packets' end to the last ones.
cp "$c/perf.data" "$TMPDIR/sound"
size=$(stat -c %s "$TMPDIR/sound")
parted=0 skipped=0
for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
	at=$((size * i / 14))
	cp "$TMPDIR/sound" "$c/perf.data"
	byte=$(od -A n -t u1 -j $at -N 1 "$c/perf.data")
	# shellcheck disable=SC2059
	printf "\\x$(printf %x $((byte ^ 4)))" |
		dd of="$c/perf.data" bs=1 seek=$at conv=notrunc status=none
	status=0
	"$FAULTLINE" replay "$c" >"$TMPDIR/out" 2>"$TMPDIR/err" || status=$?
	case $status in
	0) grep -q 'not compared' "$TMPDIR/out" && skipped=$((skipped + 1)) ;;
	1)
		grep -q '^diverged: thread .*PT says that the program went to' "$TMPDIR/out" ||
			fail "$(cat "$TMPDIR/out")"
		parted=$((parted + 1))
		;;
	*) fail "exit status $status: $(cat "$TMPDIR/err")" ;;
	esac
done
[ $parted -gt 0 ] || fail "no forged bit is a divergence"
echo "result: of 12 forged bits $parted diverge, $skipped are gaps"
