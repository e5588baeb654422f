// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Correct code that goes through structs and memory of its own in unusual ways: arenas, pools, headers
 * before what is given out, arrays from one on, arrays in arrays, bytes and words of whole structs, keys of
 * several fields, gaps, links that are xored, a dictionary that is kept across blocks. Nothing leaves what
 * it means, unless WRONG is defined: then the dictionary's pointers are not looked at before they are used.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N __attribute__((noinline))

struct arena {
	size_t used, size;
	char data[];
};

static N void *arena_get(struct arena *a, size_t n)
{
	n = (n + 15) & ~15ul;
	void *p = a->data + a->used;
	a->used += n;
	return a->used > a->size ? NULL : p;
}

struct pool_item {
	union {
		struct pool_item *next;
		char text[24];
	};
	int n;
};

struct pool {
	struct pool_item *free;
	struct pool_item items[20];
	char tail[7];
};

static N struct pool_item *pool_get(struct pool *p)
{
	struct pool_item *i = p->free;
	p->free = i->next;
	memset(i, 0, sizeof(*i));
	return i;
}

struct hdr {
	unsigned len, cap;
	char flags;
	char buf[];
};

static N char *sds_new(const char *s)
{
	size_t n = strlen(s);
	struct hdr *h = malloc(sizeof(*h) + n + 1);
	h->len = n;
	h->cap = n;
	h->flags = 1;
	memcpy(h->buf, s, n + 1);
	return h->buf;
}

static N unsigned sds_len(const char *s)
{
	return ((struct hdr *)(s - offsetof(struct hdr, buf)))->len + s[-1];
}

static N double *vec1(int n)
{
	double *v = malloc(n * sizeof(*v));
	return v - 1;
}

static N double **matrix(int r, int c)
{
	double **m = malloc(r * sizeof(*m));
	m -= 1;
	m[1] = malloc(r * c * sizeof(double));
	m[1] -= 1;
	for (int i = 2; i <= r; i++)
		m[i] = m[i - 1] + c;
	return m;
}

struct ring {
	int head, tail;
	int slot[8];
	char name[16];
	int more[4];
	short s[3];
	char last[5];
};

static N void ring_put(struct ring *r, int v)
{
	r->slot[r->head++ & 7] = v;
}

static N int ring_get(struct ring *r)
{
	return r->slot[r->tail++ & 7];
}

struct game {
	char grid[9][9];
	unsigned char mask[3][4][5];
	int row[9], col[9];
	double w[4][4];
	struct {
		int x, y;
		char tag[4];
	} pts[6];
	int total;
};

static N int play(struct game *g)
{
	int sum = 0;
	for (int i = 0; i < 9; i++)
		for (int k = 0; k < 9; k++)
			g->grid[i][k] = i * k;
	for (int i = 0; i < 3; i++)
		for (int j = 0; j < 4; j++)
			for (int k = 0; k < 5; k++)
				g->mask[i][j][k] = i + j + k;
	for (int i = 8; i >= 0; i--) {
		g->row[i] = g->grid[i][8 - i];
		g->col[8 - i] = g->row[i] + g->mask[i % 3][i % 4][i % 5];
	}
	for (int i = 0; i < 4; i++)
		for (int k = 0; k < 4; k++)
			g->w[k][i] = g->w[i][k] + i;
	for (int i = 0; i < 6; i++) {
		g->pts[i].x = i;
		g->pts[i].y = g->pts[(i + 5) % 6].x;
		strcpy(g->pts[i].tag, "abc");
	}
	for (int i = 1; i < 9; i++) {
		g->row[i] += g->row[i - 1];
		g->col[9 - i - 1] += g->col[9 - i];
	}
	for (int *p = g->row + 9; p-- > g->row;)
		sum += *p;
	for (char *c = &g->grid[0][0]; c < &g->grid[0][0] + 81; c++)
		sum += *c;
	memset(g->grid, 1, sizeof(g->grid));
	memcpy(g->row, g->col, sizeof(g->row));
	memmove(g->col + 1, g->col, 8 * sizeof(int));
	return sum + g->total;
}

static N void swap_bytes(void *a, void *b, size_t n)
{
	char *x = a, *y = b;
	while (n--) {
		char t = *x;
		*x++ = *y;
		*y++ = t;
	}
}

static N void words(void *to, const void *from, size_t n)
{
	uint64_t *t = to;
	const uint64_t *f = from;
	for (size_t i = 0; i < n / 8; i++)
		t[i] = f[i];
}

static N uint32_t crc(const void *p, size_t n)
{
	const uint8_t *b = p;
	uint32_t c = ~0u;
	for (size_t i = 0; i < n; i++) {
		c ^= b[i];
		for (int k = 0; k < 8; k++)
			c = c >> 1 ^ (0xedb88320 & -(c & 1));
	}
	return c;
}

static N uint32_t jen(const void *key, unsigned len)
{
	const unsigned char *k = key;
	uint32_t a = 1, b = 2, c = 3;
	while (len >= 12) {
		a += k[0] + ((unsigned)k[1] << 8) + ((unsigned)k[2] << 16) +
		     ((unsigned)k[3] << 24);
		b += k[4] + ((unsigned)k[5] << 8) + ((unsigned)k[6] << 16);
		c += k[8] + ((unsigned)k[11] << 24);
		a ^= c;
		k += 12;
		len -= 12;
	}
	switch (len) {
	case 4:
		a += k[3];
		__attribute__((fallthrough));
	case 3:
		b += k[2];
		__attribute__((fallthrough));
	case 2:
		c += k[1];
		__attribute__((fallthrough));
	case 1:
		a += k[0];
	}
	return a ^ b ^ c;
}

struct msg {
	char type;
	char len[2];
	char body[13];
	int crc;
	long seq;
};

static N size_t pack(struct msg *m, char *out)
{
	char *o = out;
	*o++ = m->type;
	memcpy(o, m->len, 2);
	o += 2;
	memcpy(o, m->body, 13);
	o += 13;
	memcpy(o, &m->crc, 4);
	o += 4;
	memcpy(o, &m->seq, 8);
	return o + 8 - out;
}

static N void unpack(struct msg *m, const char *in)
{
	m->type = *in++;
	m->len[0] = *in++;
	m->len[1] = *in++;
	for (int i = 0; i < 13; i++)
		m->body[i] = *in++;
	memcpy(&m->crc, in, 4);
	memcpy(&m->seq, in + 4, 8);
}

struct gap {
	char *buf, *g0, *g1, *end;
};

static N void gap_move(struct gap *g, long by)
{
	if (by < 0) {
		memmove(g->g1 + by, g->g0 + by, -by);
	} else
		memmove(g->g0, g->g1, by);
	g->g0 += by;
	g->g1 += by;
}

struct xnode {
	uintptr_t both;
	int v;
};

struct tree {
	struct tree *kid[2];
	int key;
	char bal;
};

static N struct tree *ins(struct tree *t, int k)
{
	if (!t) {
		t = calloc(1, sizeof(*t));
		t->key = k;
		return t;
	}
	t->kid[k > t->key] = ins(t->kid[k > t->key], k);
	return t;
}

static N int tsum(struct tree *t)
{
	return t ? t->key + tsum(t->kid[0]) + tsum(t->kid[1]) : 0;
}

struct skip {
	int key;
	int levels;
	struct skip *next[1];
};

/* The end of a compressor's dictionary, whose pointers may be of another block, which is gone. */
static N long matches(const unsigned char *in, size_t from, const unsigned char **dict)
{
	long found = 0;

	for (const unsigned char *p = in + from; p < in + from + 190; p++) {
		const unsigned char *m = dict[*p % 16];
#ifdef WRONG
		found += m && m[0] == p[0]; /* WRONG */
#else
		size_t distance;

		// What compilers make of m = p - (p - m): it is in this block, or passed over.
		if (m >= in && (distance = p - m) != 0 && distance < 4096)
			found += m[0] == p[0] && m[1] == p[1];
#endif
		dict[*p % 16] = p;
	}
	return found;
}

static N long compress(int blocks)
{
	const unsigned char **dict = calloc(16, sizeof(*dict));
	long found = 0;

	for (int i = 0; i < blocks; i++) {
		unsigned char *block = malloc(600);

		for (int k = 0; k < 600; k++)
			block[k] = (k * 7 ^ (k >> 3)) + i;
		found += matches(block, 200 * i, dict);
		free(block);
	}
	free(dict);
	return found;
}

/* A part of a line, copied by one counter where the compiler wants it: line + to + (from - to). */
struct token {
	int start, length, more[8];
};

char *line;
struct token *tokens;

N void quote(char **to, int first, int last)
{
	int end = tokens[last].start + tokens[last].length;
	char *at;

	*to = realloc(*to, end - tokens[first].start + 1);
	at = *to;
	for (int i = tokens[first].start; i < end && line[i]; i++)
		*at++ = line[i];
	*at = 0;
}

int main(void)
{
	long sum = 0;
	struct arena *a = malloc(sizeof(*a) + 1000);
	a->used = 0;
	a->size = 1000;
	for (int i = 0; i < 20; i++) {
		char *p = arena_get(a, 30);
		memset(p, i, 30);
		sum += p[29];
	}
	struct pool *p = malloc(sizeof(*p));
	for (int i = 0; i < 20; i++)
		p->items[i].next = i < 19 ? &p->items[i + 1] : NULL;
	p->free = &p->items[0];
	for (int i = 0; i < 20; i++) {
		struct pool_item *it = pool_get(p);
		strcpy(it->text, "twenty-three characters");
		it->n = i;
		sum += it->text[5];
	}
	strcpy(p->tail, "tail!!");
	for (int i = 0; i < 20; i++) {
		p->items[i].next = p->free;
		p->free = &p->items[i];
	}
	char *s = sds_new("hello world");
	sum += sds_len(s);
	double *v = vec1(10);
	for (int i = 1; i <= 10; i++)
		v[i] = i;
	for (int i = 10; i >= 1; i--)
		sum += v[i];
	double **m = matrix(5, 6);
	for (int i = 1; i <= 5; i++)
		for (int k = 1; k <= 6; k++)
			m[i][k] = i * k;
	sum += m[5][6];
	struct ring *r = calloc(1, sizeof(*r));
	for (int i = 0; i < 50; i++) {
		ring_put(r, i);
		ring_put(r, i);
		sum += ring_get(r) + ring_get(r);
	}
	snprintf(r->name, sizeof(r->name), "%s", "a ring");
	for (int i = 0; i < 4; i++)
		r->more[i] = r->slot[i + 2] + r->slot[7 - i];
	for (int i = 0; i < 3; i++)
		r->s[i] = r->more[i];
	memcpy(r->last, "last", 5);
	struct game *g = calloc(1, sizeof(*g));
	sum += play(g);
	struct game *h = malloc(sizeof(*h));
	*h = *g;
	swap_bytes(g, h, sizeof(*g));
	words(g, h, sizeof(*g));
	sum += crc(g, sizeof(*g)) + jen(g, sizeof(*g)) + crc(&g->row, sizeof(g->row)) +
	       jen(&r->slot, offsetof(struct ring, more) - offsetof(struct ring, slot));
	struct msg *q = malloc(sizeof(*q)), *q2 = malloc(sizeof(*q2));
	memset(q, 7, sizeof(*q));
	char *wire = malloc(64);
	size_t n = pack(q, wire);
	unpack(q2, wire);
	sum += n + q2->seq + crc(q, offsetof(struct msg, crc));
	sum += memcmp(q, q2, offsetof(struct msg, seq));
	struct gap ga;
	ga.buf = malloc(100);
	ga.g0 = ga.buf + 20;
	ga.g1 = ga.buf + 80;
	ga.end = ga.buf + 100;
	memset(ga.buf, 'x', 100);
	gap_move(&ga, -10);
	gap_move(&ga, 15);
	sum += ga.g1[-1] + *(ga.end - 1);
	struct xnode *prev = NULL, *cur = NULL, *first = NULL;
	for (int i = 0; i < 10; i++) {
		struct xnode *x = malloc(sizeof(*x));
		x->v = i;
		x->both = (uintptr_t)cur;
		if (cur)
			cur->both ^= (uintptr_t)x;
		else
			first = x;
		cur = x;
	}
	for (cur = first, prev = NULL; cur;) {
		struct xnode *next = (struct xnode *)(cur->both ^ (uintptr_t)prev);
		sum += cur->v;
		prev = cur;
		cur = next;
	}
	struct tree *t = NULL;
	for (int i = 0; i < 100; i++)
		t = ins(t, i * 37 % 101);
	sum += tsum(t);
	uintptr_t tag = (uintptr_t)t | 1;
	sum += ((struct tree *)(tag & ~1ul))->key;
	struct skip *sk[10];
	for (int i = 0; i < 10; i++) {
		int lv = 1 + i % 4;
		sk[i] = malloc(sizeof(struct skip) + (lv - 1) * sizeof(struct skip *));
		sk[i]->levels = lv;
		for (int k = 0; k < lv; k++)
			sk[i]->next[k] = i ? sk[i - 1] : NULL;
	}
	for (int i = 0; i < 10; i++)
		for (int k = 0; k < sk[i]->levels; k++)
			sum += sk[i]->next[k] != NULL;
	int *grow = NULL;
	size_t cap = 0, len = 0;
	for (int i = 0; i < 1000; i++) {
		if (len == cap) {
			cap = cap ? cap * 2 : 4;
			int *old = grow;
			ptrdiff_t at = grow ? grow + len - old : 0;
			grow = realloc(grow, cap * sizeof(*grow));
			int *end = grow + at;
			*end = i;
		}
		grow[len++] = i;
	}
	grow = realloc(grow, len * sizeof(*grow));
	for (int *e = grow + len; e != grow;)
		sum += *--e;
	char **argv2 = malloc(4 * sizeof(char *));
	char *block = malloc(40);
	for (int i = 0; i < 3; i++) {
		argv2[i] = block + 10 * i;
		sprintf(argv2[i], "arg%d", i);
	}
	argv2[3] = NULL;
	for (char **z = argv2; *z; z++)
		sum += strlen(*z);
	unsigned char *bits = calloc(1, 17);
	for (int i = 0; i < 136; i += 3)
		bits[i >> 3] |= 1 << (i & 7);
	for (int i = 0; i < 136; i++)
		sum += bits[i / 8] >> i % 8 & 1;
	int16_t *pcm = malloc(2000);
	for (int i = 0; i < 1000; i++)
		pcm[i] = i * i;
	for (int i = 0; i + 3 < 1000; i += 4)
		sum += pcm[i] + pcm[i + 1] + pcm[i + 2] + pcm[i + 3];
	int hist[256] = { 0 };
	for (int i = 0; i < 2000; i++)
		hist[((unsigned char *)pcm)[i]]++;
	sum += hist[3];
	float *fa = malloc(4 * 103), *fb = malloc(4 * 103), *fc = malloc(4 * 103);
	for (int i = 0; i < 103; i++) {
		fa[i] = i;
		fb[i] = 103 - i;
	}
	for (int i = 0; i < 103; i++)
		fc[i] = fa[i] * fb[102 - i] + (i ? fc[i - 1] : 0);
	for (int i = 1; i < 102; i++)
		fa[i] = (fb[i - 1] + fb[i] + fb[i + 1]) / 3;
	sum += fc[102] + fa[50];
	sum += compress(3);
	char *part = NULL;
	line = malloc(1024);
	strcpy(line, "plot sin(x) with lines");
	tokens = calloc(4, sizeof(*tokens));
	tokens[1] = (struct token){ .start = 5, .length = 3 };
	tokens[2] = (struct token){ .start = 8, .length = 3 };
	quote(&part, 1, 2);
	sum += strlen(part);
	printf("%ld\n", sum);
	return 0;
}
