#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# A program is left (-p, or with -f at Ctrl-C) while it computes without making calls: its replay ends at
# the same instruction. Nothing told it how far the program came, and it computed for ever.
. tests/lib.sh

need_bpf
traces=$BUILD/tests/programs/traces

# It ends, each time at the same instruction, behind some work; and says that it was left.
ends() { # what
	[ "$(id -u)" = 0 ] || sudo -n chown -R "$(id -u)" "$TMPDIR/c"
	for i in 1 2; do
		timeout -k 5 100 "$FAULTLINE" replay "$TMPDIR/c" >"$TMPDIR/out.$i" 2>"$TMPDIR/err" ||
			fail "$1: replay ended with $?: $(cat "$TMPDIR/out.$i" "$TMPDIR/err")"
		grep -q 'the program went on (at the instruction where it was left' "$TMPDIR/err" ||
			fail "$1: $(cat "$TMPDIR/out.$i" "$TMPDIR/err")"
	done
	cmp "$TMPDIR/out.1" "$TMPDIR/out.2" || fail "$1: it ends elsewhere"
	n=$(grep -o '[0-9]* instructions' "$TMPDIR/out.2" | tail -n 1)
	n=${n% *}
	[ "$n" -gt 100000 ] || fail "$1: $n instructions"
}
"$traces" compute &
pid=$!
sleep 0.2
got=0
"${RECORD[@]}" -p $pid --duration 0.2 -o "$TMPDIR/c" 2>"$TMPDIR/log" || got=$?
kill $pid
[ $got = 0 ] || fail "record -p: $(cat "$TMPDIR/log")"
ends threads

rm -rf "$TMPDIR/c"
timeout -s INT -k 5 --foreground 2 "${RECORD[@]}" -f -o "$TMPDIR/c" -- \
	sh -c 'sh -c "echo \$\$ >$0; while :; do :; done" $0 & exit 0' "$TMPDIR/pid" >"$TMPDIR/log" 2>&1
kill "$(cat "$TMPDIR/pid")" || fail "it did not run on: $(cat "$TMPDIR/log")"
ends followed
exit 0
