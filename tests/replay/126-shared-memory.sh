#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Memory under several addresses replays as such, when the program alone writes it. When
# another process can write it the capture says so and names it.
. tests/lib.sh

need python3
record_and_replay "$BUILD/tests/programs/shared"
grep -q 'code 0' "$TMPDIR/c.out" && fail "the program: $(cat "$TMPDIR/c.out")"

# What a call has mapped is looked at while others count in it: it counts once.
for what in thread child grown growing; do
	for _ in 1 2 3; do
		rm -rf "$TMPDIR/twice"
		make_followed "$TMPDIR/twice" "$BUILD/tests/programs/twice" $what
		all_match "$TMPDIR/twice"
		"$FAULTLINE" replay --stdout --process 0 "$TMPDIR/twice" 2>/dev/null |
			cmp "$TMPDIR/twice.out" - || fail "$what: $(cat "$TMPDIR/twice.out")"
	done
done

# A child that has only just been made is recorded, and no stranger.
make_followed "$TMPDIR/forks" "$BUILD/tests/programs/twice" forks
tail -n 1 "$TMPDIR/forks.err" | grep -q ': complete' || fail "$(cat "$TMPDIR/forks.err")"
all_match "$TMPDIR/forks"

# Somebody else has the file mapped before, or comes later.
for when in before later; do
	file=$TMPDIR/$when.shared
	head -c 4096 /dev/zero >"$file"
	cat >"$TMPDIR/other.py" <<-EOF
		import mmap, os, time
		f = open("$file", "r+b")
		m = mmap.mmap(f.fileno(), 4096)
		open("$TMPDIR/$when.ready", "w").close()
		for i in range(3000):
		    if os.path.exists("$TMPDIR/$when.go"):
		        break
		    time.sleep(0.02)
		time.sleep(0.1)
		m[0] = 7
		for i in range(3000):
		    if os.path.exists("$TMPDIR/$when.done"):
		        break
		    time.sleep(0.02)
	EOF
	if [ $when = before ]; then
		python3 "$TMPDIR/other.py" &
		until_true [ -e "$TMPDIR/$when.ready" ]
		touch "$TMPDIR/$when.go"
	else
		(
			until_true grep -q waiting "$TMPDIR/$when.out"
			touch "$TMPDIR/$when.go"
			exec python3 "$TMPDIR/other.py"
		) &
	fi
	need_bpf
	"${RECORD[@]}" -o "$TMPDIR/$when" -- "$BUILD/tests/programs/shared" other "$file" \
		>"$TMPDIR/$when.out" 2>"$TMPDIR/$when.err" || fail "$(cat "$TMPDIR/$when.err")"
	touch "$TMPDIR/$when.done"
	wait
	grep -q 'other wrote 7' "$TMPDIR/$when.out" || fail "$when: $(cat "$TMPDIR/$when.out")"
	grep -q "shared mapping of $file: process [0-9]* can write" "$TMPDIR/$when.err" ||
		fail "$when: no gap: $(cat "$TMPDIR/$when.err")"
done
