#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Streams and exit status are the program's own; its death by a signal shows as a shell
# would show it; a directory in use is left alone.
. tests/lib.sh

need_bpf
record() {
	rm -rf "$TMPDIR/c"
	"${RECORD[@]}" -o "$TMPDIR/c" -- "$@"
}

expect_status 0 record sh -c 'exit 0'
expect_status 42 record sh -c 'echo out; echo err >&2; exit 42'
[ "$(cat "$TMPDIR/out")" = out ] || fail "stdout: $(cat "$TMPDIR/out")"
grep -qx err "$TMPDIR/err" || fail "stderr is lost"
expect_status 139 record sh -c 'kill -SEGV $$'
expect_status 137 record sh -c 'kill -KILL $$'
expect_status 130 record sh -c 'kill -INT $$'
grep -q '"end":[[:space:]]*"signal"' "$TMPDIR/c/manifest.json" || fail "end is not a signal"
grep -q '"end_value":[[:space:]]*2,' "$TMPDIR/c/manifest.json" || fail "not SIGINT"
[ "$(echo through | record cat 2>/dev/null)" = through ] || fail "stdin is lost"

# Stopped and continued like any other job.
if [ "$(id -u)" = 0 ]; then
	record sh -c 'echo $$ >"$0"; kill -STOP $$; echo went on' "$TMPDIR/pid" \
		>"$TMPDIR/out" 2>/dev/null &
	recorder=$!
	until_true [ -s "$TMPDIR/pid" ]
	until_true grep -q '^State:[[:space:]]*[tT]' "/proc/$(cat "$TMPDIR/pid")/status"
	sleep 0.2
	[ ! -s "$TMPDIR/out" ] || fail "SIGSTOP did not stop"
	# As often as it takes: traced, it may have rested without being stopped yet.
	until_true eval 'kill -CONT "$(cat "$TMPDIR/pid")"; grep -q "went on" "$TMPDIR/out"' ||
		fail "did not go on"
	wait $recorder || fail "status $? after SIGCONT"
fi

mkdir "$TMPDIR/used"
echo precious >"$TMPDIR/used/file"
expect_status 125 "${RECORD[@]}" -o "$TMPDIR/used" -- /bin/echo no
expect_error "not empty"
[ "$(ls "$TMPDIR/used")" = file ] || fail "the directory was changed"
grep -q no "$TMPDIR/out" && fail "the program ran"
mkdir "$TMPDIR/empty"
expect_status 0 "${RECORD[@]}" -o "$TMPDIR/empty" -- /bin/echo yes
looks_whole "$TMPDIR/empty" || fail "an empty directory was not used"
exit 0
