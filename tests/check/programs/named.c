// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
// FLAGS: -w
//
// Without optimization: arrays that are members, and distances between variables, as the source names them. With
// argument `wrong' each line that says `expect:' does so, and no other.
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct pair {
	char first[8], second[8];
	int n;
	char rest[8];
};

struct mark {
	char magic[4], version[4];
	int a[4], b[4];
};

struct old {
	int n;
	char item[1]; // and what follows
	char filler[31];
};

static volatile long sum;
static struct pair fixed;
static char left[8], right[8];
static ptrdiff_t distance; // between two that it outlives

#define LEFT_END (left + sizeof(left))
#define container_of(p, type, member) ((type *)((char *)(p)-offsetof(type, member)))
#define BITS(p) ((size_t)(p) & 0xffffffffffffull)

// clang-format off
static void members_wrong(int i)
{
	struct pair s = { .n = 1 }, *h = malloc(sizeof(*h));
	struct mark *g = calloc(1, sizeof(*g));
	char *p;

	memset(h, 0, sizeof(*h));
	sum += s.first[i]; // expect: STACK-OVERFLOW
	s.first[i] = 1; // expect: STACK-OVERFLOW
	sum += s.second[i - 11]; // expect: STACK-UNDERFLOW
	sum += fixed.first[i]; // expect: GLOBAL-OVERFLOW
	fixed.second[i - 11] = 1; // expect: GLOBAL-UNDERFLOW
	sum += h->first[i]; // expect: NAMED-OVERFLOW
	h->second[i - 11] = 1; // expect: NAMED-OVERFLOW
	s.first[i] = s.second[0]; // expect: STACK-OVERFLOW
	p = h->first;
	p += i;
	*p = 1; // expect: NAMED-OVERFLOW
	memset(&s.first[i], 0, 4); // expect: STACK-OVERFLOW
	memcpy(left, &fixed.first[i], 4); // expect: GLOBAL-OVERFLOW
	memset(&h->first[i], 0, 4); // expect: NAMED-OVERFLOW
	sum += h->rest[i - 12]; // expect: NAMED-OVERFLOW
	h->rest[i - 13] = 2; // expect: NAMED-OVERFLOW
	sum += h->second[i - 17]; // expect: NAMED-OVERFLOW
	g->version[i - 11] = 3; // expect: NAMED-OVERFLOW
	distance = s.second - s.first;
	sum += s.first[distance]; // expect: STACK-OVERFLOW
	sum += *(volatile int *)(s.first + i - 4); // expect: STACK-OVERFLOW
	free(h);
	free(g);
}

static void distances_wrong(int i)
{
	char a[8] = "", b[8] = "", *h = malloc(8), *g = malloc(8);

	memset(h, 0, 8);
	memset(g, 0, 8);
	sum += a[i - 8 + (ptrdiff_t)(BITS(b) - BITS(a))]; // expect: STACK-UNDERFLOW
	sum += a[i - 8 + (ptrdiff_t)(BITS(h) - BITS(a))]; // expect: STACK-UNDERFLOW
	left[i - 8 + (ptrdiff_t)(BITS(b) - BITS(left))] = 1; // expect: GLOBAL-OVERFLOW
	sum += h[i - 8 + (ptrdiff_t)(BITS(g) - BITS(h))]; // expect: NAMED-OVERFLOW
	h[i - 8 + (ptrdiff_t)(BITS(b) - BITS(h))] = 1; // expect: NAMED-OVERFLOW
	memset(&h[(ptrdiff_t)(BITS(g) - BITS(h))], 0, 4); // expect: NAMED-OVERFLOW
	sum += a[(h + i) - h]; // expect: STACK-OVERFLOW
	free(h);
	free(g);
}
// clang-format on

static int total(const struct pair *p)
{
	const char *at = (const char *)p;
	int ret = 0;

	for (size_t i = 0; i < sizeof(*p); i++)
		ret += at[i];
	return ret;
}

static int bytes_of(const char *at, int n)
{
	int ret = 0;

	while (n--)
		ret += *at++;
	return ret;
}

static void members_right(int i)
{
	struct pair s, *h = malloc(sizeof(*h) + 16);
	union {
		char small[4], large[16];
	} u;
	char *p;

	memset(s.first, 0, sizeof(s));
	memset(h->first, 0, sizeof(*h) + 16);
	memset(u.large, 0, 16);
	memcpy(fixed.first, s.first, sizeof(s.first) + sizeof(s.second));
	s.first[i - 8] = s.second[i - 8];
	h->first[i - 8] = h->second[i - 8];
	h->rest[i] = 1;
	fixed.first[7] = fixed.second[i - 8];
	s.second[i - 8] = s.first[s.n + 1];
	h->second[h->n] = h->rest[h->n + 1];
	sum += u.small[i];
	p = (char *)&s, p[i] = s.first[0];
	sum += total((struct pair *)s.first) + total((struct pair *)h->first);
	sum += bytes_of(s.first, sizeof(s)) + bytes_of(h->first, 16);
	for (p = (char *)h; p < (char *)(h + 1); p++)
		sum += *p;
	free(h);
}

// Constants that compilers add to where a member is, ends of what lies before, elements that stand for more, what is found
// from a member, and what is filled from one on.
static void neighbours_right(long i, size_t u)
{
	struct pair s, *h = malloc(sizeof(*h));
	struct old o, *q = malloc(sizeof(*q));
	struct mark m, *g = malloc(sizeof(*g));
	char *p, *end;

	memset(&s, 0, sizeof(s));
	memset(h, 0, sizeof(*h));
	memset(&m, 0, sizeof(m));
	memset(g, 0, sizeof(*g));
	for (; i < 16; i++, u++) {
		s.second[i - 8] = s.first[u - 8];
		h->second[u - 8] = h->first[i - 8];
		fixed.second[i - 8] = fixed.first[u - 8];
		o.item[i] = q->item[u] = 1;
	}
	for (i = u = 4; i < 8; i++, u++) {
		m.b[u - 4] = m.a[u - 4] + m.b[i - 4];
		g->b[u - 4] = g->a[u - 4] + g->b[i - 4];
	}
	for (end = LEFT_END, p = right; end > left;)
		*--end = *p++;
	memcpy(s.first, "123456789abc", 12);
	*(uint64_t *)m.magic = 1;
	*(uint64_t *)g->magic = 1;
	sum += container_of(s.second, struct pair, second)->first[3];
	sum += container_of(h->second, struct pair, second)->first[3];
	sum += ((struct pair *)h->first)->n;
	p = h->first;
	*p = 1;
	p += 8;
	*p = 1;
	p = memchr(s.first, 'a', sizeof(s));
	*p = 1;
	free(h);
	free(q);
	free(g);
}

static void from_one(int *v, int n)
{
	for (int i = 1; i <= n; i++)
		v[i] = i;
}

static void from_one_too_far(int *v, int n)
{
	for (int i = 1; i <= n; i++)
		v[i] = i; // expect: STACK-OVERFLOW
}

// Who counts from 1 has a pointer to what lies in front of the array, and does not use that.
static void counted(int n)
{
	int front[4] = { 1 }, v[5], behind[4] = { 1 }, *p = v - 1;

	sum += front[1] + behind[1];
	from_one(v - 1, 5);
	for (int i = 1; i <= 5; i++)
		sum += p[i];
	if (n > 5)
		from_one_too_far(v - 1, n);
}

// What works though it leads from one to another: the distance is kept, or what it leads to.
static void distances_right(void)
{
	char a[16] = "", b[16] = "", *h = malloc(16), *g = malloc(16), *p = h + 2;
	ptrdiff_t d = b - a;

	memset(h, 0, 16);
	memset(g, 0, 16);
	for (p = a; p < a + 16; p++)
		p[d] = *p;
	for (p = a; p < a + 16; p++)
		p[b - a] = *p;
	for (p = h; p < h + 16; p++)
		p[g - h] = *p;
	p = h + 2;
	p += g - h;
	sum += *p;
	p = a + 3;
	p = p + (b - a);
	*p = 1;
	distance = (char *)&sum - (char *)&distance;
	sum += *((char *)&distance + distance);
	p = b + (p - b);
	sum += *p + h[(h + 3) - h];
	free(h);
	free(g);
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "wrong")) {
		members_wrong(7 + argc - 1 + 2);
		distances_wrong(6 + argc);
		counted(4 + argc);
	} else {
		members_right(6 + argc);
		neighbours_right(6 + argc, 6 + argc);
		distances_right();
		counted(5);
	}
	return 0;
}
