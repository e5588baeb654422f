#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Which calls are memcpy's, whose memory must not overlap: not those of one function that is memmove, too, as the
# dynamic linker's is; nor those through a slot that was memcpy's when another library lay there.
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

# memmove.so lies where memcpy.so did, with the slot of its memmove where that of memcpy was.
for name in memcpy memmove; do
	printf 'void *%s(void *, const void *, unsigned long);\nchar *run(char *p) { return %s(p + 8, p, 16); }\n' \
		$name $name >"$TMPDIR/$name.c"
	gcc -g -O1 -fno-builtin -shared -fPIC -o "$TMPDIR/$name.so" "$TMPDIR/$name.c" || fail "cannot compile"
done
cat >"$TMPDIR/load.c" <<'EOF'
#include <dlfcn.h>
#include <stdio.h>
static char text[64];
int main(int argc, char **argv)
{
	void *at[2];

	for (int i = 0; i < 2; i++) {
		void *lib = dlopen(argv[1 + i], RTLD_NOW);
		char *(*run)(char *) = lib ? at[i] = dlsym(lib, "run") : NULL;

		if (!run)
			return 2;
		if (i || argc > 3)
			run(text);
		dlclose(lib);
	}
	return at[0] != at[1];
}
EOF
gcc -g -O1 -o "$TMPDIR/load" "$TMPDIR/load.c" || fail "cannot compile"
make_capture "$TMPDIR/loaded" "$TMPDIR/load" "$TMPDIR/memcpy.so" "$TMPDIR/memmove.so"
expect_status 0 "$FAULTLINE" check "$TMPDIR/loaded"
make_capture "$TMPDIR/both" "$TMPDIR/load" "$TMPDIR/memcpy.so" "$TMPDIR/memmove.so" run
expect_status 1 "$FAULTLINE" check "$TMPDIR/both"
[ "$(grep -c OVERLAP "$TMPDIR/out")" = 1 ] || fail "not one memcpy that overlaps"
