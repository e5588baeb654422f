// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// As polymorph-0.4.0: a loop fills a local buffer beyond its end, into another one.
#include <ctype.h>
#include <stdio.h>
#include <string.h>

static int changed;

__attribute__((noinline)) static void convert(const char *original)
{
	char spare[64];
	char newname[32];
	const char *from = original;
	int i;

	memset(spare, 0, sizeof(spare));
	for (i = 0; original[i]; i++)
		newname[i] = tolower(original[i]); // FAULT
	for (i = 0; i < 32; i++)
		changed += newname[i] != from[i];
}

int main(void)
{
	convert("SHORT NAME OF A FILE, NOT LONGER");
	convert("A NAME THAT IS TOO LONG FOR A FILE, BY SOME.");
	printf("%d\n", changed);
	return 0;
}
