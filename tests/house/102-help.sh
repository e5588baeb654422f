#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Every command: --help exits 0 and ends with three examples; a wrong option does not.
. tests/lib.sh

"$FAULTLINE" --help | sed -n "/^Commands:/,/^\$/s/^  \([a-z][a-z-]*\) .*/\1/p" >"$TMPDIR/commands"
[ -s "$TMPDIR/commands" ] || fail "no commands"
while read -r command; do
	expect_status 0 "$FAULTLINE" "$command" --help
	[ ! -s "$TMPDIR/err" ] || fail "$command --help prints on stderr"
	n=$(sed "1,/^ *[Ee]xamples:/d" "$TMPDIR/out" | grep -c "^ *\(sudo \)\?faultline $command")
	[ "$n" -ge 3 ] || fail "$command --help ends with $n examples: $(tail -n 6 "$TMPDIR/out")"
	"$FAULTLINE" "$command" --no-such-option >"$TMPDIR/out" 2>"$TMPDIR/err" &&
		fail "$command takes --no-such-option"
	grep -q "no-such-option" "$TMPDIR/err" || fail "the option is not named"
done <"$TMPDIR/commands"
expect_status 0 "$FAULTLINE" --version
expect_status 2 "$FAULTLINE"
expect_status 0 "$FAULTLINE" help
cmp "$TMPDIR/out" <("$FAULTLINE" --help) || fail "help and --help differ"
