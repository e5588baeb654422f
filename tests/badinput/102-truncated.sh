#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Captures cut short or with damaged bytes: one message, status 2, never "all matched".
. tests/lib.sh

make_capture "$TMPDIR/good" "$BUILD/tests/programs/rbtree" 3000
replay_matches "$TMPDIR/good"

# damaged NAME - a fresh copy to damage, in $TMPDIR/bad.
damaged() {
	echo "$1"
	rm -rf "$TMPDIR/bad"
	cp -r "$TMPDIR/good" "$TMPDIR/bad"
}

expect_refused() {
	expect_status 2 "$FAULTLINE" replay "$TMPDIR/bad"
	expect_error "${1:-bad}"
	grep -q "all matched" "$TMPDIR/out" && fail "says all matched"
	expect_status 2 "$FAULTLINE" replay --json "$TMPDIR/bad"
	grep -Eq "\"matched\":[[:space:]]*true" "$TMPDIR/out" && fail "JSON says matched"
	true
}

for file in events.flt start.core manifest.json; do
	size=$(stat -c %s "$TMPDIR/good/$file")
	for keep in 0 1 7 $((size / 2)) $((size - 1)); do
		damaged "$file cut to $keep of $size bytes"
		truncate -s "$keep" "$TMPDIR/bad/$file"
		expect_refused
	done
	[ $file = manifest.json ] && continue
	damaged "$file missing"
	rm "$TMPDIR/bad/$file"
	expect_refused
done

damaged "a byte of events.flt changed"
size=$(stat -c %s "$TMPDIR/good/events.flt")
at=$((size * 2 / 3))
old=$(od -An -tu1 -j $at -N 1 "$TMPDIR/good/events.flt")
printf "\\x$(printf %02x $((old ^ 64)))" |
	dd of="$TMPDIR/bad/events.flt" bs=1 seek=$at conv=notrunc status=none
expect_refused

damaged "a mapped file missing"
rm "$TMPDIR/bad/files/"*
expect_refused
