#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Processes that share memory, all recorded: each of them replays, and prints what it printed,
# also where it saw what another one wrote while it computed. When one cannot be replayed the
# others say what they miss.
. tests/lib.sh

need_bpf
joint=$BUILD/tests/programs/joint
c=$TMPDIR/c

# record_joint WHAT - in $c
record_joint() {
	rm -rf "$c"
	"${RECORD[@]}" -f -o "$c" -- "$joint" "$1" >"$c.out" 2>"$c.err" ||
		fail "record of joint $1: $(cat "$c.err")"
	grep -q '^end ' "$c.out" || fail "joint $1 printed: $(cat "$c.out")"
	[ "$(id -u)" = 0 ] || sudo -n chown -R "$(id -u)" "$c"
}

# printed - what the replays of all processes print, sorted
printed() {
	local dir
	for dir in "$c" "$c"/children/*; do
		"$FAULTLINE" replay --stdout "$dir" 2>/dev/null || echo "$dir diverged"
	done | sort
}

# Who loses the CPU within a call that writes into the file is seen too early (doc/joint.md): of 150 recordings one does.
for what in spin ring mutex shm segment leave alarm file numbers; do
	for left in 2 1 0; do
		record_joint $what
		tail -n 1 "$c.err" | grep -q ': complete' || fail "$what: $(cat "$c.err")"
		[ "$(printed)" != "$(sort "$c.out")" ] || break
		[ $what = file ] && [ $left != 0 ] || fail "$what: replays print: $(printed)
recorded: $(cat "$c.out")"
	done
done
all_match "$c"
[ "$n_matched" = 2 ] || fail "$n_matched processes"

# Each has become a history of its own: what others wrote is among its events, and nobody joins again.
[ -e "$c/joined.flt" ] || fail "nothing was kept: $(ls "$c")"
"$FAULTLINE" replay "$c" 2>"$TMPDIR/again" >/dev/null || fail "again: $(cat "$TMPDIR/again")"
grep -q 'replayed together' "$TMPDIR/again" && fail "joined twice"
"$FAULTLINE" dump "$c" | grep -q 'SWITCH .* turn.*\[[0-9a-f]*+' || fail "no turn has memory"

# Somebody is killed when some are kept and some are not: then all are joined once more. What is damaged is refused by
# its name, wherever it breaks off.
rm "$c"/children/*/joined.flt
all_match "$c"
[ "$n_matched" = 2 ] || fail "half joined: $n_matched processes"
cp "$c/joined.flt" "$TMPDIR/joined.flt"
for bytes in 7 100 $(($(stat -c %s "$TMPDIR/joined.flt") / 2)); do
	head -c "$bytes" "$TMPDIR/joined.flt" >"$c/joined.flt"
	"$FAULTLINE" replay "$c" >"$TMPDIR/log" 2>&1
	[ $? = 2 ] && grep -q 'joined.flt breaks off at byte ' "$TMPDIR/log" ||
		fail "$bytes bytes: $(cat "$TMPDIR/log")"
done

# Some end while others write to the file that they share.
for _ in $(seq 12); do
	rm -rf "$c"
	make_followed "$c" "$BUILD/tests/programs/resized"
	all_match "$c"
done

# One counts as another opens, shortens and writes the file: no count comes twice.
for _ in 1 2 3 4 5; do
	rm -rf "$c"
	make_followed "$c" "$BUILD/tests/programs/refilled"
	all_match "$c"
	"$FAULTLINE" replay --stdout --process 0 "$c" 2>/dev/null | cmp "$c.out" - || fail "counted: $(cat "$c.out")"
done

# Its affinity is what it was.
before=$("${RECORD[@]}" -f -o "$TMPDIR/a" -- sh -c "$joint ring >/dev/null; grep Cpus_allowed: /proc/self/status" \
	2>/dev/null)
[ "$before" = "$(grep Cpus_allowed: /proc/self/status)" ] || fail "runs on: $before"

# Where the kernel has no such calls, one dies of it, and the other waits.
"$BUILD/tests/programs/int80" >/dev/null 2>&1 || exit 0
record_joint lost
"$FAULTLINE" replay "$c" >"$TMPDIR/log" 2>"$TMPDIR/notes"
for dir in "$c" "$c"/children/*; do
	"$FAULTLINE" dump "$dir" >/dev/null 2>"$TMPDIR/err" || fail "lost: $(cat "$TMPDIR/err")"
done
grep -q 'process 0 .* diverged' "$TMPDIR/log" || fail "lost: $(cat "$TMPDIR/log")"
grep -q 'gap: what process [0-9]* (joint) wrote into shared memory from here on is missing' \
	"$TMPDIR/notes" || fail "lost: $(cat "$TMPDIR/notes")"
