#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# The kernel numbers segments, memory and the files of each filesystem each for themselves: what has the same number is
# not the same.
. tests/lib.sh

need_bpf
[ "$(id -u)" = 0 ] && unshare --mount --ipc true 2>/dev/null || {
	echo "needs root: a mount of its own"
	exit 77
}
mkdir "$TMPDIR/mount"
got=0
unshare --mount --ipc bash -c '
	mount -t tmpfs none "$1" || exit 77
	shift
	exec "$@"
' - "$TMPDIR/mount" "${RECORD[@]}" -o "$TMPDIR/c" -- "$BUILD/tests/programs/numbered" "$TMPDIR/mount" \
	>"$TMPDIR/c.out" 2>"$TMPDIR/err" || got=$?
[ $got = 77 ] && {
	echo "no file has a segment's number here"
	exit 77
}
[ $got = 0 ] || fail "$got: $(cat "$TMPDIR/err")"
grep -q '^sf$' "$TMPDIR/c.out" || fail "printed: $(cat "$TMPDIR/c.out")"
replay_matches "$TMPDIR/c"
