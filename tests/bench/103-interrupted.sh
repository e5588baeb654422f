#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# A file that cannot be written is told before anything is measured; a bench that is stopped
# leaves nothing behind.
. "$SOURCE/tests/lib.sh"

need_bpf
[ "$(id -u)" = 0 ] || skip "recording needs root"

expect_status 2 "$FAULTLINE" bench locate --json "$TMPDIR/missing/results.json"
[ ! -s "$TMPDIR/out" ] || fail "it measured: $(cat "$TMPDIR/out")"

# left PATTERN: is there something?
left() {
	compgen -G "$TMPDIR/faultline-bench.*$1" >/dev/null
}

for signal in INT TERM KILL; do
	set -m # else Ctrl-C is ignored in the background
	"$FAULTLINE" bench locate --specs "$SOURCE/specs" >"$TMPDIR/out" 2>&1 &
	bench=$!
	set +m
	until left "/*"; do
		kill -0 $bench || fail "it ended: $(cat "$TMPDIR/out")"
		sleep 0.05
	done
	kill -$signal -- -$bench
	wait $bench
	for ((i = 0; i < 600; i++)); do
		left "" || break
		sleep 0.1
	done
	! left "" || fail "$signal: left behind: $(ls "$TMPDIR")"
done
exit 0
