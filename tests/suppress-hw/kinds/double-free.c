// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// As cvs-1.11.4: what a failed request left behind is released again.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *dir_name;

static void dirswitch(const char *dir)
{
	free(dir_name);
	if (dir[0] == '/') {
		puts("absolute path");
		return;
	}
	dir_name = strdup(dir); // FAULT
}

int main(void)
{
	puts("start");
	dirswitch("one");
	dirswitch("two");
	dirswitch("/bad");
	dirswitch("three");
	puts("end");
	return 0;
}
