// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
// FLAGS: -w
//
// Variables of blocks, used within and after: with argument `wrong' each line that says `expect:' does so, and no
// other; C and C++. Without optimization only: else blocks are where it pleases the compiler.
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

static volatile long sum;
static int *volatile kept;
static jmp_buf again;

static void use(const int *p)
{
	sum += *p; // expect: DEAD-SCOPE
}
static void use_right(const int *p)
{
	sum += *p;
}
static void use_lent(const int *p)
{
	sum += *p; // expect: DEAD-SCOPE
}
static void each(int n, void (*f)(const int *))
{
	for (int i = 0; i < n; i++) {
		int k = 2 * i, *p = &k;

		f(p);
		if (i == 2)
			continue;
		if (k > 20)
			break;
		*p = i;
	}
}
static void back(const int *p)
{
	sum += *p;
	if (*p == 4)
		longjmp(again, 1);
}

/* Where it is inlined, too, it ends. */
static inline __attribute__((always_inline)) int lend(int n)
{
	int list[4] = { n, 2, 3, 4 }, *p = list;

	kept = p + 1;
	use_right(kept);
	return *p;
}

static void right(int n)
{
	int outer = n, *p = &outer;

	{
		int inner = n;

		p = &inner;
		*p += 1;
		use_right(p);
		{
			int *deeper = &inner;

			*deeper = n;
		}
	}
	p = &outer;
	*p = 3;
	*p += lend(n) + lend(2);
	each(5, use_right);
	if (!setjmp(again))
		each(5, back);
	switch (n) {
	case 7: {
		int here = 1;

		p = &here;
		use_right(p);
		goto out;
	}
	default: {
		char text[16], *t = text;

		strcpy(t, "abc");
		sum += t[1];
	}
	}
out:
	for (int i = 0, *q = &i; i < 3; ++*q)
		use_right(q);
	while (n > 0) {
		int m = n, *q = &m;

		n = *q - 1;
		kept = q;
	}
}

static void wrong(int n)
{
	char *text;
	int *p, copy;

	{
		int inner = n;

		p = &inner;
	}
	sum += *p; // expect: DEAD-SCOPE
	use(p);
	for (int i = 0; i < n; i++) {
		int k = i;

		p = &k;
	}
	*p = 5; // expect: DEAD-SCOPE
	{
		int other = 3;

		kept = &other;
	}
	if (n) {
		int own = 2;

		own += *kept; // expect: DEAD-SCOPE
		sum += own;
	}
	if (n) {
		char local[24] = "x";

		text = local;
	}
	memset(text + 1, 'a', 9); // expect: DEAD-SCOPE
	sum += text[2];		  // expect: DEAD-SCOPE
	{
		struct {
			int one, two;
		} both = { n, 2 };

		p = &both.two;
	}
	*p += 1; // expect: DEAD-SCOPE
	{
		int list[5] = { 0 };

		p = list + n;
	}
	p[-1] = 6;			// expect: DEAD-SCOPE
	memcpy(&copy, p, sizeof(copy)); // expect: DEAD-SCOPE
	switch (n) {
	case 3: {
		int here = 4;

		p = &here;
		break;
	}
	default:
		break;
	}
	sum += *p * copy; // expect: DEAD-SCOPE
	while (n) {
		int m = --n;

		kept = &m;
	}
	if (*kept > 5) // expect: DEAD-SCOPE
		sum++;
	sum += lend(3);
	sum += *kept; // expect: DEAD-SCOPE
	lend(4);
	use_lent(kept);
}

int main(int argc, char **argv)
{
	for (int i = 0; i < 9; i++)
		right(i);
	if (argc > 1 && !strcmp(argv[1], "wrong"))
		wrong(3);
	return 0;
}
