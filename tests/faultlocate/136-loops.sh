#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# A pointer that goes on through a text in several steps a round takes no memory by the round, and where
# it goes too far that is told.
. tests/lib.sh
need cc python3
need_bpf

cat >"$TMPDIR/text.c" <<'C'
#include <stdlib.h>
int main(int argc, char **argv)
{
	long n = atol(argv[1]), sum = 0;
	char *text = calloc(n, 24), *p = text, *end = text + n * 24;

	(void)argc;
	while (p < end) {
		sum += *(long *)p;
		p += 8;
		__asm__ volatile("" : "+r"(p));
		sum += *(long *)p;
		p += 16;
		__asm__ volatile("" : "+r"(p));
	}
	sum += *(long *)(p + 8); /* FAR */
	return sum == 1;
}
C
cc -g -O1 -o "$TMPDIR/text" "$TMPDIR/text.c" || fail "cannot compile"
# analyze N - its result in $TMPDIR/out, the most memory that it had in $kib.
analyze() {
	rm -rf "$TMPDIR/c"
	make_capture "$TMPDIR/c" "$TMPDIR/text" "$1"
	kib=$(python3 -c 'import resource, subprocess, sys
status = subprocess.run(sys.argv[2:], stdout=open(sys.argv[1], "w"), stderr=subprocess.STDOUT).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss if status == 1 else 0)' \
		"$TMPDIR/out" "$FAULTLINE" analyze --accesses "$TMPDIR/c")
	grep -q "^  1. read of 8 bytes at .*:$(grep -n FAR "$TMPDIR/text.c" | cut -d: -f1) in main" "$TMPDIR/out" ||
		fail "$1: $(cat "$TMPDIR/out")"
}
analyze 50000
few=$kib
analyze 400000
[ "$kib" -lt $((few + few / 2)) ] || fail "$few KiB, and $kib for eight times the rounds"
