// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// As mutt-1.4.2.1: what is encoded takes more than twice its room, which was thought to do.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *encode(const unsigned char *u, int n)
{
	char *buf = malloc(2 * n + 1), *p = buf;

	for (int i = 0; i < n; i++) {
		*p++ = '&';
		*p++ = 'A' + (u[i] >> 4);
		*p++ = 'A' + (u[i] & 15); // FAULT
	}
	*p = 0;
	buf = realloc(buf, p - buf + 1);
	return buf;
}

int main(void)
{
	char *to = encode((const unsigned char *)"eight..!", 8);

	puts(to);
	free(to);
	return 0;
}
