// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * careless FILE [TEXT]: writes into its working directory, into the file itself and beside it,
 * removes what it may; then aborts in give_up() if FILE, TEXT or $CARELESS has a `!' in it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__attribute__((noinline)) static void give_up(const char *why)
{
	fprintf(stderr, "%s\n", why);
	abort();
}

static void scribble(const char *path)
{
	FILE *f = fopen(path, "a");

	if (f) {
		fputs("scribbled\n", f);
		fclose(f);
	}
}

int main(int argc, char **argv)
{
	static char text[4096];
	char beside[4096];
	FILE *f = argc > 1 ? fopen(argv[1], "r") : NULL;
	size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;

	if (f)
		fclose(f);
	// Who finds what was written before is run where something is left of it.
	if (!access("careless.out", F_OK))
		return 3;
	scribble("careless.out");
	if (f) {
		scribble(argv[1]);
		snprintf(beside, sizeof(beside), "%s.precious", argv[1]);
		unlink(beside);
		unlink(argv[1]);
	}
	if (memchr(text, '!', n) || (argc > 2 && strchr(argv[2], '!')) ||
	    strchr(getenv("CARELESS") ?: "", '!'))
		give_up("!");
	return 0;
}
