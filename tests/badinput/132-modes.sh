#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Who may not read a capture may not read what is made from it, also over an older file that
# anybody may read; and of a capture that all may read, all may read the picture.
. tests/lib.sh

need dot
umask 022
make_capture "$TMPDIR/c" "$BUILD/tests/programs/rbtree" 300

# modes WANT - of each kind of output.
modes() {
	local how
	for how in "graph --svg" "graph --html" "analyze --accesses --svg"; do
		: >"$TMPDIR/out.file"
		"$FAULTLINE" $how "$TMPDIR/out.file" "$TMPDIR/c" >/dev/null 2>"$TMPDIR/err" ||
			fail "$how: $(cat "$TMPDIR/err")"
		[ -s "$TMPDIR/out.file" ] || fail "$how wrote nothing"
		[ "$(stat -c %a "$TMPDIR/out.file")" = "$1" ] ||
			fail "$how: mode $(stat -c %a "$TMPDIR/out.file"), not $1"
	done
}

modes 600
chmod 644 "$TMPDIR/c/events.flt" # in a directory that is still closed
modes 600
chmod 750 "$TMPDIR/c"
modes 640
chmod 755 "$TMPDIR/c"
modes 644
umask 077
modes 600
exit 0
