#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# A thread that has ended before the call that made it returned is not taken for the next one with its number.
. tests/lib.sh

need_bpf
program=$BUILD/tests/programs/again
"$program" >/dev/null || skip "numbers of threads cannot be chosen here"

# Threads that end before their call returns, of which another gets the number later.
late() {
	"$FAULTLINE" dump "$1" | awk '
		$3 == "EXIT" { ended[$2] = 1 }
		/SYSCALL clone/ && / = 0 / { delete ended[$2]; again += late[$2] == 1; late[$2] = 0 }
		/SYSCALL clone/ && match($0, / = [0-9]+/) { tid = substr($0, RSTART + 3, RLENGTH - 3) + 0; if (tid in ended) late[tid] = 1 }
		END { print again + 0 }'
}

for try in 1 2 3 4 5 6 7 8; do
	rm -rf "$TMPDIR/c"
	"${RECORD[@]}" -o "$TMPDIR/c" -- "$program" >"$TMPDIR/c.out" 2>"$TMPDIR/c.err"
	got=$?
	[ $got = 0 ] || [ $got = 77 ] || fail "$(cat "$TMPDIR/c.err")"
	[ $EUID = 0 ] || sudo -n chown -R "$(id -u)" "$TMPDIR/c"
	n=$(late "$TMPDIR/c")
	replay_matches "$TMPDIR/c"
	[ "$n" = 0 ] || exit 0
done
skip "no thread ended before the call that made it"
