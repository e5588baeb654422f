// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
// FLAGS: -w
//
// Parameters that the caller puts into memory, behind the return address: with argument `wrong' each line that says
// `expect:' leaves one, or uses it when its function has returned, and no other.
#include <stdarg.h>
#include <string.h>

struct numbers {
	int a[8];
};
struct text {
	char c[24];
};

static volatile int sum;
static int *volatile kept;

static void read_at(const int *p, int i)
{
	sum += p[i]; // expect: STACK-UNDERFLOW
}
static void write_at(int *p, int i)
{
	p[i] = 1; // expect: STACK-OVERFLOW
}
static void right_at(int *p, int i)
{
	p[i] += p[0];
}
static struct text right_text(struct numbers n, struct text t, int i)
{
	struct numbers copy = n;
	char *p = t.c, *end = t.c + sizeof(t.c);

	for (int k = 0; k < 8; k++)
		right_at(n.a, k), sum += n.a[k];
	while (p < end)
		sum += *p++;
	while (p > t.c)
		*--p = 'b';
	memcpy(&n, &copy, sizeof(n));
	memset(t.c + i, 0, sizeof(t.c) - i);
	if (i)
		t = right_text(n, t, i - 1);
	return t;
}
static int right_many(int a, int b, int c, int d, int e, int f, int g, struct numbers n,
		      int h)
{
	int *p = &g, *q = &h;

	right_at(p, 0);
	right_at(q, 0);
	return *p + *q + n.a[g & 7];
}
static int right_list(struct numbers n, int count, ...)
{
	va_list list;

	va_start(list, count);
	for (int i = 0; i < count; i++) {
		struct numbers one = va_arg(list, struct numbers);
		int more = va_arg(list, int);

		sum += one.a[i] + more + n.a[i];
	}
	va_end(list);
	return sum;
}

static void wrong_before(struct numbers n, int i)
{
	read_at(n.a, -i);
	sum += n.a[i - 4]; // expect: STACK-UNDERFLOW
}
static void wrong_behind(struct numbers n, struct text t, int i)
{
	char *p = n.a;

	write_at(n.a, i + 5);
	sum += t.c[i + 21];	   // expect: STACK-OVERFLOW
	memset(t.c + i, 0, 22);	   // expect: STACK-OVERFLOW
	memcpy(t.c, p + i - 4, 2); // expect: STACK-UNDERFLOW
}
static void wrong_last(int a, int b, int c, int d, int e, int f, int g, int h, int i)
{
	int *p = &h;

	sum += p[i]; // expect: STACK-OVERFLOW
}
static void keep(struct numbers n)
{
	kept = n.a;
}
static void wrong(int i)
{
	struct numbers n = { { 1 } };
	struct text t = { "abc" };
	char room[64];

	memset(room, 0, sizeof(room));
	wrong_before(n, i);
	wrong_behind(n, t, i);
	wrong_last(1, 2, 3, 4, 5, 6, 7, 8, i);
	keep(n);
	sum += *kept; // expect: DEAD-FRAME
	sum += room[i];
}

int main(int argc, char **argv)
{
	struct numbers n = { { 1, 2, 3 } };
	struct text t = { "abc" };

	for (int i = 0; i < 3; i++) {
		t = right_text(n, t, i);
		sum += right_many(1, 2, 3, 4, 5, 6, i, n, 8);
		right_list(n, 2, n, 3, n, 4);
	}
	if (argc > 1 && !strcmp(argv[1], "wrong"))
		wrong(3);
	return 0;
}
