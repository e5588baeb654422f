// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The incremental checker finds what spec_check() finds, at every position of random
 * histories, moving forward and backward, for every specification of the papers and for
 * others with what is hard to follow: paths, attributes, pairs, "there is" variables.
 */
#include <string.h>

#include "specdsl/specdsl.h"
#include "tests/unit.h"

#define BASE UINT64_C(0x10000)
#define MAX_LIVE 12
#define N_MOVES 300
#define RING_NODES 150

/* ---- a random history ------------------------------------------------------------------------ */

struct history {
	struct hg_graph *g;
	const struct spec *s;
	uint32_t live[MAX_LIVE];
	size_t n_live;
	uint64_t time, next_addr;
};

static uint64_t any(uint64_t n)
{
	return (uint64_t)random() % n;
}

static void add_node(struct history *h, uint64_t addr)
{
	// Now and then a node of no declared type.
	size_t type = any(10) ? 1 + any(spec_types(h->s)) : 0;
	const struct spec_type *t = type ? spec_type(h->s, type - 1) : NULL;
	uint64_t bytes = !t	     ? 24 :
			 t->is_root  ? t->layout->size :
			 t->is_array ? 8 * (4 + any(36)) :
				       8 * t->n_fields;
	struct hg_node_id id;

	if (!addr) {
		addr = h->next_addr;
		h->next_addr += 512;
	}
	assert_null(hg_graph_alloc(h->g, ++h->time, addr, bytes, 1, NULL, &id));
	assert_null(hg_graph_set_type(h->g, id, type));
	h->live[h->n_live++] = id.v;
}

static uint64_t node_addr(const struct history *h, size_t k)
{
	return hg_graph_node(h->g, (struct hg_node_id){ h->live[k] })->start;
}

static void store(struct history *h)
{
	size_t k = any(h->n_live);
	uint64_t size = hg_graph_node(h->g, (struct hg_node_id){ h->live[k] })->size;
	uint64_t value, offset = 8 * any(size / 8);
	uint32_t bytes = 8;

	switch (any(8)) {
	case 0:
		value = 0;
		break;
	case 1:
		value = any(4);
		break;
	case 2:
		value = BASE + any(h->next_addr - BASE); // maybe wild, maybe within
		break;
	case 3:
		bytes = 1 + any(8);
		offset += any(4);
		value = node_addr(h, any(h->n_live));
		break;
	default:
		value = node_addr(h, any(h->n_live));
		break;
	}
	assert_null(hg_graph_store(h->g, ++h->time, node_addr(h, k) + offset, bytes,
				   &value, 1));
}

static struct hg_graph *make_history(const struct spec *s, unsigned seed, int n_steps)
{
	struct history h = { .s = s, .next_addr = BASE };

	srandom(seed);
	assert_null(hg_graph_create(&h.g));
	for (int i = 0; i < n_steps; i++) {
		uint64_t what = any(10);

		if (h.n_live < 3 || (what < 2 && h.n_live < MAX_LIVE)) {
			add_node(&h, 0);
		} else if (what == 2) {
			size_t k = any(h.n_live);
			uint64_t addr = node_addr(&h, k);

			assert_null(hg_graph_free(h.g, ++h.time, addr, 1));
			h.live[k] = h.live[--h.n_live];
			if (any(2))
				add_node(&h, addr); // used again at once
		} else {
			store(&h);
		}
	}
	return h.g;
}

/** The list or ring that make_rings() works on, in order. */
struct rings {
	struct history h;
	uint64_t node[RING_NODES];
	size_t n;
};

static void point(struct rings *r, size_t from, uint64_t to, uint64_t offset)
{
	assert_null(
		hg_graph_store(r->h.g, ++r->h.time, r->node[from] + offset, 8, &to, 1));
}

static void ring_insert(struct rings *r, size_t at)
{
	struct hg_node_id id;

	memmove(r->node + at + 1, r->node + at, (r->n - at) * sizeof(*r->node));
	r->node[at] = r->h.next_addr;
	r->h.next_addr += 64;
	r->n++;
	assert_null(hg_graph_alloc(r->h.g, ++r->h.time, r->node[at], 24, 1, NULL, &id));
	assert_null(hg_graph_set_type(r->h.g, id, 1));
	point(r, at, r->node[(at + 1) % r->n], 8);
	point(r, (at + r->n - 1) % r->n, r->node[at], 8);
	point(r, at, r->node[(at + r->n - 1) % r->n], 16);
	point(r, (at + 1) % r->n, r->node[at], 16);
}

static void ring_remove(struct rings *r, size_t at)
{
	uint64_t gone = r->node[at];

	point(r, (at + r->n - 1) % r->n, r->node[(at + 1) % r->n], 8);
	point(r, (at + 1) % r->n, r->node[(at + r->n - 1) % r->n], 16);
	r->n--;
	memmove(r->node + at, r->node + at + 1, (r->n - at) * sizeof(*r->node));
	assert_null(hg_graph_free(r->h.g, ++r->h.time, gone, 1));
}

/** A ring, linked both ways or, as the second pointer is one of the spec's or not, one way,
 * longer than ways around are searched for; now and then it is broken, and mended. */
static struct hg_graph *make_rings(const struct spec *s, unsigned seed, int n_steps)
{
	struct rings r = { .h = { .s = s, .next_addr = BASE } };

	srandom(seed);
	assert_null(hg_graph_create(&r.h.g));
	for (int i = 0; i < n_steps; i++) {
		size_t at = r.n ? any(r.n) : 0;

		if (r.n < 3 || (any(3) && r.n < RING_NODES))
			ring_insert(&r, at);
		else if (any(4))
			ring_remove(&r, at);
		else if (any(2))
			point(&r, at, any(2) ? r.node[any(r.n)] : 0, 8 + 8 * any(2));
		else
			for (size_t k = 0; k < r.n; k++) {
				point(&r, k, r.node[(k + 1) % r.n], 8);
				point(&r, k, r.node[(k + r.n - 1) % r.n], 16);
			}
	}
	return r.h.g;
}

/* ---- comparing -------------------------------------------------------------------------------- */

static bool is_same(const struct spec_violation *a, const struct spec_violation *b)
{
	return a->constraint == b->constraint &&
	       spec_binding_equal(&a->binding, &b->binding) &&
	       a->is_unreadable == b->is_unreadable && a->is_cyclic == b->is_cyclic;
}

static bool is_among(const spec_violations *all, const struct spec_violation *v)
{
	for (size_t i = 0; i < all->size; i++)
		if (is_same(&all->data[i], v))
			return true;
	return false;
}

/** A violation that was there at the last call, and its arguments. */
struct known {
	struct spec_violation v;
	struct spec_args args;
};

struct follower {
	struct spec_eval *e;
	struct spec_checker *c;
	struct known *known; ///< is_by_args: at the last position
	size_t n_known;
};

static void check_all(struct spec_checker *c, size_t n, spec_violations *ret)
{
	ret->size = 0;
	for (size_t i = 0; i < n; i++)
		assert_null(spec_checker_check(c, i, ret));
}

static void forget(struct follower *f)
{
	for (size_t i = 0; i < f->n_known; i++)
		spec_args_deinit(&f->known[i].args);
	free(f->known);
	f->known = NULL;
	f->n_known = 0;
}

static bool was_known(const struct follower *f, const struct known *k)
{
	for (size_t i = 0; i < f->n_known; i++)
		if (is_same(&f->known[i].v, &k->v))
			return spec_args_equal(&f->known[i].args, &k->args);
	return false;
}

/** What spec_checker_renew() leaves out was there before, with the same arguments. */
static void compare_renewed(struct follower *f, const struct spec *s,
			    struct spec_eval *oracle, const spec_violations *want)
{
	spec_violations renewed = {};
	struct follower now = {};

	for (size_t i = 0; i < spec_constraints(s); i++)
		assert_null(spec_checker_renew(f->c, i, &renewed));
	for (size_t i = 0; i < renewed.size; i++)
		assert_true(is_among(want, &renewed.data[i]));
	now.known = calloc(want->size + 1, sizeof(*now.known));
	for (; now.n_known < want->size; now.n_known++) {
		struct known *k = &now.known[now.n_known];

		k->v = want->data[now.n_known];
		assert_null(spec_args(oracle, k->v.constraint, &k->v.binding, &k->args));
		assert_true(is_among(&renewed, &k->v) || was_known(f, k));
	}
	vec_deinit(&renewed);
	forget(f);
	f->known = now.known;
	f->n_known = now.n_known;
}

/* ---- moving ------------------------------------------------------------------------------------ */

/** Move @p v; @p f follows if it is asked to, else it has to find out. */
static void move(struct follower *f, struct hg_view *v, uint64_t n_ops, uint64_t stride)
{
	uint64_t now = hg_view_ops(v), to;

	switch (any(20)) {
	case 0:
		to = any(n_ops + 1);
		break;
	case 1 ... 9:
		to = now > 3 ? now - any(4) : 0;
		break;
	default:
		to = now + any(stride);
		break;
	}
	if (any(4))
		assert_null(spec_eval_seek(f->e, v, to > n_ops ? n_ops : to));
	else
		hg_view_seek(v, to > n_ops ? n_ops : to);
}

// By this layout field 1 holds addresses, but is no pointer.
static const struct dec_field word_fields[] = {
	{ .name = "tagged", .offset = 0, .size = 8 },
	{ .name = "next",
	  .offset = 8,
	  .size = 8,
	  .is_pointer = true,
	  .points_to = "word" },
};
static const struct dec_struct word_layout = {
	.name = "word", .size = 16, .fields = word_fields, .n_fields = 2
};

// Roots: a pointer, a struct that is also a word, and an array.
static const struct dec_field head_fields[] = {
	{ .name = "head", .size = 8, .is_pointer = true, .points_to = "word" },
};
static const struct dec_field slot_fields[] = {
	{ .name = "slot[0]", .size = 8, .is_pointer = true, .points_to = "word" },
	{ .name = "slot[1]",
	  .offset = 8,
	  .size = 8,
	  .is_pointer = true,
	  .points_to = "word" },
	{ .name = "slot[2]",
	  .offset = 16,
	  .size = 8,
	  .is_pointer = true,
	  .points_to = "word" },
};
static const struct dec_struct head_layout = {
	.name = "head", .size = 8, .fields = head_fields, .n_fields = 1
};
static const struct dec_struct slot_layout = {
	.name = "slot", .size = 24, .fields = slot_fields, .n_fields = 3
};
static const struct dec_struct *const root_layouts[] = { &head_layout, &word_layout,
							 &slot_layout };

typedef struct hg_graph *(*make_fn)(const struct spec *s, unsigned seed, int n_steps);

static size_t compare(const char *text, size_t size, const struct dec_struct *layout,
		      make_fn make, unsigned seed, int n_steps, uint64_t stride)
{
	struct follower f = {}, by_args = {};
	spec_violations want = {}, got = {};
	size_t n_violations = 0;
	struct hg_graph *g;
	struct hg_view *v;
	struct spec *s;

	assert_null(spec_create(&s));
	assert_null(spec_add_text(s, "test.spec", text, size));
	if (layout)
		assert_null(spec_bind_type(s, 0, layout));
	for (size_t i = 0; i < spec_roots(s); i++)
		assert_null(spec_bind_root(s, i, root_layouts[i], i == 1, i == 1 ? 0 : -1,
					   "root"));
	assert_null(spec_resolve(s));
	spec_diags_print(s, stderr);
	assert_int_equal(spec_errors(s), 0);
	g = make(s, seed, n_steps);
	assert_null(hg_view_create(g, any(hg_graph_ops(g)), &v));
	assert_null(spec_eval_create(s, g, v, &f.e));
	assert_null(spec_checker_create(f.e, false, &f.c));
	assert_null(spec_eval_create(s, g, v, &by_args.e));
	assert_null(spec_checker_create(by_args.e, true, &by_args.c));
	for (int i = 0; i < N_MOVES; i++) {
		struct spec_eval *oracle;

		want.size = 0;
		assert_null(spec_eval_create(s, g, v, &oracle));
		assert_null(spec_check(oracle, 0, &want));
		check_all(f.c, spec_constraints(s), &got);
		assert_int_equal(got.size, want.size);
		for (size_t k = 0; k < got.size; k++)
			assert_true(is_same(&got.data[k], &want.data[k]));
		if (i % 3)
			compare_renewed(&by_args, s, oracle, &want);
		spec_eval_destroy(oracle);
		n_violations += want.size;
		move(i % 2 ? &f : &by_args, v, hg_graph_ops(g), stride);
	}
	forget(&by_args);
	vec_deinit(&want);
	vec_deinit(&got);
	spec_checker_destroy(f.c);
	spec_checker_destroy(by_args.c);
	spec_eval_destroy(f.e);
	spec_eval_destroy(by_args.e);
	hg_view_destroy(v);
	hg_graph_destroy(g);
	spec_destroy(s);
	return n_violations;
}

/** Of every position something must be said: a spec that is never violated tests nothing. */
static void compare_seeds(const char *text, size_t size, const struct dec_struct *layout)
{
	size_t n = 0;

	for (unsigned seed = 1; seed <= 6; seed++)
		n += compare(text, size, layout, make_history, seed, 260, 5);
	print_message("%zu violations\n", n);
	assert_true(n > 1000);
}

/* ---- the specifications -------------------------------------------------------------------------- */

static void test_papers(void **state)
{
	const char *source = getenv("SOURCE");
	char path[4096], text[1 << 14];
	size_t size;
	FILE *f;

	(void)state;
	snprintf(path, sizeof(path), "%s/tests/specdsl/papers.spec",
		 source ? source : ".");
	f = fopen(path, "r");
	assert_non_null(f);
	size = fread(text, 1, sizeof(text), f);
	fclose(f);
	assert_in_range(size, 100, sizeof(text) - 1);
	compare_seeds(text, size, NULL);
}

static const char ring[] =
	"ring FIELD 2 EDGE 1;\nring X; X.INDEGREE == 1 and X.OUTDEGREE == 1;\n"
	"ring X; X ->> X;\nring X; ring Y; X -> Y => Y ->> X;\n";

static const char paths[] =
	"n FIELD 3 EDGE 2;\nn X; n Y; X ->> Y => Y /->> X;\n"
	"n X; n Y; X ->> Y and Y ->> X => X[1] == Y[1];\n"
	"n X; (X[2]) ->> (X[3]) or X.ISLEAF;\nn X; n Y; X[1] > 1 => X ->> Y and Y.ISLEAF;\n"
	"n X; n Y; Y -> X and Y.INDEGREE > 1 => (X[2]) /->> Y;\n";

static const char attributes[] =
	"n FIELD 3 EDGE 2;\nm FIELD 2 EDGE 1;\n"
	"n.LEN NULL 0; n X; X.LEN = X[2].LEN + 1;\n"
	"m.LEN NULL 0; m X; X[1] > 2 => X.LEN = X.INDEGREE || X.LEN = X[2].LEN + 2;\n"
	"n.SIDE NULL 0; n X; X[2].SIDE > 3 or X[3].SIDE > 3 => X.SIDE = 1 || X.SIDE = X[1] + "
	"X[3].SIDE;\n"
	"n.LOOP; n X; X ->> X => X.LOOP = 1 || X.LOOP = (X[2] == NULL) ? 0 : X[2].LOOP;\n"
	"n X; X.LEN < 3;\nm X; X.LEN == 2 or X.LEN > 4;\nn X; X.SIDE != 2;\n"
	"n X; n Y; X -> Y => X.LEN == Y.LEN + 1;\nn X; X.LOOP == 0;\n";

static const char pairs[] =
	"n FIELD 3 EDGE 2;\nm FIELD 2 EDGE 1;\nARRAY a SIZE 8;\n"
	"n X; n Y; X[1] == Y[1] => X == Y;\nn X; m Y; X[2] > 1 => Y[1] == X[1];\n"
	"n X; n Y; X -> Y and Y -> X => X == Y;\nn X; n Y; m Z; X -> Z and Y -> Z => X == Y;\n"
	"m Y; 1 == 1 => Y.OUTDEGREE == 1;\nn X; (X[1]) == X or (X[2])[1] < X[X[1]];\n"
	"a X; for I in 1 to 12, X[I] <= X[I + 1];\n"
	"a X; for I in 1 to 3, X[I] > 0 => X[X[I]] < X[I];\n";

// Addresses in what are no pointers: what lives there is told by no edge.
static const char words[] = "word FIELD 2 EDGE 1;\nword X; (X[1]) == (X[2]);\n"
			    "word X; word Y; (X[1]) == Y => X -> Y;\n";

// Short cuts: what the second half needs is an argument, though it is not looked at.
static const char shortcuts[] =
	"n FIELD 3 EDGE 2;\nn X; (X[2])[1] > 2 and (X[3])[1] > 2;\n"
	"n X; n Y; X -> Y => X == Y and (Y[2]).INDEGREE == 1 and (Y[3])[2] == NULL;\n";

// Comparisons with what does not change depend on a range; many on one number are in groups.
static const char ranges[] =
	"n FIELD 3 EDGE 2;\nARRAY a SIZE 8;\nARRAY b SIZE 4;\n"
	"a X; for I in 3 to 39, 2 * I <= X[1] + 9 => X[I] <= X[I - 1];\n"
	"a X; for I in 3 to 39, I / 9 > X[1] and X[I] != 2 => X[2] - 1 >= 0;\n"
	"a X; for I in 1 to 200, 3 == X[I] or X[I] < I - 3 or X[2] - I > 5;\n"
	"b X; for I in 2 to 70, X[1] > I - 4 => X[I] - 1 < 2;\n"
	"b X; for I in 2 to 70, X[I] > 0 => ((X[1] > 1) ? I : 3) <= X[((X[2] > 1) ? 3 : 4)];\n"
	"n X; X[1] > 2 or 1 == X[1]; n X; n Y; X -> Y and X[1] - 1 < 1 => Y[1] != 3;\n";

static const char sames[] =
	"n FIELD 3 EDGE 2;\nARRAY b SIZE 4;\nn X; n Y; X[1] == Y[1] and X[2] == Y[2] => X == Y;\n"
	"n X; n Y; n Z; X -> Z and Y[1] + 1 == X[1] - 1 and Y[3] == X[1] => X == Y;\n"
	"n X; b Y; Y[3] == X[1] => X[2] == NULL;\n"
	"b X; b Y; X[1] == Y[2] and X[2] + 1 == Y[1] => X -> Y;\n"
	"n X; b Y; Y[9] == X[1] => Y[1] == X[1];\n";

static const char addresses[] =
	"n FIELD 3 EDGE 2;\nm FIELD 2 EDGE 1;\n"
	"n X; n Y; X[2] == &Y => Y.INDEGREE == 1 and Y[1] > 1;\n"
	"n X; m Y; X[3] == &Y[1] or X[2] == &Y[2] => Y[2] == &X;\n"
	"n X; m Y; X[2] != NULL => &Y == X[2];\n"
	"n X; X[2] > 9 => &X[2][1] == X[2] and &X[2][3] != X[3] + 16;\n"
	"n X; n Y; X -> Y => X[3] == (X[2] ^ &Y) or X[1] & 1 == 0;\n"
	"n.LEN; n X; X.ISLEAF => X.LEN = &X & 1023 || X.LEN = X[2].LEN % 7 + (X[1] >> 1);\n"
	"n X; n Y; n Z; X[2] == (&Y ^ &Z ^ X[1]) => Y[1] > Z[1];\n"
	"n X; n Y; X[3] != NULL => &Y - X[1] == X[3] and 8 - &Y == 8 - X[3];\n"
	"n X; n Y; X.LEN == &Y => X == Y;\nn X; X.LEN < 100 or !(X[3] == &X);\n";

// Bytes of addresses, as text; by name where the layout says so.
static const struct dec_field text_fields[] = {
	{ .name = "name[0]", .offset = 1, .size = 1 },
	{ .name = "name[1]", .offset = 2, .size = 1 },
	{ .name = "name[2]", .offset = 3, .size = 1 },
	{ .name = "tail[0]", .offset = 9, .size = 1 },
	{ .name = "next", .offset = 16, .size = 8, .is_pointer = true, .points_to = "t" },
};
static const struct dec_struct text_layout = {
	.name = "t", .size = 24, .fields = text_fields, .n_fields = 5
};

static const char texts[] =
	"t FIELD 5 EDGE 1;\nt X; t Y; X.name == Y.name => X == Y;\n"
	"t X; t Y; X.next == Y => X.name <= Y.name or Y.tail < \"b\";\n"
	"t X; X.next.name == X.name => X.tail == \"\";\nt X; X.name != \"\";\n"
	"t X; t Y; X.next == &Y.name => X.tail == Y.tail;\n";

static void test_addresses(void **state)
{
	(void)state;
	compare_seeds(addresses, strlen(addresses), NULL);
}

static void test_texts(void **state)
{
	(void)state;
	compare_seeds(texts, strlen(texts), &text_layout);
}

// Of a root there may be several, as of a local variable; and none.
static const char roots[] =
	"word FIELD 2 EDGE 1;\nROOT head;\nROOT main::ring;\nROOT slot;\n"
	"word X; X.tagged > 2 => head ->> X or slot -> X;\nhead != NULL => head.tagged < 3;\n"
	"word X; head == X => X.INDEGREE == 1 and ring.next != head;\n"
	"ring.next == ring or ring.ISROOT;\nword X; X.next == ring => X.OUTDEGREE == 1;\n"
	"for I in 0 to 3, slot[I] != NULL => slot[I].next == slot[0];\n"
	"word X; (head) -> X => X /->> (head);\nhead -> ring => ring.tagged == ring[1] + 1;\n"
	"word.LEN NULL 0; word X; X.LEN = X.next.LEN + 1;\nhead.LEN <= ring.LEN;\n"
	"word X; X.tagged == slot[1].tagged => head.tagged == X.tagged;\n"
	"word X; X.next == &ring or X.tagged == &ring => !head or &head != X.next;\n"
	"word X; X.next == &slot[1] => X.tagged < 2;\n";

static void test_roots(void **state)
{
	(void)state;
	compare_seeds(roots, strlen(roots), &word_layout);
}

static void test_sames(void **state)
{
	(void)state;
	compare_seeds(sames, strlen(sames), NULL);
}

static void test_ranges(void **state)
{
	(void)state;
	compare_seeds(ranges, strlen(ranges), NULL);
}

static void test_words(void **state)
{
	(void)state;
	compare_seeds(words, strlen(words), &word_layout);
}

static void test_shortcuts(void **state)
{
	(void)state;
	compare_seeds(shortcuts, strlen(shortcuts), NULL);
}

/** So many nodes come and go that the checker has to forget the dead. */
static void test_churn(void **state)
{
	(void)state;
	for (unsigned seed = 1; seed <= 3; seed++)
		assert_true(compare(attributes, strlen(attributes), NULL, make_history,
				    seed, 12000, 100) > 1000);
}

static void test_ring(void **state)
{
	(void)state;
	compare_seeds(ring, strlen(ring), NULL);
}

static const char one_way[] =
	"ring FIELD 3 EDGE 1;\nring X; X ->> X;\nring X; X /->> X;\n";
static const char both_ways[] = "ring FIELD 3 EDGE 2;\nring X; X ->> X;\n"
				"ring X; X.OUTDEGREE > 1 => X /->> X;\n";
static const struct dec_field one_way_fields[] = {
	{ .name = "key", .offset = 0, .size = 8 },
	{ .name = "next",
	  .offset = 8,
	  .size = 8,
	  .is_pointer = true,
	  .points_to = "ring" },
	{ .name = "prev", .offset = 16, .size = 8 },
};
static const struct dec_struct one_way_layout = {
	.name = "ring", .size = 24, .fields = one_way_fields, .n_fields = 3
};

static void test_rings(void **state)
{
	(void)state;
	for (unsigned seed = 1; seed <= 3; seed++) {
		assert_true(compare(one_way, strlen(one_way), &one_way_layout, make_rings,
				    seed, 600, 40) > 1000);
		assert_true(compare(both_ways, strlen(both_ways), NULL, make_rings, seed,
				    600, 40) > 1000);
	}
}

static void test_paths(void **state)
{
	(void)state;
	compare_seeds(paths, strlen(paths), NULL);
}

static void test_attributes(void **state)
{
	(void)state;
	compare_seeds(attributes, strlen(attributes), NULL);
}

static void test_pairs(void **state)
{
	(void)state;
	compare_seeds(pairs, strlen(pairs), NULL);
}

/* ---- a structure that only grows -------------------------------------------------------------------- */

#define N_NODES 10000

/** A heap-shaped tree grows node by node and holds after each step: nothing is found. */
static void test_growth(void **state)
{
	static const char text[] =
		"t FIELD 3 EDGE 2;\nt X; X.INDEGREE <= 1;\nt X; t Y; X -> Y => Y /-> X;\n"
		"t.H; t X; X.ISLEAF == true => X.H = 0 || X.H = (X[2].H >= X[3].H) ? "
		"X[2].H + 1 : X[3].H + 1;\nt X; X[2].H - X[3].H <= 1;\n";
	struct hg_graph *g;
	struct hg_view *v;
	struct spec *s;
	struct spec_eval *e;
	struct spec_checker *c;
	spec_violations found = {};

	(void)state;
	assert_null(spec_create(&s));
	assert_null(spec_add_text(s, "test.spec", text, strlen(text)));
	assert_null(spec_resolve(s));
	assert_int_equal(spec_errors(s), 0);
	assert_null(hg_graph_create(&g));
	for (uint64_t i = 1; i <= N_NODES; i++) {
		uint64_t addr = BASE + 32 * i, at = BASE + 32 * (i / 2) + 8 + 8 * (i % 2);
		struct hg_node_id id;

		assert_null(hg_graph_alloc(g, i, addr, 24, 1, NULL, &id));
		assert_null(hg_graph_set_type(g, id, 1));
		assert_null(hg_graph_store(g, i, at, 8, &addr, 1)); // the first: nowhere
	}
	assert_null(hg_view_create(g, 0, &v));
	assert_null(spec_eval_create(s, g, v, &e));
	assert_null(spec_checker_create(e, false, &c));
	for (uint64_t at = 0; at <= hg_graph_ops(g); at++) {
		assert_null(spec_eval_seek(e, v, at));
		check_all(c, spec_constraints(s), &found);
	}
	assert_int_equal(found.size, 0);
	vec_deinit(&found);
	spec_checker_destroy(c);
	spec_eval_destroy(e);
	hg_view_destroy(v);
	hg_graph_destroy(g);
	spec_destroy(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_papers),	  cmocka_unit_test(test_ring),
		cmocka_unit_test(test_paths),	  cmocka_unit_test(test_attributes),
		cmocka_unit_test(test_pairs),	  cmocka_unit_test(test_words),
		cmocka_unit_test(test_shortcuts), cmocka_unit_test(test_growth),
		cmocka_unit_test(test_churn),	  cmocka_unit_test(test_ranges),
		cmocka_unit_test(test_rings),	  cmocka_unit_test(test_roots),
		cmocka_unit_test(test_sames),	  cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
