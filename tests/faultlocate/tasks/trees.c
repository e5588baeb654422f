// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
// Trees.
#include "task.h"

/*
 * parent: a search tree with parent pointers. A removed node's only child keeps it as its parent.
 *
 *	bst X, Y; X.left == Y or X.right == Y => Y.parent == X;
 *	bst X, Y; X.parent == Y => Y.left == X or Y.right == X;
 *	CPOINT bst_add; CPOINT bst_remove;
 */
struct bst {
	long key;
	struct bst *left, *right, *parent;
};

OPERATION struct bst *bst_add(struct bst *root, long key)
{
	struct bst *n = calloc(1, sizeof(*n)), **at = &root;

	n->key = key;
	while (*at) {
		n->parent = *at;
		at = key < (*at)->key ? &(*at)->left : &(*at)->right;
	}
	*at = n;
	return root;
}

OPERATION void bst_remove(struct bst *n)
{
	struct bst *child = n->left ? n->left : n->right;

	if (n->parent->left == n)
		n->parent->left = child;
	else
		n->parent->right = child;
	if (child && fixed) /* MISSING parent: bst_remove .parent */
		child->parent = n->parent;
	free(n);
}

static void parent(void)
{
	static const long keys[] = { 50, 20, 80, 10, 30, 70, 5 };
	struct bst *root = NULL;

	for (int i = 0; i < 7; i++)
		root = bst_add(root, keys[i]);
	bst_remove(root->left->right);
	bst_remove(root->left);
}

/*
 * avl: a rotation takes the height of the wrong side.
 *
 *	avl.HEIGHT; avl X;
 *	X.ISLEAF => X.HEIGHT = 0 ||
 *	X.HEIGHT = (X.left.HEIGHT > X.right.HEIGHT) ? X.left.HEIGHT + 1 : X.right.HEIGHT + 1;
 *	avl X; X.height == X.HEIGHT;
 *	CPOINT avl_add;
 */
struct avl {
	int key, height;
	struct avl *left, *right;
};

static int tallest(struct avl *a, struct avl *b)
{
	int l = a ? a->height : -1, r = b ? b->height : -1;

	return l > r ? l : r;
}

OPERATION struct avl *turn_left(struct avl *x)
{
	struct avl *y = x->right;

	x->right = y->left;
	y->left = x;
	x->height = tallest(x->left, fixed ? x->right : y) + 1; /* WRONG avl */
	y->height = tallest(y->left, y->right) + 1;
	return y;
}

OPERATION struct avl *avl_add(struct avl *x, int key)
{
	if (!x) {
		x = calloc(1, sizeof(*x));
		x->key = key;
		return x;
	}
	x->right = avl_add(x->right, key);
	x->height = tallest(x->left, x->right) + 1;
	if (x->right->height > (x->left ? x->left->height : -1) + 1)
		x = turn_left(x);
	return x;
}

static void avl(void)
{
	struct avl *root = NULL;

	for (int i = 0; i < 9; i++)
		root = avl_add(root, i);
}

/*
 * llrb: a left-leaning red-black tree. A flip of colours leaves one child red.
 *
 *	rb.BLACKS NULL 0; rb X;
 *	X.red == 1 => X.BLACKS = X.left.BLACKS || X.BLACKS = X.left.BLACKS + 1;
 *	rb X; X.left != NULL and X.right != NULL => X.left.BLACKS == X.right.BLACKS;
 *	rb X, Y; X.left == Y and X.red == 1 => Y.red == 0;
 *	rb X, Y; X.right == Y => Y.red == 0;
 *	CPOINT rb_insert EXIT;
 */
struct rb {
	int key, red;
	struct rb *left, *right;
};

static struct rb *rb_turn(struct rb *h, bool left)
{
	struct rb *x = left ? h->right : h->left;

	if (left) {
		h->right = x->left;
		x->left = h;
	} else {
		h->left = x->right;
		x->right = h;
	}
	x->red = h->red;
	h->red = 1;
	return x;
}

static struct rb *rb_put(struct rb *h, int key)
{
	if (!h) {
		h = calloc(1, sizeof(*h));
		h->key = key;
		h->red = 1;
		return h;
	}
	if (key < h->key)
		h->left = rb_put(h->left, key);
	else
		h->right = rb_put(h->right, key);
	if (h->right && h->right->red && !(h->left && h->left->red))
		h = rb_turn(h, true);
	if (h->left && h->left->red && h->left->left && h->left->left->red)
		h = rb_turn(h, false);
	if (h->left && h->left->red && h->right && h->right->red) {
		h->red = 1;
		h->left->red = 0;
		h->right->red = fixed || key != 7 ? 0 : 1; /* WRONG llrb */
	}
	return h;
}

OPERATION struct rb *rb_insert(struct rb *root, int key)
{
	root = rb_put(root, key);
	root->red = 0;
	return root;
}

static void llrb(void)
{
	struct rb *root = NULL;

	for (int i = 1; i <= 8; i++)
		root = rb_insert(root, i);
}

/*
 * trie: a node whose child went still leads to it.
 *
 *	trie.NUMBER NULL 0; trie X;
 *	X.NUMBER = (X.children[0].NUMBER > 0 ? 1 : 0) + 1;
 *	trie X; X.OUTDEGREE == X.used;
 *	trie X, Y; X.children[0] != NULL => X.children[0] == Y;
 *	trie X, Y; X.children[1] != NULL => X.children[1] == Y;
 *	CPOINT trie_add; CPOINT trie_cut;
 */
struct trie {
	int used, word;
	struct trie *children[2];
};

OPERATION void trie_add(struct trie *t, unsigned int bits, int length)
{
	for (; length; length--, bits >>= 1) {
		struct trie **child = &t->children[bits & 1];

		if (!*child) {
			*child = calloc(1, sizeof(**child));
			t->used++;
		}
		t = *child;
	}
	t->word = 1;
}

OPERATION void trie_cut(struct trie *t, int bit)
{
	struct trie *child = t->children[bit];

	if (fixed) /* MISSING trie: trie_cut .children */
		t->children[bit] = NULL;
	t->used--;
	free(child);
}

static void trie(void)
{
	struct trie *root = calloc(1, sizeof(*root));

	for (unsigned int i = 0; i < 8; i++)
		trie_add(root, i, 3);
	trie_cut(root->children[0]->children[1], 1);
}

/*
 * leftist: a heap whose null path lengths are not renewed by a merge.
 *
 *	leftist.NPL NULL 0; leftist X; X.right == NULL => X.NPL = 1 || X.NPL = X.right.NPL + 1;
 *	leftist X; X.npl == X.NPL;
 *	CPOINT merge EXIT;
 */
struct leftist {
	int key, npl;
	struct leftist *left, *right;
};

OPERATION struct leftist *merge(struct leftist *a, struct leftist *b)
{
	struct leftist *other;

	if (!a || !b)
		return a ? a : b;
	if (b->key < a->key) {
		other = a;
		a = b;
		b = other;
	}
	a->right = merge(a->right, b);
	if (!a->left || a->left->npl < a->right->npl) {
		other = a->left;
		a->left = a->right;
		a->right = other;
	}
	if (fixed) /* MISSING leftist: merge .npl */
		a->npl = a->right ? a->right->npl + 1 : 1;
	return a;
}

static void leftist(void)
{
	static const int keys[] = { 5, 3, 8, 1, 9, 2 };
	struct leftist *root = NULL;

	for (int i = 0; i < 6; i++) {
		struct leftist *n = calloc(1, sizeof(*n));

		n->key = keys[i];
		n->npl = 1;
		root = merge(root, n);
	}
}

/*
 * treap: a tree that knows how many nodes are below each. A rotation renews one of two.
 *
 *	treap.SIZE NULL 0; treap X; X.SIZE = X.left.SIZE + X.right.SIZE + 1;
 *	treap X; X.size == X.SIZE;
 *	CPOINT treap_add EXIT;
 */
struct treap {
	int key, weight, size;
	struct treap *left, *right;
};

static int treap_size(struct treap *t)
{
	return t ? t->size : 0;
}

OPERATION struct treap *lift_right(struct treap *t)
{
	struct treap *up = t->right;

	t->right = up->left;
	up->left = t;
	up->size = t->size;
	if (fixed) /* MISSING treap: lift_right .size */
		t->size = treap_size(t->left) + treap_size(t->right) + 1;
	return up;
}

OPERATION struct treap *treap_add(struct treap *t, int key, int weight)
{
	if (!t) {
		t = calloc(1, sizeof(*t));
		t->key = key;
		t->weight = weight;
		t->size = 1;
		return t;
	}
	t->right = treap_add(t->right, key, weight);
	t->size = treap_size(t->left) + treap_size(t->right) + 1;
	if (t->right->weight > t->weight)
		t = lift_right(t);
	return t;
}

static void treap(void)
{
	struct treap *root = NULL;

	root = treap_add(root, 1, 50);
	root = treap_add(root, 2, 40);
	root = treap_add(root, 3, 30);
	root = treap_add(root, 4, 45);
}

/*
 * rope: text in pieces; who joins two says how long the wrong one is.
 *
 *	rope.LENGTH NULL 0; rope X;
 *	X.left == NULL => X.LENGTH = X.weight || X.LENGTH = X.left.LENGTH + X.right.LENGTH;
 *	rope X; X.left != NULL => X.weight == X.left.LENGTH;
 *	CPOINT join EXIT;
 */
struct rope {
	unsigned int weight;
	struct rope *left, *right;
	char text[16];
};

static unsigned int rope_length(struct rope *r)
{
	return !r ? 0 : r->left ? r->weight + rope_length(r->right) : r->weight;
}

static struct rope *piece(const char *text)
{
	struct rope *r = calloc(1, sizeof(*r));

	strcpy(r->text, text);
	r->weight = strlen(text);
	return r;
}

OPERATION struct rope *join(struct rope *a, struct rope *b)
{
	struct rope *r = calloc(1, sizeof(*r));

	r->left = a;
	r->right = b;
	r->weight = fixed ? rope_length(a) : a->weight; /* WRONG rope */
	return r;
}

static void rope(void)
{
	struct rope *ab = join(piece("heap"), piece("fault"));

	join(join(ab, piece("line")), piece("."));
}

/*
 * rotation: a rotation with parent pointers tells one child the wrong one.
 *
 *	splay X, Y; X.left == Y or X.right == Y => Y.parent == X;
 *	CPOINT splay_up; CPOINT splay_add;
 */
struct splay {
	int key;
	struct splay *left, *right, *parent;
};

OPERATION struct splay *splay_add(struct splay *below, int key)
{
	struct splay *s = calloc(1, sizeof(*s));

	s->key = key;
	s->left = below;
	if (below)
		below->parent = s;
	return s;
}

OPERATION void splay_up(struct splay *x)
{
	struct splay *p = x->parent, *inner = x->right;

	x->parent = p->parent;
	if (p->parent)
		p->parent->left = x;
	x->right = p;
	p->parent = x;
	p->left = inner;
	if (inner)
		inner->parent = fixed ? p : x; /* WRONG rotation */
}

static void rotation(void)
{
	struct splay *top = NULL, *deep;

	for (int i = 0; i < 6; i++)
		top = splay_add(top, i);
	deep = top->left->left->left;
	splay_up(deep);
	splay_up(deep);
}

static const struct task tasks[] = {
	{ "parent", parent }, { "avl", avl },		{ "llrb", llrb },
	{ "trie", trie },     { "leftist", leftist },	{ "treap", treap },
	{ "rope", rope },     { "rotation", rotation }, { NULL, NULL },
};

int main(int argc, char **argv)
{
	return run_task(tasks, argc, argv);
}
