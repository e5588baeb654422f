# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Sourced by the tests of stores that are missing, behind lib.sh: the programs of stores/.

# capture NAME BUG OPTIMIZATION - record it, in $TMPDIR/c; its spec is in $TMPDIR/spec.
capture() {
	cc -g "$3" -DBUG="$2" -o "$TMPDIR/$1" "tests/faultlocate/stores/$1.c" ||
		fail "cannot compile $1"
	sed -n 's,^// spec: ,,p' "tests/faultlocate/stores/$1.c" >"$TMPDIR/spec"
	rm -rf "$TMPDIR/c"
	make_capture "$TMPDIR/c" "$TMPDIR/$1"
}

# line NAME WORD - where the source says it.
line() {
	grep -n "/\* $2 \*/" "tests/faultlocate/stores/$1.c" | head -n 1 | cut -d: -f1
}

# is JQ WHAT - of the last output.
is() {
	jq -e "$1" "$TMPDIR/out" >/dev/null ||
		fail "$2: not $1 in $(jq -c '[.faults[] | {because, line, missing}]' "$TMPDIR/out")"
}
