// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// An object with a pointer to what is in it, which a function makes where its caller wants it, by a register that may be the
// frame's. With argument `wrong' what the function itself has is used when it has returned.
#include <stdio.h>

static volatile int sum;

struct text {
	char *p;
	char own[60];
	int n;
	text() : p(own), n(0) { }
	text(text &&o) : p(own), n(o.n)
	{
		for (int i = 0; i < 60; i++)
			own[i] = o.p[i];
	}
	~text() { n = 0; }
};

__attribute__((noipa)) static void put(char *p, int c)
{
	*p = c;
}

__attribute__((noipa)) static text make(int *a, int n, bool is_wrong)
{
	put((char *)a, n);
	put((char *)a + 4, n);
	put((char *)a + 8, a[1]);
	put((char *)a, a[2]);
	text result;
	char gone[60];
	put(result.own + 1, a[0]);
	put(result.own + 2, a[1]);
	put(gone + 1, a[2]);
	result.p[3] = gone[1];
	result.n = a[1];
	if (is_wrong)
		result.p = gone;
	return result;
}

__attribute__((noipa)) static void take(text &&one, text &&two)
{
	two.p[0] = 0;
	sum += one.p[1]; // expect: DEAD-FRAME
}

__attribute__((noipa)) static int get(int *a, bool is_wrong)
{
	take(make(a, 2, is_wrong), make(a, 1, false));
	return *a;
}

int main(int argc, char **)
{
	int a[3] = { argc, argc, argc };

	for (int i = 0; i < 3; i++)
		printf("%d\n", get(a, argc > 1));
	return 0;
}
