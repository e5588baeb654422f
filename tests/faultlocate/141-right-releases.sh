#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# `faultline analyze`: what the allocator frees of its own accord is no mistake of the program's: a
# thread that ends gives back what was freed before, and lies in its cache.
. tests/lib.sh
need gojq gcc
need_bpf

cat >"$TMPDIR/ends.c" <<'END'
#include <pthread.h>
#include <stdlib.h>
static void *run(void *p)
{
	for (int i = 0; i < 5; i++)
		free(malloc(20 + 16 * i));
	if (p)
		free(p);
	return p;
}
int main(int argc, char **argv)
{
	void *p = argc > 1 ? malloc(500) : NULL;
	pthread_t t;

	(void)argv;
	free(p);
	p = argc > 1 ? p : NULL;
	return pthread_create(&t, NULL, run, p) || pthread_join(t, NULL);
}
END
for how in "" -static -s; do
	# shellcheck disable=SC2086
	gcc -O0 -g $how -w -o "$TMPDIR/ends" "$TMPDIR/ends.c" -lpthread || fail "cannot compile"
	rm -rf "$TMPDIR/c"
	make_capture "$TMPDIR/c" "$TMPDIR/ends"
	expect_status 0 "$FAULTLINE" analyze --accesses --json "$TMPDIR/c"
	jq -e '.releases == []' "$TMPDIR/out" >/dev/null || fail "'$how': $(jq -c .releases "$TMPDIR/out")"
	expect_status 0 "$FAULTLINE" analyze --accesses "$TMPDIR/c"
	! grep -q 'release' "$TMPDIR/out" || fail "'$how': $(cat "$TMPDIR/out")"
done
# The program's own is told as before.
gcc -O0 -g -w -o "$TMPDIR/ends" "$TMPDIR/ends.c" -lpthread || fail "cannot compile"
rm -rf "$TMPDIR/c"
"${RECORD[@]}" -o "$TMPDIR/c" -- "$TMPDIR/ends" twice >/dev/null 2>&1
expect_status 1 "$FAULTLINE" analyze --accesses --json "$TMPDIR/c"
jq -e '.releases | length == 1 and .[0].at.line == 8' "$TMPDIR/out" >/dev/null ||
	fail "$(jq -c .releases "$TMPDIR/out")"
