#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# A file that many processes map is searched once for rdrand and its kin, and each process is
# probed by what was found there, under whatever name. It is searched again when it has changed,
# in place, to another of the same length.
. tests/lib.sh

need cc
need_bpf
grep -qw rdrand /proc/cpuinfo || skip "this processor has no rdrand"
cat >"$TMPDIR/p.c" <<'C'
#include <stdio.h>

// Of one length, wherever the instruction is.
static unsigned long draw(void)
{
	unsigned long x;

	asm volatile("nop; nop\n\t" FIRST "\n\tnop; nop; nop\n\t" SECOND "\n\tnop" : "=a"(x));
	return x;
}

int main(void)
{
	for (int i = 0; i < 3; i++)
		printf("%lx\n", draw());
	return 0;
}
C
cc -DFIRST='"rdrand %%rax"' -DSECOND='"nop; nop; nop; nop"' -o "$TMPDIR/a" "$TMPDIR/p.c" || fail cc
cc -DFIRST='"nop; nop; nop; nop"' -DSECOND='"rdrand %%rax"' -o "$TMPDIR/b" "$TMPDIR/p.c" || fail cc
[ "$(stat -c %s "$TMPDIR/a")" = "$(stat -c %s "$TMPDIR/b")" ] || fail "not of one length"
! cmp -s "$TMPDIR/a" "$TMPDIR/b" || fail "nothing differs"

cp "$TMPDIR/a" "$TMPDIR/x"
ln "$TMPDIR/x" "$TMPDIR/y"
sleep 3.1 # what is newer is searched each time
cat >"$TMPDIR/run" <<EOF
cd "$TMPDIR"
./x
./x
./y
cat b >x
./x
EOF
FAULTLINE_LOG=record:2 expect_status 0 "${RECORD[@]}" -f -o "$TMPDIR/c" -- sh "$TMPDIR/run"
[ "$(id -u)" = 0 ] || sudo -n chown -R "$(id -u)" "$TMPDIR/c"
[ "$(grep -c 'searched /.*/[xy]$' "$TMPDIR/err")" = 2 ] || fail "$(cat "$TMPDIR/err")"
all_match "$TMPDIR/c"
[ "$n_matched" = 6 ] || fail "$n_matched processes, not six"
n=0
for number in 1 2 3 4 5; do
	n=$((n + $("$FAULTLINE" dump --process $number -k random "$TMPDIR/c" | wc -l)))
done
[ "$n" = 12 ] || fail "$n results of rdrand, not twelve"
