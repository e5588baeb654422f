// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// As gzip-1.2.4: one byte too many, a 0, where there is a 0, and nothing else is ever wrong by that.
#include <stdio.h>
#include <string.h>

static char name[24];
static long total;

int main(void)
{
	strcpy(name, "a-name-of-24-bytes-.text"); // FAULT
	for (int i = 0; i < 24; i++)
		total += name[i];
	printf("%ld\n", total);
	return 0;
}
