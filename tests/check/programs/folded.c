// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// An array of variable length whose length compilers know: it begins where another variable ends, and is one of its own.
// With argument `wrong' it is left.
#include <stdio.h>

__attribute__((noipa)) static long fill(char *p, long n, int with)
{
	for (long i = 0; i < n; i++)
		p[i] = with; // expect: STACK-OVERFLOW
	return n;
}

__attribute__((noipa)) static int same(long end, long more)
{
	long size = 1024, done = 0;
	int ret = 0;

	while (!ret) {
		char one[size];
		long n = sizeof(one), got;

		if (end - done < size)
			n = end - done;
		char other[1024];
		got = fill(other, n, 1);
		ret = fill(one, got + more, 1) - more != got;
		if (!got)
			break;
		if (!ret)
			ret = one[got - 1] != other[got - 1];
		done += got;
	}
	return ret;
}

int main(int argc, char **argv)
{
	(void)argv;
	printf("%d\n", same(3000, argc > 1 ? 40 : 0));
	return 0;
}
