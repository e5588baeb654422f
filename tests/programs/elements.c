// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// Arrays of structs in structs on the heap, of which elements are moved, sorted and compared as programs do it; with an
// argument one element more is put in than there is room for.
#include <stdlib.h>
#include <string.h>
#include <stdio.h>
#define KEEP __attribute__((noinline))
struct tag {
	char name[8];
	int id;
	char end[12];
};
struct wide {
	long a;
	struct tag t;
};
struct box {
	int n;
	struct tag items[9];
	struct wide w[7];
	short grid[6][5];
	struct tag duo[3][2];
	int m;
	double d[4];
};
KEEP static void ins(struct box *b, int i, struct tag t)
{
	memmove(&b->items[i + 1], &b->items[i], (b->n - i) * sizeof t); /* WRONG */
	b->items[i] = t;
	b->n++;
}
KEEP static void del(struct box *b, int i)
{
	memmove(&b->items[i], &b->items[i + 1], (b->n - i - 1) * sizeof b->items[0]);
	b->n--;
}
KEEP static void insl(struct box *b, int i, struct tag t)
{
	for (int j = b->n; j > i; j--)
		b->items[j] = b->items[j - 1];
	b->items[i] = t;
	b->n++;
}
KEEP static void dell(struct box *b, int i)
{
	for (int j = i; j + 1 < b->n; j++)
		b->items[j] = b->items[j + 1];
	b->n--;
}
KEEP static void insp(struct box *b, struct tag *at, struct tag t)
{
	struct tag *p = b->items + b->n;
	while (p > at) {
		*p = p[-1];
		p--;
	}
	*at = t;
	b->n++;
}
KEEP static void swap(struct tag *a, struct tag *b)
{
	struct tag t = *a;
	*a = *b;
	*b = t;
}
static int cmp(const void *a, const void *b)
{
	return memcmp(((struct tag *)a)->name, ((struct tag *)b)->name, 8);
}
KEEP static void rev(struct box *b)
{
	struct tag *lo = b->items, *hi = b->items + b->n - 1;
	while (lo < hi)
		swap(lo++, hi--);
}
KEEP static void wmove(struct box *b, int i, int n)
{
	memmove(b->w + i + 1, b->w + i, n * sizeof(struct wide));
	memcpy(&b->w[i], &b->w[i + 1], sizeof(struct wide));
}
KEEP static void grid(struct box *b, int r)
{
	memcpy(b->grid[r], b->grid[(r + 1) % 6], sizeof b->grid[0]);
	memmove(b->grid[0], b->grid[1], 5 * sizeof b->grid[0]);
	memset(b->grid[r], 1, (6 - r) * sizeof b->grid[0]);
}
KEEP static void duo(struct box *b, int r)
{
	memcpy(b->duo[r], b->duo[(r + 1) % 3], sizeof b->duo[0]);
	memmove(b->duo[0], b->duo[1], 2 * sizeof b->duo[0]);
	memset(&b->duo[r][1], 0, sizeof(struct tag));
	memset(b->duo[r], 0, (3 - r) * sizeof b->duo[0]);
	memmove(&b->duo[0][1], &b->duo[1][0], 3 * sizeof(struct tag));
}
KEEP static long sum(struct box *b)
{
	long s = 0;
	for (struct tag *p = b->items; p < b->items + b->n; p++) {
		s += p->id;
		for (char *c = p->end; c < p->end + 12; c++)
			s += *c;
	}
	for (int i = 0; i < 6; i++)
		for (int j = 0; j < 5; j++)
			s += b->grid[i][j];
	short *g = &b->grid[0][0];
	for (int i = 0; i < 30; i++)
		s += g[i];
	return s;
}
KEEP static void rot(struct box *b, int k)
{
	struct tag t[9];
	memcpy(t, b->items + k, (b->n - k) * sizeof *t);
	memcpy(t + b->n - k, b->items, k * sizeof *t);
	memcpy(b->items, t, b->n * sizeof *t);
}
KEEP static void clr(struct box *b, int i)
{
	memset(&b->items[i], 0, (9 - i) * sizeof b->items[0]);
	b->n = i;
}
KEEP static void strs(struct box *b, int i)
{
	snprintf(b->items[i].name, 8, "n%d", i);
	strncpy(b->items[i].end, "end of it", 12);
	strcat(b->items[i].end, "!");
	memcpy(b->items[i].name + 3, "xyz", 3);
}
struct leaf {
	struct leaf *parent;
	struct str {
		char *p;
		size_t n;
		int cap; // and what fills it up
	} keys[11];
	unsigned long vals[11];
	unsigned short len;
};
static inline void insert_leaf(struct leaf *l, size_t i, struct str k, unsigned long v)
{
	size_t n = l->len;
	if (i + 1 <= n)
		memmove(l->keys + i + 1, l->keys + i, (n - i) * sizeof(struct str));
	l->keys[i] = k;
	if (i + 1 <= n)
		memmove(&l->vals[i + 1], &l->vals[i], (n - i) * 8);
	l->vals[i] = v;
	l->len = n + 1;
}
KEEP static void put(struct leaf *l, size_t i, struct str k, unsigned long v)
{
	insert_leaf(l, i, k, v);
}
KEEP static void drop(struct leaf *l, size_t i)
{
	size_t n = l->len;
	memmove(&l->keys[i], &l->keys[i + 1], (n - i - 1) * sizeof(struct str));
	memmove(&l->vals[i], &l->vals[i + 1], (n - i - 1) * 8);
	l->len--;
}
KEEP static void split(struct leaf *to, struct leaf *l)
{
	memcpy(to->keys, l->keys + 5, 6 * sizeof(struct str));
	memcpy(to->vals, l->vals + 5, 6 * 8);
	to->len = 6;
	l->len = 5;
}
KEEP static long leaves(void)
{
	struct leaf *l = calloc(1, sizeof *l), *m = calloc(1, sizeof *m);
	unsigned s = 1;
	long t;
	for (int r = 0; r < 20; r++) {
		while (l->len < 11) {
			s = s * 1103515245 + 12345;
			put(l, (s >> 16) % (l->len + 1), (struct str){ "", l->len, r },
			    r);
		}
		split(m, l);
		while (l->len > 1) {
			s = s * 1103515245 + 12345;
			drop(l, (s >> 16) % l->len);
		}
	}
	t = m->keys[3].n + m->vals[2];
	free(l);
	free(m);
	return t;
}
struct matrices {
	double a[4][4], b[4][4];
};
/* gcc -O2 reaches b by a pointer into a, and has a part of the way in the loop's step. */
KEEP static void transpose(struct matrices *m)
{
	double r[4][4];
	for (int i = 0; i < 4; i++)
		for (int j = 0; j < 4; j++) {
			r[i][j] = 0;
			for (int k = 0; k < 4; k++)
				r[i][j] += m->a[i][k] * m->b[k][j];
		}
	memcpy(m->a, r, sizeof r);
	for (int i = 0; i < 4; i++)
		for (int j = i; j < 4; j++) {
			double x = m->b[i][j];
			m->b[i][j] = m->b[j][i];
			m->b[j][i] = x;
		}
}
KEEP static long matrices(void)
{
	struct matrices *m = calloc(1, sizeof *m);
	long t;
	for (int i = 0; i < 4; i++)
		m->a[i][i] = m->b[i][3 - i] = i;
	transpose(m);
	t = m->b[2][1];
	free(m);
	return t;
}
int main(int argc, char **argv)
{
	(void)argv;
	unsigned s = 7;
	long t = 0;
	struct tag v = { "abc", 5, "e" };
	for (int r = 0; r < 20; r++) {
		struct box *b = r % 2 ? malloc(sizeof *b) : calloc(1, sizeof *b);
		memset(b, 0, sizeof *b);
		for (int i = 0; i < 6; i++)
			for (int j = 0; j < 5; j++)
				b->grid[i][j] = i * j;
		while (b->n < 9) {
			s = s * 1103515245 + 12345;
			v.id = b->n;
			int i = (s >> 16) % (b->n + 1);
			switch (r % 3) {
			case 0:
				ins(b, i, v);
				break;
			case 1:
				insl(b, i, v);
				break;
			default:
				insp(b, &b->items[i], v);
			}
		}
		for (int i = 0; i < 9; i++)
			strs(b, i);
		qsort(b->items, b->n, sizeof v, cmp);
		qsort(b->items + 2, 5, sizeof v, cmp);
		t += bsearch(&v, b->items + 1, 6, sizeof v, cmp) != NULL;
		rev(b);
		rot(b, r % 9);
		wmove(b, r % 5, 1);
		wmove(b, 0, 6);
		wmove(b, r % 3, 4);
		grid(b, r % 6);
		duo(b, r % 3);
		t += sum(b);
		while (b->n > 2) {
			s = s * 1103515245 + 12345;
			int i = (s >> 16) % b->n;
			if (r & 1)
				del(b, i);
			else
				dell(b, i);
		}
		clr(b, r % 3);
		if (argc > 1 && r == 19) {
			while (b->n < 9)
				ins(b, 0, v);
			ins(b, 3, v);
		}
		free(b);
	}
	t += leaves() + matrices();
	printf("%ld\n", t);
	return 0;
}
