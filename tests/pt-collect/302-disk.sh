#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# A disk that is full at every moment of a recording, a limit on file size, a directory that
# cannot be written, one that is deleted meanwhile: one clear line, status 125, nothing that
# looks whole; before the program has begun it does not begin, later it runs to its end. What
# was written is readable up to the break, and says where that is.
. tests/lib.sh

need_bpf
[ "$(id -u)" = 0 ] || skip "needs root, to mount a small tmpfs"
small=$TMPDIR/small
mkdir "$small"
mount -t tmpfs -o size=64k none "$small" 2>/dev/null || skip "cannot mount a tmpfs"
trap 'umount "$small"' EXIT

# Of 64 KiB to more than enough: during kept files, start state, events, manifest.
began=0 whole=0 n=0
for kb in 8 64 256 1000 2000 2100 2150 2200 2250 2300 2350 2400 2500 3000 6000 12000; do
	rm -rf "$small/c"
	mount -o remount,size=${kb}k "$small"
	got=0
	"$FAULTLINE" record -o "$small/c" -- "$BUILD/tests/programs/unharmed" cs 150 \
		>"$TMPDIR/out" 2>"$TMPDIR/err" || got=$?
	n=$((n + 1))
	if [ $got = 0 ]; then
		grep -q ': complete$' "$TMPDIR/err" || fail "$kb kB: $(cat "$TMPDIR/err")"
		whole=$((whole + 1))
		continue
	fi
	[ $got = 125 ] || fail "$kb kB: status $got"
	expect_error "No space left"
	looks_whole "$small/c" && fail "$kb kB: a capture was left that looks whole"
	[ -s "$TMPDIR/out" ] || continue
	began=$((began + 1))
	grep -qx 'unharmed 1' "$TMPDIR/out" || fail "$kb kB: the program was harmed"
	got=0
	"$FAULTLINE" replay "$small/c" >"$TMPDIR/out" 2>"$TMPDIR/err" || got=$?
	[ $got = 2 ] || fail "$kb kB: replay ends with $got: $(cat "$TMPDIR/err")"
	expect_error "not finished.*[0-9]+ instructions and [0-9]+ system calls matched up to there"
done
echo "$n sizes: $whole whole, $began broke off"
[ $whole -ge 1 ] && [ $began -ge 1 ] && [ $((whole + began)) -lt $n ] || fail "one-sided"

# A limit on the size of files is no reason to die of SIGXFSZ, nor for the program.
got=0
(ulimit -f 3000 && exec "$FAULTLINE" record -o "$TMPDIR/c" -- \
	"$BUILD/tests/programs/pressure" pipe 300000000) >"$TMPDIR/out" 2>"$TMPDIR/err" || got=$?
[ $got = 125 ] || fail "status $got under a limit: $(cat "$TMPDIR/err")"
expect_error "File too large"
grep -q 'bytes 300000000' "$TMPDIR/out" || fail "the program was harmed"

# Not writable, not a directory, no parent.
mount -o remount,ro "$small"
for dir in "$small/d" /dev/null /dev/null/d "$TMPDIR/none/d"; do
	expect_status 125 "$FAULTLINE" record -o "$dir" -- echo ran
	expect_error "$dir.*(Read-only|Not a directory|No such)"
	grep -q ran "$TMPDIR/out" && fail "$dir: the program ran"
done
mount -o remount,rw "$small"

# Deleted while it records: the program goes on, and the failure is told.
fresh
"$FAULTLINE" record -o "$TMPDIR/e" -- "$BUILD/tests/programs/unharmed" csg 1500 \
	>"$TMPDIR/out" 2>"$TMPDIR/err" &
recorder=$!
until_true [ -s "$TMPDIR/out" ]
rm -rf "$TMPDIR/e"
got=0
wait $recorder || got=$?
grep -qx 'unharmed 1' "$TMPDIR/out" || fail "the program was harmed"
[ $got = 125 ] || fail "status $got: $(cat "$TMPDIR/err")"
expect_error "$TMPDIR/e"
exit 0
