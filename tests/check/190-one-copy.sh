#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# One function under both names, memcpy and memmove, as the dynamic linker has it: what it moves within one block
# is no memcpy between memory that overlaps. One that is memcpy alone is.
. tests/lib.sh
need gcc
need_bpf

cat >"$TMPDIR/copy.c" <<'EOF'
#include <stddef.h>
void *memcpy(void *to, const void *from, size_t n)
{
	char *d = to;
	const char *s = from;

	for (size_t i = 0; i < n; i++)
		if (d < s)
			d[i] = s[i];
		else
			d[n - 1 - i] = s[n - 1 - i];
	return to;
}
#ifdef BOTH
void *memmove(void *, const void *, size_t) __attribute__((alias("memcpy")));
#define COPY memmove
#else
#define COPY memcpy
#endif
void *COPY(void *, const void *, size_t);
static char text[64];
int main(int argc, char **argv)
{
	COPY(text + 8, text, 15 + argc);
	return text[9];
}
EOF
for names in "" -DBOTH; do
	gcc -g -O1 -fno-builtin $names -rdynamic -o "$TMPDIR/copy" "$TMPDIR/copy.c" || fail "cannot compile"
	make_capture "$TMPDIR/c$names" "$TMPDIR/copy"
	if [ "$names" ]; then
		expect_status 0 "$FAULTLINE" check "$TMPDIR/c$names"
	else
		expect_status 1 "$FAULTLINE" check "$TMPDIR/c$names"
		grep -q OVERLAP "$TMPDIR/out" || fail "what overlaps is not found"
	fi
done
