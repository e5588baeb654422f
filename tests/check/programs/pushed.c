// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// A function most of which pushes arguments for calls, as a test's does that compares much: where a variable's address is
// made amid that, it is by the stack's end as the call has it. With argument `wrong' the variable is left.
#include <stdio.h>
#include <stdlib.h>

struct frame {
	long a[7];
	int b, c;
};

__attribute__((noinline, noreturn)) void say(const char *what, int line, const char *x, int u, int v, int w, long got, long want,
						 const char *how)
{
	printf("%s %d %s %d %d %d %ld %ld %s\n", what, line, x, u, v, w, got, want, how);
	exit(1);
}

__attribute__((noinline)) void set(struct frame *f, int a, int b, int c, void *d, void *e, long n)
{
	for (int i = 0; i < 7; i++)
		f->a[i] = a;
	f->b = b;
	f->c = c;
	(&f->c)[n] = c; // expect: STACK-OVERFLOW
	(void)d, (void)e;
}

__attribute__((noinline)) long use(struct frame *f, int *more)
{
	more[5]++;
	return f->b + ++f->a[2];
}

#define EXPECT(got, want) \
	if ((got) != (want)) \
	say("error: ", __LINE__, #got, 1, 2, 3, got, want, "==")

__attribute__((noinline)) long run(long n)
{
	struct frame f;
	int more[40];

	more[5] = n;
	set(&f, 4, 1, 3, NULL, NULL, n);
	EXPECT(more[5], n);
	EXPECT(use(&f, more), 6);
	EXPECT(f.a[2], 5);
	EXPECT(use(&f, more), 7);
	EXPECT(more[5], n + 2);
	EXPECT(f.a[2], 6);
	f.a[2] = 8;
	EXPECT(use(&f, more), 10);
	EXPECT(f.a[2], 9);
	EXPECT(more[5], n + 3);
	EXPECT(f.a[3], 4);
	return f.b;
}

int main(int argc, char **argv)
{
	(void)argv;
	printf("%ld\n", run(argc > 1 ? 1 : 0));
	return 0;
}
