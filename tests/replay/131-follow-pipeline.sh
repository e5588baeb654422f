#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Shell scripts: pipelines, subshells, command substitution, exec. Every process replays, and
# the last one of a pipeline prints again what it printed.
. tests/lib.sh

seq 4000 >"$TMPDIR/random"
script="seq 1000 | sort -R --random-source='$TMPDIR/random' | uniq | tail -n 3
x=\$(echo sub | tr a-z A-Z); (exit 3) || echo \"\$x \$?\"
{ cat /etc/passwd | wc -l; } >/dev/null
exec expr 6 \\* 7"
sh -c "$script" >"$TMPDIR/want"
[ "$(wc -l <"$TMPDIR/want")" = 5 ] || fail "the script does not work: $(cat "$TMPDIR/want")"
for shell in dash bash; do
	command -v $shell >/dev/null || continue
	make_followed "$TMPDIR/$shell" $shell -c "$script"
	cmp "$TMPDIR/want" "$TMPDIR/$shell.out" || fail "$shell ran differently"
	all_match "$TMPDIR/$shell"
	for program in seq sort uniq tail tr cat wc; do
		processes "$TMPDIR/$shell" | grep -Eq "exit 0 +$program( |\$)" ||
			fail "$program was not followed: $(processes "$TMPDIR/$shell")"
	done
	processes "$TMPDIR/$shell" | grep -q "exit 3 " || fail "the subshell was not followed"
	tail=$(processes "$TMPDIR/$shell" | awk '/ tail / { print $1 }')
	"$FAULTLINE" replay --process "$tail" --stdout "$TMPDIR/$shell" 2>/dev/null |
		cmp - <(head -n 3 "$TMPDIR/want") || fail "tail prints something else"
	# What the shell became at last is what the capture is of.
	"$FAULTLINE" replay --stdout "$TMPDIR/$shell" 2>/dev/null | grep -qx 42 ||
		fail "the exec at the end"
done
