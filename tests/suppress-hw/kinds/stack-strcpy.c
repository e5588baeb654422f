// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// As ncompress-4.2.4: strcpy() into a local buffer reaches the return address.
#include <stdio.h>
#include <string.h>

static int files;

__attribute__((noinline)) static int compress_file(const char *name)
{
	char temp[16];

	strcpy(temp, name); // FAULT
	for (int i = 0; temp[i]; i++)
		files += temp[i] == '/';
	return files;
}

int main(void)
{
	puts("start");
	printf("%d\n", compress_file("a/short"));
	printf("%d\n", compress_file("a/very/long/name/that/does/not/fit/in/there"));
	puts("end");
	return 0;
}
