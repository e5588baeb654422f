#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# What children write into memory that they share with the program is there again, when the
# program learns of it by a call or a signal. That it would not be otherwise is told.
. tests/lib.sh

need_bpf
shares=$BUILD/tests/programs/shares

# record_sharing OPTION WHAT - in $TMPDIR/c
record_sharing() {
	rm -rf "$TMPDIR/c"
	"${RECORD[@]}" $1 -o "$TMPDIR/c" -- "$shares" "$2" >"$TMPDIR/c.out" 2>"$TMPDIR/c.err" ||
		fail "record $1 of shares $2: $(cat "$TMPDIR/c.err")"
	[ -s "$TMPDIR/c.out" ] || fail "shares $2 printed nothing"
	[ "$(id -u)" = 0 ] || sudo -n chown -R "$(id -u)" "$TMPDIR/c"
}

for what in wait pipe signal kernel; do
	for option in "" -f; do
		record_sharing "$option" $what
		# With -f all of it is known (154).
		[ -n "$option" ] ||
			grep -q 'shares memory at 0x.* recorded at the program.s system calls, and not in between' \
				"$TMPDIR/c/manifest.json" || fail "$what: $(cat "$TMPDIR/c.err")"
		if [ -z "$option" ]; then
			replay_matches "$TMPDIR/c" >"$TMPDIR/log"
		else
			all_match "$TMPDIR/c"
		fi || fail "$what $option: $(cat "$TMPDIR/log")"
	done
done

# What is not looked at is told.
record_sharing "" large
grep -q 'a child shares memory at 0x.* not recorded"' "$TMPDIR/c/manifest.json" ||
	fail "large: $(cat "$TMPDIR/c.err")"
expect_status 1 "$FAULTLINE" replay "$TMPDIR/c"
record_sharing "" thread
grep -q 'what others write into shared memory is not recorded as long as the program has threads' \
	"$TMPDIR/c/manifest.json" || fail "thread: $(cat "$TMPDIR/c.err")"
