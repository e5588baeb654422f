// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// As ncompress-4.2.4: strcpy() into a local buffer reaches numbers that nobody needs any more.
#include <stdio.h>
#include <string.h>

__attribute__((noinline)) static int compress_file(const char *name)
{
	int in = 3, out = 4, slashes = 0;
	char temp[20];

	out = in + out;
	strcpy(temp, name); // FAULT
	for (int i = 0; i < 15; i++)
		slashes += temp[i] == '/';
	return slashes;
}

int main(void)
{
	printf("%d\n", compress_file("a/short"));
	printf("%d\n", compress_file("a/long/file/name/of/30/bytes"));
	puts("end");
	return 0;
}
