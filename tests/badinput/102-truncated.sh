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

damaged "bytes of events.flt changed"
size=$(stat -c %s "$TMPDIR/good/events.flt")
at=$((size * 2 / 3))
# One bit may mean nothing to zstd.
head -c 16 /dev/zero | dd of="$TMPDIR/bad/events.flt" bs=1 seek=$at conv=notrunc status=none
expect_refused

damaged "a mapped file missing"
rm "$TMPDIR/bad/files/"*
expect_refused

# A longer log, cut where it may be: replayed is what was whole before, more of it the later
# the cut, and how far that goes is told.
rm -rf "$TMPDIR/good"
make_capture "$TMPDIR/good" "$BUILD/tests/programs/pressure" calls 200000
size=$(stat -c %s "$TMPDIR/good/events.flt")
last=0
for part in 5 20 35 50 65 80 95; do
	damaged "a long events.flt cut to $part percent"
	truncate -s $((size * part / 100)) "$TMPDIR/bad/events.flt"
	expect_refused "breaks off at byte [0-9]+"
	"$FAULTLINE" replay "$TMPDIR/bad" 2>&1 | tee "$TMPDIR/told"
	n=$(sed -n 's/.* and \([0-9]*\) system calls matched up to there$/\1/p' "$TMPDIR/told")
	[ "${n:--1}" -ge $last ] || fail "$n syscalls, after $last of a shorter one"
	last=$n
done
[ $last -gt 100000 ] || fail "only $last of 200000 calls before the last cut"
# That there is no crash in what is left is no finding.
expect_status 2 "$FAULTLINE" slice --at crash "$TMPDIR/bad"
expect_error "breaks off before the end: events.flt breaks off at byte"

# Every file, at places all over it, down to those that are only mapped: never a crash, never
# a wrong `matched': one line, or all that is needed is there.
stored=$(cd "$TMPDIR/good" && ls -d files/*-*) || fail "no stored files"
for file in start.core manifest.json files/index $stored; do
	size=$(stat -c %s "$TMPDIR/good/$file")
	for part in 0 3 17 50 83 99; do
		damaged "$file cut to $part percent"
		truncate -s $((size * part / 100)) "$TMPDIR/bad/$file"
		got=0
		"$FAULTLINE" replay "$TMPDIR/bad" --stdout >"$TMPDIR/out" 2>"$TMPDIR/err" || got=$?
		case $got in
		0) cmp "$TMPDIR/good.out" "$TMPDIR/out" || fail "matched, and printed something else" ;;
		1 | 2) expect_error . ;;
		*) fail "status $got: $(cat "$TMPDIR/err")" ;;
		esac
	done
done
