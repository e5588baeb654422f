#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# The program that breaks its heap was started by a script: analyze finds the statement in the
# capture of the followed process, and says that there is more than the script itself.
. tests/lib.sh

spec=examples/quad/quad.spec
line=$(grep -n '/\* BUG \*/' examples/quad/quad.c | cut -d: -f1)
make_followed "$TMPDIR/c" sh -c "true; '$BUILD/examples/quad-O2'; :"
number=$(processes "$TMPDIR/c" | awk '/quad-O2$/ { n = $1 } END { print n }')
pid=$(processes "$TMPDIR/c" | awk '/quad-O2$/ { n = $2 } END { print n }')
for which in "$number" "$pid"; do
	expect_status 1 "$FAULTLINE" analyze --process "$which" --spec "$spec" "$TMPDIR/c"
	grep -Eq "quad.c:$line in split" "$TMPDIR/out" || fail "$(cat "$TMPDIR/out")"
	[ -s "$TMPDIR/err" ] && fail "talk on stderr: $(cat "$TMPDIR/err")"
done
"$FAULTLINE" analyze --spec "$spec" "$TMPDIR/c" >"$TMPDIR/out" 2>"$TMPDIR/err"
grep -q "note: the capture holds 1 more process" "$TMPDIR/err" ||
	fail "nothing says that there is another process: $(cat "$TMPDIR/err")"
exit 0
