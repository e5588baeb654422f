#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
# time limit: 300
#
# Captures of which one member is spoilt, opened by whole commands: each ends by itself, with a
# status of its own, and says why in one line when it could not. FAULTLINE_MUTATIONS=N tries N (4) of
# each capture, others in each run; FAULTLINE_SEED=N begins there.
. tests/lib.sh

need_bpf
"${RECORD[@]}" --end-core -e heap -o "$TMPDIR/replay" -- "$BUILD/examples/list-O2" \
	>/dev/null 2>"$TMPDIR/err"
[ "$(id -u)" = 0 ] || sudo -n chown -R "$(id -u)" "$TMPDIR/replay"
expect_status 0 "$FAULTLINE" encode --flight "$TMPDIR/flight" "$TMPDIR/replay"
expect_status 0 "$FAULTLINE" encode "$TMPDIR/replay"

# ends COMMAND... - on the spoilt one.
ends() {
	local got=0
	timeout 60 "$FAULTLINE" "$@" "$TMPDIR/bad" >"$TMPDIR/out" 2>"$TMPDIR/err" </dev/null ||
		got=$?
	[ $got -le 2 ] || fail "seed $seed of $kind: status $got of $*: $(tail -n 5 "$TMPDIR/err")"
	[ $got -lt 2 ] || expect_error .
	n_refused=$((n_refused + (got == 2)))
}

n_refused=0 n_spoilt=0
seed=${FAULTLINE_SEED:-$RANDOM}
end=$((seed + ${FAULTLINE_MUTATIONS:-4}))
for ((; seed < end; seed++)); do
	for kind in replay flight; do
		rm -rf "$TMPDIR/bad"
		cp -r "$TMPDIR/$kind" "$TMPDIR/bad"
		"$BUILD/tests/capture/tool_mutate" "$TMPDIR/bad" $seed || fail "cannot spoil"
		diff -rq "$TMPDIR/$kind" "$TMPDIR/bad" >/dev/null || n_spoilt=$((n_spoilt + 1))
		if [ $kind = replay ]; then
			ends replay
			ends analyze --accesses
			ends decode
		else
			ends recover
		fi
		ends dump
	done
done
[ $n_spoilt -gt 0 ] || fail "nothing was spoilt"
echo "result: $n_spoilt spoilt, $n_refused commands refused them"
