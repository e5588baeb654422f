// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// As mutt-1.4.2.1: an encoder that needs more room than it was given; realloc() notices.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *encode(const unsigned char *u, size_t n)
{
	char *buf = malloc(2 * n + 1), *p = buf;
	static const char digits[] = "0123456789abcdef";

	while (n--) {
		*p++ = '&';
		*p++ = digits[*u >> 4];
		*p++ = digits[*u++ & 15]; // FAULT
	}
	*p++ = 0;
	buf = realloc(buf, p - buf);
	return buf;
}

int main(void)
{
	unsigned char u[60];
	char *a, *b;

	puts("start");
	memset(u, 0xab, sizeof(u));
	a = encode(u, sizeof(u));
	b = encode(u, sizeof(u));
	printf("%zu\n", strlen(a) + strlen(b));
	return 0;
}
