// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
#include "../task.h"
#include <stdio.h>

/*
 * radix: a tree of texts by their common beginnings; a node knows where its part begins. What is
 * split off begins where it did.
 *
 *	rnode N, M; N -> M => M.start == N.start + N.len;
 *	CPOINT radix_add;
 */
struct rnode {
	int start, len;
	char text[16];
	int n_children;
	struct rnode *child[8];
};

static struct rnode *rnode_new(const char *text, int start)
{
	struct rnode *n = calloc(1, sizeof(*n));

	n->start = start;
	n->len = strlen(text);
	memcpy(n->text, text, n->len);
	return n;
}

static void radix_split(struct rnode *n, int at)
{
	struct rnode *low = rnode_new(n->text + at, n->start);

	low->n_children = n->n_children;
	memcpy(low->child, n->child, sizeof(low->child));
#ifdef FIXED
	low->start += at;
#else
	low->start += at - 1; /* WRONG radix */
#endif
	memset(n->child, 0, sizeof(n->child));
	n->text[at] = 0;
	n->len = at;
	n->child[0] = low;
	n->n_children = 1;
}

OPERATION void radix_add(struct rnode *root, const char *text)
{
	struct rnode *n = root;
	int at = 0;

	for (;;) {
		int same = 0, i;

		while (same < n->len && text[at + same] == n->text[same])
			same++;
		if (same < n->len)
			radix_split(n, same);
		at += same;
		for (i = 0; i < n->n_children; i++)
			if (n->child[i]->text[0] == text[at])
				break;
		if (i == n->n_children) {
			n->child[n->n_children++] = rnode_new(text + at, at);
			return;
		}
		n = n->child[i];
	}
}

static void radix(void)
{
	struct rnode *root = rnode_new("", 0);

	radix_add(root, "romane");
	radix_add(root, "ruber");
	radix_add(root, "xylo");
	radix_add(root, "romulus");
	radix_add(root, "rubicon");
}

/*
 * pages: a cache that drops the page used longest ago; pages in it are counted, and in chains by
 * number. One that is dropped still counts.
 *
 *	ROOT page_cache AS cache;
 *	page.LEN NULL 0; page P; P.LEN = P.older.LEN + 1;
 *	page P; P.older != NULL => P.older.newer == P;
 *	cache.newest.LEN == cache.n;
 *	CPOINT page_get; CPOINT page_forget;
 */
struct page {
	unsigned number;
	struct page *older, *newer, *chain;
};

static struct {
	struct page *newest, *oldest;
	struct page *chain[4];
	unsigned n, hits;
} page_cache;

static void page_unlist(struct page *p)
{
	*(p->newer ? &p->newer->older : &page_cache.newest) = p->older;
	*(p->older ? &p->older->newer : &page_cache.oldest) = p->newer;
}

static void page_list(struct page *p)
{
	p->newer = NULL;
	p->older = page_cache.newest;
	*(p->older ? &p->older->newer : &page_cache.oldest) = p;
	page_cache.newest = p;
}

OPERATION void page_forget(struct page *p)
{
	struct page **at = &page_cache.chain[p->number % 4];

	while (*at != p)
		at = &(*at)->chain;
	*at = p->chain;
	page_unlist(p);
#ifdef FIXED
	page_cache.n--;
#endif
	free(p);
} /* MISSING pages: page_forget .n */

OPERATION struct page *page_get(unsigned number)
{
	struct page *p = page_cache.chain[number % 4];

	while (p && p->number != number)
		p = p->chain;
	if (p) {
		page_unlist(p);
		page_cache.hits++;
	} else {
		p = malloc(sizeof(*p));
		p->number = number;
		p->chain = page_cache.chain[number % 4];
		page_cache.chain[number % 4] = p;
		page_cache.n++;
	}
	page_list(p);
	return p;
}

static void pages(void)
{
	for (unsigned i = 0; i < 6; i++)
		page_get(i * 3);
	page_get(6);
	page_forget(page_cache.oldest);
	page_get(77);
}

/*
 * btree: a B-tree, at most four keys a node. What a split leaves in the left one is a key too many.
 *
 *	bnode N; for I in 0 to 3, I >= N.n => N.key[I] == 0;
 *	bnode N; for I in 0 to 2, I + 1 < N.n => N.key[I] < N.key[I + 1];
 *	bnode N; for I in 0 to 4, N.is_leaf == 0 and I <= N.n => N.child[I] != NULL;
 *	bnode N, M; N.child[0] == M => M.key[0] < N.key[0];
 *	CPOINT btree_add;
 */
struct bnode {
	int n, is_leaf;
	int key[4];
	struct bnode *child[5];
};

static struct bnode *btree_root;

static struct bnode *bnode_new(int is_leaf)
{
	struct bnode *b = calloc(1, sizeof(*b));

	b->is_leaf = is_leaf;
	return b;
}

static void btree_split(struct bnode *up, int at)
{
	struct bnode *left = up->child[at], *right = bnode_new(left->is_leaf);

	right->n = 1;
	right->key[0] = left->key[3];
	right->child[0] = left->child[3];
	right->child[1] = left->child[4];
	for (int i = up->n; i > at; i--) {
		up->key[i] = up->key[i - 1];
		up->child[i + 1] = up->child[i];
	}
	up->key[at] = left->key[2];
	up->child[at + 1] = right;
	up->n++;
	left->key[2] = left->key[3] = 0;
	left->child[3] = left->child[4] = NULL;
#ifdef FIXED
	left->n = 2;
#else
	left->n = 3; /* WRONG btree */
#endif
}

OPERATION void btree_add(int key)
{
	struct bnode *b = btree_root;
	int i;

	if (b->n == 4) {
		b = bnode_new(0);
		b->child[0] = btree_root;
		btree_root = b;
		btree_split(b, 0);
	}
	for (;;) {
		for (i = 0; i < b->n && b->key[i] < key; i++)
			;
		if (b->is_leaf)
			break;
		if (b->child[i]->n == 4) {
			btree_split(b, i);
			i += key > b->key[i];
		}
		b = b->child[i];
	}
	for (int k = b->n; k > i; k--)
		b->key[k] = b->key[k - 1];
	b->key[i] = key;
	b->n++;
}

static void btree(void)
{
	static const int keys[] = { 50, 20, 70, 90, 30, 10, 60, 80 };

	btree_root = bnode_new(1);
	for (int i = 0; i < 8; i++)
		btree_add(keys[i]);
}

/*
 * upavl: an AVL tree with parents. What a turn to the left hands over does not know its new parent.
 *
 *	avl A, B; A.left == B => B.up == A;
 *	avl A, B; A.right == B => B.up == A;
 *	avl A; A.up != NULL => A.up.left == A or A.up.right == A;
 *	CPOINT avl_add;
 */
struct avl {
	int key, height;
	struct avl *left, *right, *up;
};

static struct avl *avl_root;

static int height(const struct avl *a) { return a ? a->height : 0; }

static void renew(struct avl *a)
{
	int l = height(a->left), r = height(a->right);

	a->height = (l > r ? l : r) + 1;
}

static void hang(struct avl *old, struct avl *new)
{
	new->up = old->up;
	*(!old->up ? &avl_root : old->up->left == old ? &old->up->left : &old->up->right) =
		new;
	old->up = new;
}

static void turn_left(struct avl *a)
{
	struct avl *b = a->right;

	hang(a, b);
	a->right = b->left;
#ifdef FIXED
	if (a->right)
		a->right->up = a;
#endif
	b->left = a; /* MISSING upavl: turn_left .up */
	renew(a);
	renew(b);
}

static void turn_right(struct avl *a)
{
	struct avl *b = a->left;

	hang(a, b);
	a->left = b->right;
	if (a->left)
		a->left->up = a;
	b->right = a;
	renew(a);
	renew(b);
}

OPERATION void avl_add(int key)
{
	struct avl **at = &avl_root, *up = NULL, *n = calloc(1, sizeof(*n));

	while (*at) {
		up = *at;
		at = key < up->key ? &up->left : &up->right;
	}
	n->key = key;
	n->height = 1;
	n->up = up;
	*at = n;
	for (n = up; n; n = n->up) {
		renew(n);
		if (height(n->left) > height(n->right) + 1) {
			if (height(n->left->right) > height(n->left->left))
				turn_left(n->left);
			turn_right(n);
		} else if (height(n->right) > height(n->left) + 1) {
			if (height(n->right->left) > height(n->right->right))
				turn_right(n->right);
			turn_left(n);
		}
	}
}

static void upavl(void)
{
	static const int keys[] = { 50, 30, 20, 60, 70, 55, 45, 80, 75, 90 };

	for (int i = 0; i < 10; i++)
		avl_add(keys[i]);
}

/*
 * guard: a ring with a sentinel of its own type. What is put behind one is not known to the next.
 *
 *	dl D; D.next.prev == D;
 *	dl D; D.prev.next == D;
 *	CPOINT dl_put_behind; CPOINT dl_take;
 */
struct dl {
	struct dl *prev, *next;
	char name[8];
};

static struct dl *dl_new(int i)
{
	struct dl *d = malloc(sizeof(*d));

	snprintf(d->name, sizeof(d->name), "d%d", i);
	d->prev = d->next = d;
	return d;
}

OPERATION void dl_put_behind(struct dl *at, struct dl *d)
{
	struct dl *next = at->next;

	d->prev = at;
	d->next = next;
	at->next = d;
#ifdef FIXED
	next->prev = d;
#else
	next->prev = d->prev; /* WRONG guard */
#endif
}

OPERATION void dl_take(struct dl *d)
{
	d->prev->next = d->next;
	d->next->prev = d->prev;
	d->prev = d->next = d;
}

static void guard(void)
{
	struct dl *ring = dl_new(0), *d = NULL;

	for (int i = 1; i < 5; i++) {
		d = dl_new(i);
		dl_put_behind(ring, d);
	}
	dl_take(d);
	dl_put_behind(ring->next, d);
}

/*
 * staff: departments with their people, one of whom leads. Who leads and goes to another
 * department leads the old one on.
 *
 *	dept D; D.leader != NULL => D.leader.dept == D;
 *	person.LEN NULL 0; person P; P.LEN = P.next.LEN + 1;
 *	dept D; D.people.LEN == D.n_people;
 *	CPOINT dept_hire; CPOINT dept_move;
 */
struct person {
	struct person *next;
	struct dept *dept;
	int id;
};
struct dept {
	struct dept *next;
	struct person *people, *leader;
	int n_people;
};

static void dept_enter(struct dept *d, struct person *p)
{
	p->dept = d;
	p->next = d->people;
	d->people = p;
	d->n_people++;
}

OPERATION struct person *dept_hire(struct dept *d, int id)
{
	struct person *p = calloc(1, sizeof(*p));

	p->id = id;
	dept_enter(d, p);
	if (!d->leader)
		d->leader = p;
	return p;
}

OPERATION void dept_move(struct person *p, struct dept *to)
{
	struct dept *from = p->dept;
	struct person **at = &from->people;

	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	from->n_people--;
#ifdef FIXED
	if (from->leader == p)
		from->leader = from->people;
#endif
	dept_enter(to, p); /* MISSING staff: dept_move .leader */
}

static void staff(void)
{
	struct dept *a = calloc(1, sizeof(*a)), *b = calloc(1, sizeof(*b));
	struct person *first;

	a->next = b;
	first = dept_hire(a, 1);
	dept_hire(b, 2);
	dept_hire(a, 3);
	dept_move(dept_hire(a, 4), b);
	dept_move(first, b);
	dept_hire(b, 5);
}

int main(int argc, char **argv)
{
	static const struct task tasks[] = {
		{ "radix", radix }, { "pages", pages }, { "btree", btree },
		{ "upavl", upavl }, { "guard", guard }, { "staff", staff },
		{ NULL, NULL },
	};

	return run_task(tasks, argc, argv);
}
