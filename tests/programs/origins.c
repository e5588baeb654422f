// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
// FLAGS: -w

/**
 * @file
 * origins FORM: ends by a signal because of a value that came a longer way: BAD FORM is the
 * statement that stored it, or released what it was read from; USE FORM where it ended.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stdarg.h>
#define APART __attribute__((noinline))
static volatile int zero;
struct item {
	struct item *next, *prev;
	int id;
	char tag[8];
	void *data;
};
struct pool {
	struct item *items[8];
	int n;
	struct item *free;
	struct pool *up;
};
static struct pool the_pool;
static struct item *global_cursor;
static __thread struct item *current;

/* hash bucket cleared by rehash with wrong size */
struct map {
	struct item **bucket;
	unsigned n;
};
static APART void map_grow(struct map *m)
{
	unsigned n = m->n * 2;
	struct item **b = malloc(n * sizeof(*b));

	memcpy(b, m->bucket, m->n * sizeof(*b));
	for (unsigned i = m->n; i < n; i++)
		b[i] = (struct item *)(uintptr_t)(0x1000u * i + 0x77); /* BAD bucket */
	free(m->bucket);
	m->bucket = b;
	m->n = n;
}
static APART int map_get(struct map *m, unsigned h)
{
	struct item *i = m->bucket[h % m->n];

	return i->id; /* USE bucket */
}
static int bucket(void)
{
	struct map m = { calloc(4, sizeof(void *)), 4 };

	map_grow(&m);
	return map_get(&m, 6 + zero);
}
/* list: prev pointer set to NULL on the wrong node */
static APART struct item *item_new(struct item *next, int id)
{
	struct item *i = calloc(1, sizeof(*i));

	i->next = next;
	i->id = id;
	if (next)
		next->prev = i;
	return i;
}
static APART void unlink_item(struct item *i)
{
	i->prev->next = i->next;
	i->next->prev = NULL; /* BAD unlink */
	free(i);
}
static APART void unlink_again(struct item *i)
{
	i->prev->next = i->next; /* USE unlink */
	free(i);
}
static int do_unlink(void)
{
	struct item *l = item_new(item_new(item_new(item_new(NULL, 4), 3), 2), 1);
	struct item *third = l->next->next;

	unlink_item(l->next);
	unlink_again(third);
	return 0;
}
/* a global set elsewhere */
static APART void cursor_reset(void)
{
	global_cursor = NULL; /* BAD global */
}
static APART int cursor_id(void)
{
	return global_cursor->id; /* USE global */
}
static int do_global(void)
{
	global_cursor = item_new(NULL, 1);
	printf("%d\n", cursor_id());
	cursor_reset();
	return cursor_id();
}
/* thread local */
static APART void current_set(struct item *i, int is)
{
	current = is ? i : NULL; /* BAD tls */
}
static APART int current_id(void)
{
	return current->id; /* USE tls */
}
static int do_tls(void)
{
	current_set(item_new(NULL, 2), 1);
	printf("%d\n", current_id());
	current_set(current, zero);
	return current_id();
}
/* tagged pointer not untagged */
static APART struct item *tag(struct item *i)
{
	return (struct item *)((uintptr_t)i | (UINT64_C(1) << 63)); /* BAD tagged */
}
static APART void keep_tagged(struct pool *p, struct item *i)
{
	p->items[p->n++] = tag(i);
}
static APART int use_tagged(struct pool *p)
{
	return p->items[0]->id; /* USE tagged */
}
static int do_tagged(void)
{
	keep_tagged(&the_pool, item_new(NULL, 1));
	return use_tagged(&the_pool);
}
/* memset over struct with a pointer */
static APART void wipe(struct item *i)
{
	memset(i, 0, sizeof(*i)); /* BAD wipe */
	i->id = 5;
}
static APART int next_id(struct item *i)
{
	return i->next->id; /* USE wipe */
}
static int do_wipe(void)
{
	struct item *l = item_new(item_new(NULL, 2), 1);

	printf("%d\n", next_id(l));
	wipe(l);
	return next_id(l);
}
/* struct assignment of a zero struct */
static APART void assign(struct item *to, const struct item *from)
{
	*to = *from;
}
static APART void blank(struct item *b)
{
	b->next = (struct item *)8; /* BAD assign */
	b->id = 2;
}
static APART int assigned(struct item *i)
{
	return i->next->id; /* USE assign */
}
static int do_assign(void)
{
	struct item *l = item_new(item_new(NULL, 2), 1), b = {};

	blank(&b);
	assign(l, &b);
	return assigned(l);
}
/* strcpy into tag overruns data */
static APART void set_tag(struct item *i, const char *t)
{
	strcpy(i->tag, t); /* BAD strcpy */
}
static APART int tagged(struct item *i)
{
	return *(int *)i->data; /* USE strcpy */
}
static int do_strcpy(void)
{
	struct item *i = item_new(NULL, 1);

	i->data = &i->id;
	set_tag(i, "abcdefghijklmnopqrstuvw");
	return tagged(i);
}
/* sprintf likewise */
static APART void name_item(struct item *i, int n)
{
	sprintf(i->tag, "item number %d of many", n); /* BAD sprintf */
}
static APART int named(struct item *i)
{
	return *(int *)i->data; /* USE sprintf */
}
static int do_sprintf(void)
{
	struct item *i = item_new(NULL, 1);

	i->data = &i->id;
	name_item(i, 12345678);
	return named(i);
}
/* a table of functions */
typedef int (*op_fn)(int);
static int add1(int n)
{
	return n + 1 + zero;
}
static op_fn ops[4] = { add1, add1 };
static APART int call_op(int k)
{
	return ops[k](3); /* USE ops */
}
static int do_ops(void)
{
	printf("%d\n", call_op(0));
	return call_op(3 + zero);
}
/* the index computed from a negative */
static APART int position(int id)
{
	return id * -1000000; /* BAD negative */
}
static APART int at(struct item **all, long k)
{
	return all[k]->id; /* USE negative */
}
static int do_negative(void)
{
	struct item **all = calloc(10, sizeof(*all));

	return at(all, position(900 + zero));
}
/* recursion: deep chain through tree */
struct tree {
	int k;
	struct tree *l, *r;
};
static APART struct tree *tree_new(int k)
{
	struct tree *t = malloc(sizeof(*t)); /* BAD tree */

	t->k = k;
	t->l = NULL;
	return t;
}
static APART int tree_sum(struct tree *t)
{
	return t ? t->k + tree_sum(t->l) + tree_sum(t->r) : 0; /* USE tree */
}
static int do_tree(void)
{
	char *p[4];

	for (int i = 0; i < 4; i++)
		memset(p[i] = malloc(sizeof(struct tree)), 0x41, sizeof(struct tree));
	for (int i = 0; i < 4; i++)
		free(p[i]);
	struct tree *t = tree_new(1);
	t->l = NULL;
	return tree_sum(t);
}
/* freed through a getter, reused memory */
static APART void release(struct pool *p)
{
	free(p->free); /* BAD reuse */
}
static APART int take(struct pool *p)
{
	struct item *i = p->free;

	return i->next->id; /* USE reuse */
}
static int do_reuse(void)
{
	the_pool.free = item_new(item_new(NULL, 2), 1);
	release(&the_pool);
	return take(&the_pool);
}
/* varargs */
static APART int sum_ids(int n, ...)
{
	va_list ap;
	int sum = 0;

	va_start(ap, n);
	for (int i = 0; i < n; i++)
		sum += va_arg(ap, struct item *)->id; /* USE varargs */
	va_end(ap);
	return sum;
}
static int do_varargs(void)
{
	struct item *a = item_new(NULL, 1);

	return sum_ids(2, a, NULL); /* BAD varargs */
}
/* packed pointers by 32 bits: truncated */
static APART void store32(uint32_t *where, struct item *i)
{
	*where = (uint32_t)(uintptr_t)i; /* BAD cut */
}
static APART int load32(uint32_t *where)
{
	return ((struct item *)(uintptr_t)*where)->id; /* USE cut */
}
static int do_cut(void)
{
	uint32_t where;

	store32(&where, item_new(NULL, 3));
	return load32(&where);
}
/* swap */
static APART void swap(struct item **a, struct item **b)
{
	struct item *t = *a;

	*a = *b;
	*b = t;
}
static APART void spoil(struct item **a)
{
	*a = (struct item *)(uintptr_t)0xabcdef; /* BAD swap */
}
static APART int of_second(struct item **all)
{
	return all[2]->id; /* USE swap */
}
static int do_swap(void)
{
	struct item *all[4];

	for (int i = 0; i < 4; i++)
		all[i] = item_new(NULL, i);
	spoil(&all[0]);
	swap(&all[0], &all[1]);
	swap(&all[1], &all[2]);
	return of_second(all);
}

/* The values of pointers that are copied with what they are in. */
struct rec {
	char kind;
	struct item *i;
	short n;
} __attribute__((packed));
static APART void rec_set(struct rec *r, long k)
{
	r->i = (struct item *)(k << 20); /* BAD packed */
	r->kind = 'i';
}
static APART int rec_use(struct rec *r)
{
	return r->i->id + r->n; /* USE packed */
}
static int do_packed(void)
{
	struct rec *r = calloc(2, sizeof(*r)), *copy = calloc(1, sizeof(*copy));

	rec_set(r, 3 + zero);
	memcpy(copy, r, sizeof(*copy)); // moves that overlap
	return rec_use(copy);
}
/* an array in which others are put before it */
static APART void shift_break(struct item **v, int at)
{
	v[at] = (struct item *)0x5a5a5a5a5a; /* BAD shift */
}
static APART void shift_by(struct item **v, int n, int at)
{
	memmove(v + at + 1, v + at, (n - at) * sizeof(*v));
	v[at] = item_new(NULL, at);
}
static APART int shift_sum(struct item **v, int n)
{
	int sum = 0;

	for (int i = 0; i < n; i++)
		sum += v[i]->id; /* USE shift */
	return sum;
}
static int do_shift(void)
{
	struct item **v = calloc(20, sizeof(*v));

	for (int i = 0; i < 10; i++)
		v[i] = item_new(NULL, i);
	shift_break(v, 4);
	shift_by(v, 10, 2);
	shift_by(v, 11, 0);
	return shift_sum(v, 12);
}
/* one that is wiped, and copied */
static APART void poison(struct item **v, int n)
{
	memset(v, 0x5a, n * sizeof(*v)); /* BAD poison */
}
static APART int poisoned(struct item **v)
{
	return v[3]->id; /* USE poison */
}
static int do_poison(void)
{
	struct item **v = calloc(8, sizeof(*v)), **copy = calloc(8, sizeof(*copy));

	poison(v, 6 + zero);
	memcpy(copy, v, 8 * sizeof(*v));
	return poisoned(copy);
}
/* one that realloc leaves where it is, moves, and maps anew */
static APART void grow_bad(struct item **v, int i)
{
	v[i] = (struct item *)(uintptr_t)(0x999 + i); /* BAD grown */
}
static APART int grown(struct item **v)
{
	return v[5]->id; /* USE grown */
}
static int do_grown(void)
{
	struct item **v = NULL, *wall;

	v = realloc(v, 48);
	for (int i = 0; i < 5; i++)
		v[i] = NULL;
	grow_bad(v, 5);
	for (size_t n = 96; n < 2000000; n *= n < 200 ? 2 : 60) {
		v = realloc(v, n * 8);
		wall = n > 100 ? item_new(NULL, 1) : NULL;
	}
	return grown(v) + wall->id;
}
/* .. and of one that it gave an element that nobody stored */
static APART struct item **grow_only(struct item **v, int n)
{
	v = realloc(v, n * sizeof(*v)); /* BAD ungrown */
	v[0]->id++;
	return v;
}
static APART int ungrown(struct item **v)
{
	return v[3]->id; /* USE ungrown */
}
static int do_ungrown(void)
{
	struct item **v = malloc(2 * sizeof(*v)), *p = malloc(8 * sizeof(*v));

	v[0] = v[1] = item_new(NULL, 1);
	memset(p, 0x11, 8 * sizeof(*v));
	free(p);
	return ungrown(grow_only(v, 8));
}
/* numbers that become pointers */
struct pair {
	struct item *a;
	long n;
};
static APART void pair_bad(struct pair *p)
{
	p->a = (struct item *)(p->n * 3 + 1); /* BAD tripled */
}
static APART int pairs_sum(struct pair *p, int n)
{
	int sum = 0;

	for (int i = 0; i < n; i++)
		sum += p[i].a->id; /* USE tripled */
	return sum;
}
static int do_tripled(void)
{
	struct pair p[6], copy[6];

	for (int i = 0; i < 6; i++)
		p[i] = (struct pair){ item_new(NULL, i), i + 2 };
	pair_bad(&p[2]);
	for (int i = 0; i < 6; i++)
		copy[i] = p[5 - i];
	return pairs_sum(copy, 6);
}
static APART void set_mark(struct item *i)
{
	i->prev = (void *)((uintptr_t)i->prev | 1ul << 63 | 1); /* BAD mark */
}
static APART int marked(struct item *i)
{
	return ((struct item *)((uintptr_t)i->prev & ~(uintptr_t)1))->id; /* USE mark */
}
static int do_mark(void)
{
	struct item *i = item_new(NULL, 1);

	i->prev = item_new(NULL, 2);
	set_mark(i);
	return marked(i);
}
struct cursor {
	long at, end;
};
static APART void seek_to(struct cursor *c, long k)
{
	c->at = k * 4096; /* BAD cursor */
}
static APART int at_cursor(const int *v, const struct cursor *c)
{
	return v[c->at]; /* USE cursor */
}
static int do_cursor(void)
{
	struct cursor c = {}, copy;
	int *v = calloc(10, sizeof(*v));

	seek_to(&c, 1000000 + zero);
	copy = c;
	return at_cursor(v, &copy);
}
/* a constant that a loop loads where it begins again */
static APART void fill_pairs(struct pair *p, int n)
{
	for (int i = 0; i < n; i++) {
		p[i].n = n - i;
		p[i].a = i == 3 ? (void *)0x77 : item_new(0, i); /* BAD sorted */
	}
}
static int by_n(const void *a, const void *b)
{
	return (int)((const struct pair *)a)->n - (int)((const struct pair *)b)->n;
}
static APART int sorted_sum(struct pair *p, int n)
{
	int sum = 0;

	for (int i = 0; i < n; i++)
		sum += p[i].a->id; /* USE sorted */
	return sum;
}
static int do_sorted(void)
{
	struct pair *p = malloc(8 * sizeof(*p));

	fill_pairs(p, 8);
	qsort(p, 8, sizeof(*p), by_n);
	return sorted_sum(p, 8);
}

/* A list whose links are the exclusive or of both neighbours. */
static APART void xored_link(struct item *n, struct item *a, struct item *b)
{
	n->next = (struct item *)((uintptr_t)a ^ (uintptr_t)b);
}
static APART void xored_break(struct item *n)
{
	n->next = (struct item *)((uintptr_t)n->next ^ 1ul << 62); /* BAD xored */
}
static APART int xored_sum(struct item *n)
{
	struct item *prev = NULL;
	int sum = 0;

	while (n) {
		struct item *next = (struct item *)((uintptr_t)n->next ^ (uintptr_t)prev);

		sum += n->id; /* USE xored */
		prev = n;
		n = next;
	}
	return sum;
}
static int do_xored(void)
{
	struct item *a = item_new(0, 1), *b = item_new(0, 2), *c = item_new(0, 3);

	xored_link(a, NULL, b);
	xored_link(b, a, c);
	xored_link(c, b, NULL);
	xored_break(b);
	return xored_sum(a);
}
/* Pointers beside a tag in a word, and those that look like a number that is none. */
struct word {
	uint64_t tag : 16, ptr : 48;
};
static APART void word_set(struct word *w, struct item *i, int shift)
{
	w->tag = 7;
	w->ptr = (uint64_t)(uintptr_t)i >> shift; /* BAD word */
}
static APART int word_use(struct word *w)
{
	return ((struct item *)(uintptr_t)w->ptr)->id; /* USE word */
}
static int do_word(void)
{
	struct word w;

	word_set(&w, item_new(NULL, 1), 4 + zero);
	return word_use(&w);
}
static APART void box(double *v, uint64_t addr)
{
	addr |= 0x7ff9ul << 48;
	memcpy(v, &addr, sizeof(addr));
}
static APART struct item *unbox(const double *v)
{
	uint64_t bits;

	memcpy(&bits, v, sizeof(bits));
	return (struct item *)(uintptr_t)(bits & 0xffffffffffff);
}
static int do_boxed(void)
{
	double v[2];

	box(&v[0], (uintptr_t)item_new(NULL, 1));
	box(&v[1], 77 + zero); /* BAD boxed */
	v[0] = v[1];
	return unbox(v)->id; /* USE boxed */
}
/* an index in two bytes */
static APART void set_brief(short *next, int at)
{
	next[at] = -30000 + zero; /* BAD brief */
}
static APART int use_brief(const struct pair *p, const short *next)
{
	int i = 1, sum = 0;

	while (i) {
		sum += p[i].n; /* USE brief */
		i = next[i];
	}
	return sum;
}
static int do_brief(void)
{
	struct pair *p = calloc(4, sizeof(*p));
	short next[4] = { 0, 2, 3, 0 };

	set_brief(next, 2);
	return use_brief(p, next);
}

static int run(const char *f)
{
#define FORM(n, c)          \
	if (!strcmp(f, #n)) \
	return c
	FORM(bucket, bucket());
	FORM(unlink, do_unlink());
	FORM(global, do_global());
	FORM(tls, do_tls());
	FORM(tagged, do_tagged());
	FORM(wipe, do_wipe());
	FORM(assign, do_assign());
	FORM(strcpy, do_strcpy());
	FORM(sprintf, do_sprintf());
	FORM(ops, do_ops());
	FORM(negative, do_negative());
	FORM(tree, do_tree());
	FORM(reuse, do_reuse());
	FORM(varargs, do_varargs());
	FORM(cut, do_cut());
	FORM(swap, do_swap());
	FORM(packed, do_packed());
	FORM(shift, do_shift());
	FORM(poison, do_poison());
	FORM(grown, do_grown());
	FORM(ungrown, do_ungrown());
	FORM(tripled, do_tripled());
	FORM(mark, do_mark());
	FORM(cursor, do_cursor());
	FORM(sorted, do_sorted());
	FORM(xored, do_xored());
	FORM(word, do_word());
	FORM(boxed, do_boxed());
	FORM(brief, do_brief());
	return 3;
}
int main(int argc, char **argv)
{
	setbuf(stdout, NULL);
	return argc > 1 ? run(argv[1]) : 2;
}
