# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Of $program, made from $source, whose every form ends otherwise.
# shellcheck shell=bash disable=SC2154

# line MARK FORM - where the source has this comment.
line() {
	grep -n "/\* $1 $2[ :]" "$source" | cut -d: -f1
}

# record FORM... - all of them, each a process of its own; analyze FORM OPTION... - one of them.
record() {
	rm -rf "$TMPDIR/c"
	make_followed "$TMPDIR/c" sh -c "for f; do '$program' \$f; done; true" sh "$@"
	processes "$TMPDIR/c" >"$TMPDIR/processes"
}
analyze() {
	local number
	number=$(awk -v form="$1" '$NF == form { print $1 }' "$TMPDIR/processes")
	shift
	expect_status 1 "$FAULTLINE" analyze --process "$number" "$@" "$TMPDIR/c"
}
