// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Traceback on the figures of paper 001, fed by hand: a statement's address is its line.
 */
#include <string.h>

#include "faultlocate/fl_faults.h"
#include "tests/unit.h"

static void place_is_line(void *ctx, uint64_t rip, struct dec_place *ret)
{
	(void)ctx;
	ret->file = "figure.c";
	ret->line = rip;
	ret->function = "f";
}

static const struct fl_places places = { place_is_line, NULL };

/* ---- a heap written by hand ------------------------------------------------------------ */

struct heap {
	struct hg_graph *g;
	struct spec *spec;
	uint64_t time;
	uint64_t node_bytes;
};

static struct heap *heap_create(const char *text, uint64_t node_bytes)
{
	struct heap *h = calloc(1, sizeof(*h));

	assert_non_null(h);
	h->node_bytes = node_bytes;
	ok(hg_graph_create(&h->g));
	ok(spec_create(&h->spec));
	ok(spec_add_text(h->spec, "figure.spec", text, strlen(text)));
	ok(spec_resolve(h->spec));
	spec_diags_print(h->spec, stderr);
	assert_int_equal(spec_errors(h->spec), 0);
	return h;
}

static void heap_destroy(struct heap *h)
{
	spec_destroy(h->spec);
	hg_graph_destroy(h->g);
	free(h);
}

static uint64_t address(uint32_t n)
{
	return n ? 0x10000 + n * 0x100ull : 0;
}

// Node number n appears by the statement at line.
static void heap_alloc(struct heap *h, uint32_t n, int line)
{
	struct hg_node_id id;

	ok(hg_graph_alloc(h->g, ++h->time, address(n), h->node_bytes, line, NULL, &id));
	ok(hg_graph_set_type(h->g, id, 1));
}

static void heap_set(struct heap *h, uint32_t n, uint32_t field, uint64_t value, int line)
{
	ok(hg_graph_store(h->g, ++h->time, address(n) + (field - 1) * 8, 8, &value,
			  line));
}

static void heap_point(struct heap *h, uint32_t n, uint32_t field, uint32_t to, int line)
{
	heap_set(h, n, field, address(to), line);
}

static void check_at(struct heap *h, uint64_t n_ops, spec_violations *ret)
{
	_cleanup_(hg_view_destroyp) struct hg_view *v = NULL;
	_cleanup_(spec_eval_destroyp) struct spec_eval *e = NULL;

	ok(hg_view_create(h->g, n_ops, &v));
	ok(spec_eval_create(h->spec, h->g, v, &e));
	ok(spec_check(e, 0, ret));
}

// Trace back from a C-point both ways, which must agree.
static void trace_from(struct heap *h, uint64_t n_ops, uint64_t since_ops,
		       uint32_t moves_max, fl_contributions *ret)
{
	spec_violations errors = {};
	fl_contributions plain = {};
	struct fl_traceback t = { .spec = h->spec,
				  .graph = h->g,
				  .n_ops = n_ops,
				  .since_ops = since_ops,
				  .moves_max = moves_max };

	ret->size = 0;
	check_at(h, t.n_ops, &errors);
	t.errors = errors.data;
	t.n_errors = errors.size;
	t.how = FL_TRACEBACK_PLAIN;
	ok(fl_traceback_run(&t, &plain));
	t.how = FL_TRACEBACK_PREDICT;
	ok(fl_traceback_run(&t, ret));
	assert_int_equal(plain.size, ret->size);
	if (plain.size)
		assert_memory_equal(plain.data, ret->data,
				    plain.size * sizeof(*plain.data));
	vec_deinit(&plain);
	vec_deinit(&errors);
}

static void trace_back(struct heap *h, fl_contributions *ret)
{
	trace_from(h, hg_graph_ops(h->g), hg_graph_ops(h->g), 0, ret);
}

static void faults_of(struct heap *h, fl_faults *ret)
{
	fl_contributions c = {};

	trace_back(h, &c);
	ok(fl_faults_add(ret, h->g, &c, &places));
	fl_faults_rank(ret);
	vec_deinit(&c);
}

/* ---- the quad tree ------------------------------------------------------------------------ */

// Figure 4.2. Fields 1 to 5 are posX, posY, width, height, point; 6 to 9 child.
static const char quad_spec[] =
	"qdtree FIELD 9 EDGE 5;\n"
	"qdtree X; X.ISROOT == FALSE => X.INDEGREE == 1; ..(c1)\n"
	"qdtree X; qdtree Y; X -> Y => Y /-> X; ..(c2)\n"
	"qdtree X; qdtree Y; X -> Y => X.OUTDEGREE == 4; ..(c3)\n";

#define CHILD 6

// Statements 1 to 4 of the trace of Figure 4.3: a child with its fields, put in its place.
static void quad_add(struct heap *h, uint32_t n, uint32_t parent, uint32_t child,
		     int line)
{
	heap_alloc(h, n, line);
	for (uint32_t field = 1; field <= 4; field++)
		heap_set(h, n, field, n * 10 + field, line + 2);
	heap_point(h, parent, CHILD + child, n, line + 3);
}

// n1 with children n2 to n5, then split() of n5; its fields are moved to its children.
static void quad_execute(struct heap *h, bool is_faulty, uint64_t point[5])
{
	heap_alloc(h, 1, 16);
	for (uint32_t i = 0; i < 4; i++)
		quad_add(h, 2 + i, 1, i, 100);
	quad_add(h, 6, 5, 0, 1);
	quad_add(h, 7, 5, 1, 1);
	point[1] = hg_graph_ops(h->g);
	quad_add(h, 8, 5, 2, 8);
	point[2] = hg_graph_ops(h->g);
	if (is_faulty)
		heap_point(h, 1, CHILD, 0, 12);
	point[3] = hg_graph_ops(h->g);
	quad_add(h, 9, 5, 3, 14);
	heap_set(h, 9, 1, 5, 18);
	heap_set(h, 9, 2, 6, 19);
	point[4] = hg_graph_ops(h->g);
}

static void assert_violated(struct heap *h, uint64_t n_ops, const uint32_t (*edges)[2],
			    size_t n_edges)
{
	spec_violations v = {};

	check_at(h, n_ops, &v);
	assert_int_equal(v.size, n_edges);
	for (size_t i = 0; i < n_edges; i++) {
		assert_string_equal(spec_constraint(h->spec, v.data[i].constraint)->name,
				    "c3");
		assert_int_equal(v.data[i].binding.node[0].v, edges[i][0]);
		assert_int_equal(v.data[i].binding.node[1].v, edges[i][1]);
	}
	vec_deinit(&v);
}

static void test_figure_4_3(void **state)
{
	const uint32_t s1[][2] = { { 5, 6 }, { 5, 7 } };
	const uint32_t s2[][2] = { { 5, 6 }, { 5, 7 }, { 5, 8 } };
	const uint32_t s3[][2] = { { 1, 3 }, { 1, 4 }, { 1, 5 },
				   { 5, 6 }, { 5, 7 }, { 5, 8 } };
	const uint32_t s4[][2] = { { 1, 3 }, { 1, 4 }, { 1, 5 } };
	struct heap *h = heap_create(quad_spec, 72);
	uint64_t point[5];

	(void)state;
	quad_execute(h, true, point);
	assert_violated(h, point[1], s1, 2);
	assert_violated(h, point[2], s2, 3);
	assert_violated(h, point[3], s3, 6);
	assert_violated(h, point[4], s4, 3);
	heap_destroy(h);
}

// FS = {O2}: n1->child[0] = NULL, and nothing else.
static void test_figure_4_4(void **state)
{
	struct heap *h = heap_create(quad_spec, 72);
	fl_contributions c = {};
	fl_faults f = {};
	uint64_t point[5];

	(void)state;
	quad_execute(h, true, point);
	trace_back(h, &c);
	assert_int_equal(c.size, 1);
	assert_int_equal(c.data[0].op, point[2]);
	assert_int_equal(c.data[0].n_errors, 3);
	assert_int_equal(c.data[0].introduces, 3);
	faults_of(h, &f);
	assert_int_equal(f.size, 1);
	assert_int_equal(f.data[0].place.line, 12);
	assert_int_equal(f.data[0].instances, 1);
	vec_deinit(&c);
	vec_deinit(&f);
	heap_destroy(h);
}

static void test_correct_quad_tree(void **state)
{
	struct heap *h = heap_create(quad_spec, 72);
	fl_contributions c = {};
	uint64_t point[5];

	(void)state;
	quad_execute(h, false, point);
	assert_violated(h, point[4], NULL, 0);
	trace_back(h, &c);
	assert_int_equal(c.size, 0);
	heap_destroy(h);
}

// Before point 4 the inconsistencies of n5 are pending too; they are related to each
// other (Example 7), so the statements that made them are found as well.
static void test_a_cpoint_in_the_middle(void **state)
{
	struct heap *h = heap_create(quad_spec, 72);
	spec_violations errors = {};
	fl_contributions c = {};
	struct fl_traceback t = { .spec = h->spec, .graph = h->g };
	uint64_t point[5];

	(void)state;
	quad_execute(h, true, point);
	check_at(h, point[2], &errors);
	t.n_ops = point[2];
	t.errors = errors.data;
	t.n_errors = errors.size;
	t.how = FL_TRACEBACK_PREDICT;
	ok(fl_traceback_run(&t, &c));
	// n5 -> n8, n5 -> n7, n5 -> n6: each changed n5.OUTDEGREE.
	assert_int_equal(c.size, 3);
	assert_int_equal(hg_graph_op(h->g, c.data[0].op).rip, 11);
	assert_int_equal(c.data[0].introduces, 1);
	assert_int_equal(hg_graph_op(h->g, c.data[1].op).rip, 4);
	assert_int_equal(hg_graph_op(h->g, c.data[2].op).rip, 4);
	vec_deinit(&errors);
	vec_deinit(&c);
	heap_destroy(h);
}

/* ---- lists ---------------------------------------------------------------------------------- */

// Figure 3.2: statement 19 breaks the list of 11 to 15.
static void test_figure_3_2(void **state)
{
	struct heap *h =
		heap_create("snode FIELD 2 EDGE 1;\n"
			    "CONST LAST 7;\n"
			    "snode X; X[1] != LAST => X.OUTDEGREE == 1; ..(c1)\n",
			    16);
	fl_faults f = {};

	(void)state;
	heap_alloc(h, 1, 11);
	heap_set(h, 1, 2, 0, 12);
	heap_alloc(h, 2, 13);
	heap_set(h, 2, 1, 7, 13);
	heap_set(h, 2, 2, 0, 14);
	heap_point(h, 1, 2, 2, 15);
	heap_point(h, 1, 2, 0, 19);
	faults_of(h, &f);
	assert_int_equal(f.size, 1);
	assert_int_equal(f.data[0].place.line, 19);
	vec_deinit(&f);
	heap_destroy(h);
}

static const char dlist_spec[] = "dnode FIELD 3 EDGE 2;\n"
				 "dnode X; dnode Y; (X[2]) == Y => (Y[3]) == X; ..(c1)\n"
				 "dnode X; dnode Y; (X[3]) == Y => (Y[2]) == X; ..(c2)\n";

static void dlist_append(struct heap *h, uint32_t n, uint32_t tail, int line)
{
	heap_alloc(h, n, line);
	if (!tail)
		return;
	heap_point(h, tail, 2, n, line + 1);
	heap_point(h, n, 3, tail, line + 2);
}

// An unlink that forgets the way back: its store is first, and the store that made the
// list (whose inconsistencies were repaired) is not blamed for more than it did.
static void test_unlink_forgets_prev(void **state)
{
	struct heap *h = heap_create(dlist_spec, 24);
	fl_faults f = {};

	(void)state;
	for (uint32_t n = 1; n <= 20; n++)
		dlist_append(h, n, n - 1, 10);
	heap_point(h, 7, 2, 9, 50);
	for (uint32_t n = 21; n <= 40; n++)
		dlist_append(h, n, n - 1, 10);
	faults_of(h, &f);
	assert_true(f.size >= 1 && f.size <= 5); // Table 4.1: doubly linked list 5
	assert_int_equal(f.data[0].place.line, 50);
	vec_deinit(&f);
	heap_destroy(h);
}

// An insertion between n1 and n2 that goes wrong at its end: n2.prev is not set. n1.next = n3
// took away what was wrong with n3 before and is wrong about n1 now.
static void test_inconsistency_moves(void **state)
{
	struct heap *h = heap_create(dlist_spec, 24);
	fl_contributions c = {};
	uint64_t first;

	(void)state;
	dlist_append(h, 1, 0, 10);
	dlist_append(h, 2, 1, 10);
	first = hg_graph_ops(h->g);
	heap_alloc(h, 3, 20);
	heap_point(h, 3, 3, 1, 21); // n3.prev = n1: c2, n1 does not lead to n3
	heap_set(h, 3, 1, 5, 22);
	heap_point(h, 1, 2, 3, 23); // n1.next = n3: c2 for n2 instead
	trace_back(h, &c);
	assert_int_equal(c.size, 2);
	assert_int_equal(c.data[0].op, first + 3);
	assert_int_equal(c.data[0].introduces, 1);
	assert_int_equal(c.data[1].op, first + 1);
	assert_int_equal(c.data[1].introduces, 0);
	assert_int_equal(c.data[1].n_moved, 1);

	// It went from the way back of n3 to that of n2: one move. Behind n4, which goes in
	// between in the same way, it is two.
	heap_alloc(h, 4, 30);
	heap_point(h, 4, 3, 1, 31);
	heap_point(h, 1, 2, 4, 32);
	trace_from(h, hg_graph_ops(h->g), hg_graph_ops(h->g), 1, &c);
	for (size_t i = 0; i < c.size; i++)
		assert_int_not_equal(c.data[i].op, first);
	vec_deinit(&c);
	heap_destroy(h);
}

// A repair that fails: n1.next = n2 is right and waits for n2.prev, which gets the wrong one.
// What changed n2.prev before that was not the last to do so.
static void test_failed_repair(void **state)
{
	struct heap *h = heap_create(dlist_spec, 24);
	fl_contributions c = {};
	uint64_t first;

	(void)state;
	heap_alloc(h, 1, 10);
	heap_alloc(h, 2, 11);
	heap_set(h, 2, 3, 1, 12);
	first = hg_graph_ops(h->g);
	heap_point(h, 1, 2, 2, 20);
	heap_set(h, 2, 3, 2, 21);
	heap_set(h, 2, 3, 3, 22);
	trace_back(h, &c);
	assert_int_equal(c.size, 2);
	assert_int_equal(c.data[0].op, first + 2);
	assert_int_equal(c.data[0].n_last, 1);
	assert_int_equal(c.data[0].introduces, 0);
	assert_int_equal(c.data[1].op, first);
	assert_int_equal(c.data[1].introduces, 1);
	vec_deinit(&c);
	heap_destroy(h);
}

// n2 gets a key that is too small, and is in the wrong place when it is linked. What was stored
// before since is not asked about, nor is the allocation.
static void test_wrong_before_it_is_linked(void **state)
{
	struct heap *h =
		heap_create("dnode FIELD 3 EDGE 2;\n"
			    "dnode X; dnode Y; X[2] == Y => X[1] < Y[1]; ..(order)\n",
			    24);
	fl_contributions c = {};
	fl_faults f = {};
	uint64_t since;

	(void)state;
	heap_alloc(h, 1, 10);
	heap_set(h, 1, 1, 5, 11);
	since = hg_graph_ops(h->g);
	heap_alloc(h, 2, 20);
	heap_set(h, 2, 1, 7, 21);
	heap_set(h, 2, 1, 3, 22);
	heap_point(h, 1, 2, 2, 23);
	trace_from(h, hg_graph_ops(h->g), since, 0, &c);
	assert_int_equal(c.size, 2);
	assert_int_equal(c.data[0].introduces, 1);
	assert_int_equal(c.data[1].op, since + 2);
	assert_int_equal(c.data[1].n_ready, 1);
	assert_int_equal(c.data[1].n_errors, 0);
	ok(fl_faults_add(&f, h->g, &c, &places));
	fl_faults_rank(&f);
	assert_int_equal(f.size, 2);
	assert_int_equal(f.data[0].place.line, 23);
	assert_int_equal(f.data[1].place.line, 22);
	trace_back(h, &c);
	assert_int_equal(c.size, 1);
	vec_deinit(&f);
	vec_deinit(&c);
	heap_destroy(h);
}

// n2 leads to itself before it is linked behind n1, and only then it has too many edges.
static void test_wrong_degree_before_it_is_linked(void **state)
{
	struct heap *h = heap_create("dnode FIELD 3 EDGE 2;\n"
				     "dnode X; X.INDEGREE + X.OUTDEGREE <= 2; ..(few)\n",
				     24);
	fl_contributions c = {};
	uint64_t since;

	(void)state;
	heap_alloc(h, 1, 10);
	since = hg_graph_ops(h->g);
	heap_alloc(h, 2, 20);
	heap_point(h, 2, 2, 2, 21);
	heap_point(h, 1, 2, 2, 22);
	trace_from(h, hg_graph_ops(h->g), since, 0, &c);
	assert_int_equal(c.size, 2);
	assert_int_equal(c.data[0].introduces, 1);
	assert_int_equal(c.data[1].op, since + 1);
	assert_int_equal(c.data[1].n_ready, 1);
	vec_deinit(&c);
	heap_destroy(h);
}

// What an operation makes and takes away on its way is not what it left elsewhere.
static void test_moved_from_elsewhere(void **state)
{
	struct heap *h =
		heap_create("dnode FIELD 3 EDGE 2;\n"
			    "dnode X; X.INDEGREE <= 1; ..(once)\n"
			    "dnode X; dnode Y; X[2] == Y => X[1] < Y[1]; ..(order)\n",
			    24);
	fl_contributions c = {};
	uint64_t since;

	(void)state;
	for (uint64_t i = 1; i <= 2; i++) {
		heap_alloc(h, i, 10);
		heap_set(h, i, 1, i, 11);
	}
	heap_point(h, 1, 2, 2, 12);
	since = hg_graph_ops(h->g);
	heap_alloc(h, 3, 20);
	heap_point(h, 3, 2, 2, 21); // two lead to n2, until line 22
	heap_point(h, 1, 2, 3, 22); // n3 has the key 0
	trace_from(h, hg_graph_ops(h->g), since, 1, &c);
	assert_int_equal(c.size, 1);
	assert_int_equal(c.data[0].op, since + 2);
	trace_from(h, hg_graph_ops(h->g), hg_graph_ops(h->g), 0, &c);
	assert_int_equal(c.size, 2);
	assert_int_equal(c.data[1].n_moved, 1);
	vec_deinit(&c);
	heap_destroy(h);
}

static void test_freed_node_still_linked(void **state)
{
	struct heap *h =
		heap_create("dnode FIELD 3 EDGE 2;\n"
			    "dnode X; dnode Y; X[2] != NULL => (X[2]) == Y; ..(c1)\n",
			    24);
	fl_faults f = {};

	(void)state;
	for (uint32_t n = 1; n <= 10; n++)
		dlist_append(h, n, n - 1, 10);
	ok(hg_graph_free(h->g, ++h->time, address(5), 77));
	faults_of(h, &f);
	assert_true(f.size >= 1);
	assert_int_equal(f.data[0].place.line, 77);
	vec_deinit(&f);
	heap_destroy(h);
}

// n3 is put between n1 and n2, whose prev is stored anew, and not as n3. What the operation
// stored before, and over again, is not reported.
static void test_stored_as_it_was(void **state)
{
	struct heap *h =
		heap_create("dnode FIELD 3 EDGE 2;\n"
			    "dnode X; dnode Y; X[2] == Y => Y[3] == X; ..(back)\n",
			    24);
	fl_contributions c = {};
	fl_faults f = {};
	uint64_t since;

	(void)state;
	dlist_append(h, 1, 0, 10);
	dlist_append(h, 2, 1, 10);
	since = hg_graph_ops(h->g);
	heap_alloc(h, 3, 30);
	heap_point(h, 3, 3, 1, 31);
	heap_point(h, 3, 3, 1, 32);
	heap_point(h, 3, 2, 2, 33);
	heap_point(h, 1, 2, 3, 34);
	heap_point(h, 2, 3, 1, 35);
	trace_from(h, hg_graph_ops(h->g), since, 1, &c);
	ok(fl_faults_add(&f, h->g, &c, &places));
	fl_faults_rank(&f);
	assert_int_equal(f.size, 2);
	assert_int_equal(f.data[0].place.line, 33);
	assert_int_equal(f.data[1].place.line, 35);
	assert_int_equal(f.data[1].n_same, 1);
	// Of the end of a run it is not known where the operation began.
	trace_back(h, &c);
	assert_int_equal(c.size, 1);
	vec_deinit(&f);
	vec_deinit(&c);
	heap_destroy(h);
}

// n2 is released while n1 leads to it, and n3 gets its memory.
static void test_memory_used_again(void **state)
{
	struct heap *h =
		heap_create("dnode FIELD 3 EDGE 2;\n"
			    "dnode X; dnode Y; X[2] == Y => Y[3] == X; ..(back)\n",
			    24);
	struct hg_node_id id;
	fl_faults f = {};

	(void)state;
	dlist_append(h, 1, 0, 10);
	dlist_append(h, 2, 1, 20);
	ok(hg_graph_free(h->g, ++h->time, address(2), 77));
	ok(hg_graph_alloc(h->g, ++h->time, address(2), h->node_bytes, 88, NULL, &id));
	ok(hg_graph_set_type(h->g, id, 1));
	faults_of(h, &f);
	assert_true(f.size >= 2);
	assert_int_equal(f.data[0].place.line, 77);
	assert_int_equal(f.data[0].n_stale, 1);
	assert_int_equal(f.data[1].place.line, 21);
	assert_int_equal(f.data[1].n_stale, 1);
	vec_deinit(&f);
	heap_destroy(h);
}

/* ---- prediction -------------------------------------------------------------------------------- */

static uint64_t seed;

static uint64_t random_below(uint64_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (seed >> 33) % n;
}

static const char random_spec[] = "a FIELD 3 EDGE 2; b FIELD 2 EDGE 1;\n"
				  "a.DEPTH NULL 0; a X; X.DEPTH = X[2].DEPTH + 1;\n"
				  "a X; a Y; (X[2]) == Y => (Y[3]) == X; ..(c1)\n"
				  "a X; X.INDEGREE <= 2; ..(c2)\n"
				  "a X; b Y; X -> Y => Y.OUTDEGREE == 1; ..(c3)\n"
				  "b X; b Y; X -> Y => X[1] <= Y[1]; ..(c4)\n"
				  "a X; a Y; X ->> Y => Y /->> X; ..(c5)\n"
				  "a X; X.DEPTH <= 3; ..(c6)\n";

// One random operation on up to 10 nodes of two types and one that is not declared.
static void heap_disturb(struct heap *h, bool is_new)
{
	const uint32_t type[8] = { 0, 1, 1, 1, 1, 2, 2, 3 };
	uint32_t n = 1 + random_below(10), to = random_below(11);
	struct hg_node_id id;

	switch (is_new ? 0 : random_below(16)) {
	case 0:
		ok(hg_graph_alloc(h->g, ++h->time, address(n), 24, 1000 + n, NULL, &id));
		ok(hg_graph_set_type(h->g, id, type[random_below(8)]));
		break;
	case 1:
		if (!random_below(4))
			ok(hg_graph_free(h->g, ++h->time, address(n), 2000));
		break;
	case 2:
		heap_set(h, n, 1, random_below(4), 3000);
		break;
	default:
		heap_point(h, n, 1 + random_below(3), to, 4000 + n);
		break;
	}
}

// Both ways must find the same in random heaps.
static void test_prediction_changes_nothing(void **state)
{
	size_t found = 0;

	(void)state;
	for (uint64_t s = 1; s <= 60; s++) {
		struct heap *h = heap_create(random_spec, 24);
		fl_contributions c = {};

		seed = s;
		for (int i = 0; i < 200; i++)
			heap_disturb(h, i < 20);
		for (uint32_t moves = 0; moves < 3; moves++) {
			trace_from(h, hg_graph_ops(h->g), hg_graph_ops(h->g) / 2 * moves,
				   moves, &c);
			found += c.size;
		}
		vec_deinit(&c);
		heap_destroy(h);
	}
	assert_true(found > 300); // else the test says little
}

// A C-point behind each of 2,000 operations: what a checker that follows finds there is what
// is found anew, and both ways back from it agree.
static void test_many_cpoints(void **state)
{
	_cleanup_(hg_view_destroyp) struct hg_view *v = NULL;
	_cleanup_(spec_eval_destroyp) struct spec_eval *e = NULL;
	_cleanup_(spec_checker_destroyp) struct spec_checker *k = NULL;
	struct heap *h = heap_create(random_spec, 24);
	size_t n_violated = 0, found = 0;
	fl_contributions c = {};

	(void)state;
	seed = 7;
	for (int i = 0; i < 2000; i++)
		heap_disturb(h, i < 20);
	ok(hg_view_create(h->g, 0, &v));
	ok(spec_eval_create(h->spec, h->g, v, &e));
	ok(spec_checker_create(e, false, &k));
	for (uint64_t n = 1; n <= hg_graph_ops(h->g); n++) {
		spec_violations now = {}, anew = {};

		ok(spec_eval_seek(e, v, n));
		for (size_t i = 0; i < spec_constraints(h->spec); i++)
			ok(spec_checker_check(k, i, &now));
		check_at(h, n, &anew);
		assert_int_equal(now.size, anew.size);
		for (size_t i = 0; i < now.size; i++) {
			assert_int_equal(now.data[i].constraint, anew.data[i].constraint);
			assert_true(spec_binding_equal(&now.data[i].binding,
						       &anew.data[i].binding));
		}
		n_violated += now.size > 0;
		if (now.size && n % 16 == 0) {
			trace_from(h, n, n - n / 16 % 3 * 8, 1 + n / 16 % 2, &c);
			found += c.size;
		}
		vec_deinit(&now);
		vec_deinit(&anew);
	}
	assert_true(n_violated > 1000 && found > 100);
	vec_deinit(&c);
	spec_checker_destroy(take_ptr(&k));
	spec_eval_destroy(take_ptr(&e));
	hg_view_destroy(take_ptr(&v));
	heap_destroy(h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_figure_4_3),
		cmocka_unit_test(test_figure_4_4),
		cmocka_unit_test(test_correct_quad_tree),
		cmocka_unit_test(test_a_cpoint_in_the_middle),
		cmocka_unit_test(test_figure_3_2),
		cmocka_unit_test(test_unlink_forgets_prev),
		cmocka_unit_test(test_inconsistency_moves),
		cmocka_unit_test(test_failed_repair),
		cmocka_unit_test(test_wrong_before_it_is_linked),
		cmocka_unit_test(test_wrong_degree_before_it_is_linked),
		cmocka_unit_test(test_moved_from_elsewhere),
		cmocka_unit_test(test_freed_node_still_linked),
		cmocka_unit_test(test_stored_as_it_was),
		cmocka_unit_test(test_memory_used_again),
		cmocka_unit_test(test_prediction_changes_nothing),
		cmocka_unit_test(test_many_cpoints),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
