# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# gdb on captures; tests/lib.sh is sourced before. Commands are lines of stdin; what gdb says is in
# $TMPDIR/gdb. `# NAME' as a command marks a place in it.

# gdb_on CAPTURE [OPTION...] - run the commands of stdin.
gdb_on() {
	sed 's/^# \(.*\)/echo \\n# \1\\n/' >"$TMPDIR/commands.gdb"
	"$FAULTLINE" debug "$@" -- -nx -batch -x "$TMPDIR/commands.gdb" >"$TMPDIR/gdb" 2>&1 </dev/null
}

# says MARK PATTERN... - between `# MARK' and the next mark each extended regular expression is
# matched by a line, in this order.
says() {
	local mark=$1 pattern text at
	shift
	text=$(sed -n "/^# $mark\$/,/^# /p" "$TMPDIR/gdb" | sed 1d)
	for pattern; do
		at=$(grep -nEm 1 -- "$pattern" <<<"$text" | cut -d: -f1)
		[ -n "$at" ] || fail "after '$mark' nothing says '$pattern': $(cat "$TMPDIR/gdb")"
		text=$(tail -n +$((at + 1)) <<<"$text")
	done
}

# line_of MARK - the number of the line of debugged.c with this comment.
line_of() {
	grep -n "/\* $1 \*/" "$SOURCE/tests/programs/debugged.c" | cut -d: -f1
}
