#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# What is not recorded is told by its name, each gap on a line of its own. Native asynchronous I/O is
# not there for what is recorded, whose program hears so and does without; the user is told.
. tests/lib.sh

need cc
need_bpf
cat >"$TMPDIR/p.c" <<'C'
#include <sys/syscall.h>
#include <unistd.h>

int main(void)
{
	for (int i = 0; i < 3; i++)
		syscall(SYS_fcntl, 0, 0x7ff, 0);
	syscall(SYS_keyctl, 0x7ff, 0, 0, 0, 0);
	syscall(SYS_prctl, 0x7ffffff1, 0, 0, 0, 0);
	return 0;
}
C
cc -o "$TMPDIR/p" "$TMPDIR/p.c" || fail "cc"
told() { # pattern
	grep -Exq "$1" "$TMPDIR/err" || fail "not told: $1: $(cat "$TMPDIR/err")"
}
for follow in "" -f; do
	rm -rf "$TMPDIR/c"
	# shellcheck disable=SC2086 # an option or none
	expect_status 0 "${RECORD[@]}" $follow -o "$TMPDIR/c" -- "$TMPDIR/p"
	told 'faultline: note: gap: what fcntl with command 0x7ff does to memory is not known \(3 calls\)'
	told 'faultline: note: gap: what keyctl with command 0x7ff does to memory is not known \(1 call\)'
	told 'faultline: note: gap: what prctl with command 0x7ffffff1 does to memory is not known \(1 call\)'
	tail -n 1 "$TMPDIR/err" | grep -q '3 gaps: what fcntl with command 0x7ff' || fail "$(cat "$TMPDIR/err")"
done
# Of one that is followed.
rm -rf "$TMPDIR/c"
expect_status 0 "${RECORD[@]}" -f -o "$TMPDIR/c" -- sh -c "'$TMPDIR/p'; :"
told 'faultline: note: gap: process 1 \(p\): what keyctl with command 0x7ff does to memory is not known \(1 call\)'

rm -rf "$TMPDIR/c"
echo "what there is to read" >"$TMPDIR/file"
record_and_replay "$BUILD/tests/programs/aio" "$TMPDIR/file"
grep -q 'bytes: what there is to read' "$TMPDIR/c.out" || fail "$(cat "$TMPDIR/c.out")"
grep -q 'asks for native asynchronous I/O' "$TMPDIR/c.err" || fail "not told: $(cat "$TMPDIR/c.err")"
