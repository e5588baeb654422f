#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# A program that a signal ended is told of in a line, as a shell does it, with its process id; after
# a crash with what finds the cause. The summary stays the last line.
. tests/lib.sh

need_bpf
told() { # status, command...
	local status=$1
	shift
	rm -rf "$TMPDIR/c"
	expect_status "$status" "${RECORD[@]}" -o "$TMPDIR/c" -- "$@"
	[ "$(id -u)" = 0 ] || sudo -n chown -R "$(id -u)" "$TMPDIR/c"
	tail -n 1 "$TMPDIR/err" | grep -q '^faultline: recorded .*complete$' || fail "$(cat "$TMPDIR/err")"
	pid=$(sed -n 's/.*"pid":[[:space:]]*\([0-9]*\),.*/\1/p' "$TMPDIR/c/manifest.json" | head -n 1)
}
list=$BUILD/examples/list-O2
told 139 "$list"
grep -qxF "faultline: $list (pid $pid) was killed by SIGSEGV (Segmentation fault); for the cause: faultline analyze $TMPDIR/c" \
	"$TMPDIR/err" || fail "SIGSEGV: $(cat "$TMPDIR/err")"
command=$(sed -n 's/.*for the cause: faultline //p' "$TMPDIR/err")
# shellcheck disable=SC2086 # a command line
expect_status 1 "$FAULTLINE" $command
told 137 sh -c 'kill -KILL $$'
grep -qxF "faultline: sh (pid $pid) was killed by SIGKILL (Killed)" "$TMPDIR/err" ||
	fail "SIGKILL: $(cat "$TMPDIR/err")"
# A shell is silent of these, too.
told 130 sh -c 'kill -INT $$'
! grep -q 'killed by' "$TMPDIR/err" || fail "SIGINT: $(cat "$TMPDIR/err")"
told 3 sh -c 'exit 3'
! grep -q 'killed by' "$TMPDIR/err" || fail "$(cat "$TMPDIR/err")"
exit 0
