// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
#include "../task.h"

/*
 * threaded: a search tree whose empty right links lead on to the next in order. What is put to the left
 * does not lead on.
 *
 *	thr T; T.right != NULL => T.right.key > T.key;
 *	thr T; T.left != NULL => T.left.key < T.key and (T.left.threaded == 0 or T.left.right == T);
 *	CPOINT thr_add;
 */
struct thr {
	int key;
	char threaded;
	struct thr *left, *right;
};

static struct thr *thr_root;

OPERATION void thr_add(int key)
{
	struct thr *n = calloc(1, sizeof(*n)), *at = thr_root;

	n->key = key;
	n->threaded = 1;
	if (!at) {
		thr_root = n;
		return;
	}
	for (;;) {
		if (key < at->key) {
			if (!at->left) {
#ifdef FIXED
				n->right = at;
#else
				n->right = at->threaded ? at->right : at; /* WRONG threaded */
#endif
				at->left = n;
				return;
			}
			at = at->left;
		} else {
			if (at->threaded) {
				n->right = at->right;
				at->right = n;
				at->threaded = 0;
				return;
			}
			at = at->right;
		}
	}
}

static void threaded(void)
{
	static const int keys[] = { 50, 70, 20, 30, 60, 80, 10 };

	for (int i = 0; i < 7; i++)
		thr_add(keys[i]);
}

/*
 * dictionary: words by their letters; each node knows how many words begin like this. A word taken out
 * is not counted off on the way.
 *
 *	letter.WORDS NULL 0; letter L;
 *	L.WORDS = L.is_end + L.of[0].WORDS + L.of[1].WORDS + L.of[2].WORDS + L.of[3].WORDS;
 *	letter L; L.words == L.WORDS;
 *	CPOINT word_add; CPOINT word_remove;
 */
struct letter {
	int words, is_end;
	struct letter *of[4];
};

static struct letter *dictionary_root;

OPERATION void word_add(const char *w)
{
	struct letter *l = dictionary_root;

	l->words++;
	for (; *w; w++) {
		struct letter **next = &l->of[*w - 'a'];

		if (!*next)
			*next = calloc(1, sizeof(**next));
		l = *next;
		l->words++;
	}
	l->is_end = 1;
}

OPERATION void word_remove(const char *w)
{
	struct letter *l = dictionary_root;

	l->words--;
	for (; *w; w++) {
		l = l->of[*w - 'a'];
#ifdef FIXED
		l->words--;
#else
		l->words -= !w[1]; /* WRONG dictionary */
#endif
	}
	l->is_end = 0;
}

static void dictionary(void)
{
	dictionary_root = calloc(1, sizeof(*dictionary_root));
	word_add("ab");
	word_add("abc");
	word_add("ad");
	word_remove("abc");
}

/*
 * ranks: a search tree that knows how many are below; who is taken out is still counted by those
 * above.
 *
 *	rk.N NULL 0; rk R; R.N = R.lo.N + R.hi.N + 1;
 *	rk R; R.n == R.N;
 *	CPOINT rk_add; CPOINT rk_drop_min;
 */
struct rk {
	double score;
	unsigned n;
	struct rk *lo, *hi;
};

static struct rk *rk_root;

OPERATION void rk_add(double score)
{
	struct rk **at = &rk_root, *r = malloc(sizeof(*r));

	while (*at) {
		(*at)->n++;
		at = score < (*at)->score ? &(*at)->lo : &(*at)->hi;
	}
	*r = (struct rk){ .score = score, .n = 1 };
	*at = r;
}

OPERATION void rk_drop_min(void)
{
	struct rk **at = &rk_root, *r;

	while ((*at)->lo) {
#ifdef FIXED
		(*at)->n--;
#endif
		at = &(*at)->lo;
	}
	r = *at;
	*at = r->hi;
	free(r);
} /* MISSING ranks: rk_drop_min .n */

static void ranks(void)
{
	rk_add(5.5);
	rk_drop_min();
	rk_add(3);
	rk_add(7);
	rk_add(8);
	rk_drop_min();
	rk_add(4);
	rk_add(3.5);
	rk_drop_min();
}

/*
 * rope: a text in pieces; an inner node knows how long the text at its left is. Who is put before another
 * counts both.
 *
 *	rope.LEN NULL 0; rope R; R.left == NULL => R.LEN = R.weight || R.LEN = R.weight + R.right.LEN;
 *	rope R; R.left != NULL => R.weight == R.left.LEN;
 *	CPOINT rope_join;
 */
struct rope {
	struct rope *left, *right;
	size_t weight;
	char *text;
};

static size_t rope_length(const struct rope *r)
{
	size_t n = 0;

	for (; r; r = r->right)
		n += r->weight;
	return n;
}

static struct rope *rope_leaf(const char *text)
{
	struct rope *r = calloc(1, sizeof(*r));

	r->text = strdup(text);
	r->weight = strlen(text);
	return r;
}

OPERATION struct rope *rope_join(struct rope *a, struct rope *b)
{
	struct rope *r = calloc(1, sizeof(*r));

	r->left = a;
	r->right = b;
#ifdef FIXED
	r->weight = rope_length(a);
#else
	r->weight = a->weight; /* WRONG rope */
#endif
	return r;
}

static void rope(void)
{
	struct rope *a = rope_join(rope_leaf("one "), rope_leaf("two "));

	a = rope_join(rope_leaf("zero "), a);
	a = rope_join(a, rope_leaf("three"));
}

/*
 * scopes: names, hidden by those of inner blocks; each bucket leads to the innermost of its names. At the
 * end of a block a name stays in its bucket.
 *
 *	ROOT scopes_bucket; ROOT scopes_depth;
 *	sym S; S.hides != NULL => S.hides.depth < S.depth;
 *	for I in 0 to 7, scopes_bucket[I] != NULL => scopes_bucket[I].depth <= scopes_depth;
 *	CPOINT scope_enter; CPOINT scope_leave; CPOINT scope_name;
 */
struct sym {
	struct sym *hides, *in_block;
	int depth, bucket;
	char name[8];
};

static struct sym *scopes_bucket[8], *scopes_blocks[16];
static int scopes_depth;

OPERATION void scope_enter(void)
{
	scopes_blocks[++scopes_depth] = NULL;
}

OPERATION void scope_name(const char *name)
{
	struct sym *s = calloc(1, sizeof(*s));

	strcpy(s->name, name);
	s->bucket = name[0] & 7;
	s->depth = scopes_depth;
	s->hides = scopes_bucket[s->bucket];
	scopes_bucket[s->bucket] = s;
	s->in_block = scopes_blocks[scopes_depth];
	scopes_blocks[scopes_depth] = s;
}

OPERATION void scope_leave(void)
{
	struct sym *s = scopes_blocks[scopes_depth];

	scopes_depth--;
#ifdef FIXED
	for (; s; s = s->in_block)
		scopes_bucket[s->bucket] = s->hides;
#else
	for (; s; s = s->in_block)
		if (s->hides)
			scopes_bucket[s->bucket] = s->hides;
#endif
} /* MISSING scopes: scope_leave .scopes_bucket */

static void scopes(void)
{
	scope_name("a");
	scope_enter();
	scope_name("a");
	scope_leave();
	scope_enter();
	scope_name("a");
	scope_name("b");
	scope_leave();
	scope_name("c");
}

int main(int argc, char **argv)
{
	static const struct task tasks[] = {
		{ "threaded", threaded }, { "dictionary", dictionary }, { "ranks", ranks },
		{ "rope", rope },	  { "scopes", scopes },		{ NULL, NULL },
	};

	return run_task(tasks, argc, argv);
}
