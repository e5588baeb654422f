#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# -e heap: a program that prints its allocator calls agrees with the events, and -v tells
# where the probes are; the same for a static program.
. tests/lib.sh

need cc
need_bpf
cat >"$TMPDIR/p.c" <<'C'
#include <stdio.h>
#include <stdlib.h>

static void *volatile sink;

int main(void)
{
	static char buf[65536];
	void *p, *q, *r, *s = NULL, *t;

	setvbuf(stdout, buf, _IOFBF, sizeof(buf));
	sink = p = malloc(12345);
	sink = q = calloc(3, 1001);
	sink = r = realloc(p, 54321);
	if (posix_memalign(&s, 64, 777))
		return 1;
	sink = t = aligned_alloc(128, 1280);
	free(q);
	free(r);
	free(s);
	free(t);
	printf("malloc(3039\ncalloc(3, 3e9\nrealloc(%lx, d431\n", (unsigned long)p);
	printf("posix_memalign(%lx, 40, 309\naligned_alloc(80, 500\n",
	       (unsigned long)&s);
	printf("free(%lx\nfree(%lx\nfree(%lx\nfree(%lx\n", (unsigned long)q,
	       (unsigned long)r, (unsigned long)s, (unsigned long)t);
	return 0;
}
C
check() {
	"${RECORD[@]}" -v -e heap -o "$TMPDIR/$1.flt" -- "$TMPDIR/$1" \
		>"$TMPDIR/out" 2>"$TMPDIR/err" || fail "record failed: $(cat "$TMPDIR/err")"
	cat "$TMPDIR/err"
	grep -Eq 'probe malloc at .*\+0x[0-9a-f]+ \(entry\+[0-9]+, [a-z]+: ' "$TMPDIR/err" ||
		fail "-v does not name the probe"
	"$FAULTLINE" dump "$TMPDIR/$1.flt" >"$TMPDIR/dump"
	[ -s "$TMPDIR/out" ] || fail "$1 tells of no call"
	while read -r call; do
		grep -Fq "HEAP $call" "$TMPDIR/dump" || fail "no event $call"
	done <"$TMPDIR/out"
	[ "$(grep -c '"function"' "$TMPDIR/$1.flt/manifest.json")" = 6 ] ||
		fail "not six sites in the manifest"
}
cc -O1 -fno-builtin -o "$TMPDIR/dynamic" "$TMPDIR/p.c" || fail "cannot compile"
check dynamic
if cc -O1 -fno-builtin -static -o "$TMPDIR/static" "$TMPDIR/p.c" 2>/dev/null; then
	check static
fi
exit 0
