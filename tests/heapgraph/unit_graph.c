// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The heap graph against a brute-force model: after every operation the model keeps a
 * whole snapshot (which nodes live, all their bytes); the views must show exactly that,
 * however they got there.
 */
#include <string.h>

#include "heapgraph/heapgraph.h"
#include "tests/unit.h"

#define ARENA_BYTES 1536u // small, so that nodes and stores collide; over page borders
#define ARENA_START (0x7fff0000ull - 700)

static uint64_t seed;

static uint64_t random_below(uint64_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (seed >> 33) % n;
}

/* ---- the model --------------------------------------------------------------------- */

struct snapshot {
	uint64_t n_ops, time;
	uint8_t bytes[ARENA_BYTES];
	uint32_t owner[ARENA_BYTES]; ///< node id that covers the byte, 0 none
};

struct model_node {
	uint64_t start, size;
	bool is_live;
};

struct model {
	struct hg_graph *g;
	VEC(struct snapshot) history; ///< one a call, the first before all
	struct snapshot now;
	VEC(struct model_node) nodes; ///< id - 1
};

static void model_keep(struct model *m)
{
	struct snapshot *s = vec_push(&m->history);

	assert_non_null(s);
	m->now.n_ops = hg_graph_ops(m->g);
	*s = m->now;
}

static void model_end(struct model *m, size_t i)
{
	m->nodes.data[i].is_live = false;
	for (uint32_t b = 0; b < ARENA_BYTES; b++)
		if (m->now.owner[b] == i + 1)
			m->now.owner[b] = 0;
}

static void model_alloc(struct model *m, uint64_t at, uint64_t size, bool with_contents)
{
	uint8_t contents[ARENA_BYTES] = {};
	uint64_t taken = size ? size : 1;
	struct hg_node_id id;
	struct model_node *n;

	for (uint32_t i = 0; with_contents && i < size; i++)
		contents[i] = random_below(3) ? 0 : random_below(256);
	for (size_t i = 0; i < m->nodes.size; i++) {
		n = &m->nodes.data[i];
		if (n->is_live && n->start < at + taken &&
		    at < n->start + (n->size ? n->size : 1))
			model_end(m, i);
	}
	n = vec_push(&m->nodes);
	assert_non_null(n);
	*n = (struct model_node){ at, size, true };
	ok(hg_graph_alloc(m->g, m->now.time, ARENA_START + at, size, 0x1000 + size,
			  with_contents ? contents : NULL, &id));
	assert_int_equal(id.v, m->nodes.size);
	for (uint32_t i = 0; i < size; i++) {
		m->now.bytes[at + i] = contents[i];
		m->now.owner[at + i] = id.v;
	}
}

static void model_free(struct model *m)
{
	uint64_t at = random_below(ARENA_BYTES);
	uint64_t unknown = hg_graph_unknown_frees(m->g);
	bool is_known = false;

	// Mostly a node that lives, sometimes any address.
	for (size_t i = 0; i < m->nodes.size && random_below(4); i++) {
		size_t k = random_below(m->nodes.size);

		if (m->nodes.data[k].is_live)
			at = m->nodes.data[k].start;
	}
	for (size_t i = 0; i < m->nodes.size; i++)
		if (m->nodes.data[i].is_live && m->nodes.data[i].start == at) {
			model_end(m, i);
			is_known = true;
		}
	ok(hg_graph_free(m->g, m->now.time, ARENA_START + at, 0x2000));
	assert_int_equal(hg_graph_unknown_frees(m->g), unknown + !is_known);
}

static void model_store(struct model *m)
{
	uint64_t at = random_below(ARENA_BYTES);
	uint64_t size = random_below(4) ? 1 + random_below(8) : random_below(100);
	uint8_t data[100];

	if (size > ARENA_BYTES - at)
		size = ARENA_BYTES - at;
	for (uint32_t i = 0; i < size; i++)
		data[i] = random_below(2) ? 0 : random_below(256);
	ok(hg_graph_store(m->g, m->now.time, ARENA_START + at, size, data,
			  0x3000 + random_below(50)));
	for (uint32_t i = 0; i < size; i++)
		if (m->now.owner[at + i])
			m->now.bytes[at + i] = data[i];
}

// realloc, as a recorder tells it: the old node ends, another begins with its bytes.
static void model_realloc(struct model *m)
{
	size_t k;

	if (!m->nodes.size)
		return;
	k = random_below(m->nodes.size);
	if (!m->nodes.data[k].is_live)
		return;
	ok(hg_graph_free(m->g, m->now.time, ARENA_START + m->nodes.data[k].start,
			 0x4000));
	model_end(m, k);
	model_alloc(m, m->nodes.data[k].start,
		    random_below(ARENA_BYTES - m->nodes.data[k].start + 1), true);
}

static void model_step(struct model *m)
{
	uint64_t at = random_below(ARENA_BYTES);
	uint64_t room = ARENA_BYTES - at;

	// Operations of one instruction share its time.
	m->now.time += random_below(8) ? 1 + random_below(1000) : 0;
	switch (random_below(12)) {
	case 0:
		model_alloc(m, at, 0, false);
		break;
	case 1:
	case 2:
		model_alloc(m, at, random_below(room < 200 ? room + 1 : 200),
			    random_below(2));
		break;
	case 3:
		model_free(m);
		break;
	case 4:
		model_realloc(m);
		break;
	default:
		model_store(m);
		break;
	}
	model_keep(m);
}

static struct model *model_create(uint64_t with_seed, size_t steps)
{
	struct model *m = calloc(1, sizeof(*m));

	assert_non_null(m);
	seed = with_seed;
	ok(hg_graph_create(&m->g));
	model_keep(m);
	while (steps--)
		model_step(m);
	return m;
}

static void model_destroy(struct model *m)
{
	hg_graph_destroy(m->g);
	vec_deinit(&m->history);
	vec_deinit(&m->nodes);
	free(m);
}

/* ---- comparing ----------------------------------------------------------------------- */

static void assert_shows(const struct hg_view *v, const struct snapshot *s,
			 const struct hg_graph *g)
{
	assert_int_equal(hg_view_ops(v), s->n_ops);
	for (uint32_t b = 0; b < ARENA_BYTES; b++) {
		struct hg_node_id id = hg_view_find(v, ARENA_START + b);
		uint64_t value;

		assert_int_equal(id.v, s->owner[b]);
		if (!id.v)
			continue;
		assert_true(hg_view_is_live(v, id));
		assert_true(hg_view_read(
			v, id, ARENA_START + b - hg_graph_node(g, id)->start, 1, &value));
		assert_int_equal(value, s->bytes[b]);
	}
}

static void assert_walks_live(const struct hg_view *v, const struct hg_graph *g)
{
	struct hg_node_id id = { 0 }, want = { 0 };

	for (;;) {
		do
			want.v++;
		while (want.v <= hg_graph_nodes(g) && !hg_view_is_live(v, want));
		id = hg_view_next(v, 0, id);
		assert_int_equal(id.v, want.v <= hg_graph_nodes(g) ? want.v : 0);
		if (!id.v)
			return;
	}
}

// Rolled back step by step from the end, and forward again, each snapshot is met.
static void test_rollback_meets_every_snapshot(void **state)
{
	(void)state;
	for (uint64_t s = 1; s <= 6; s++) {
		struct model *m = model_create(s, 1000);
		_cleanup_(hg_view_destroyp) struct hg_view *v = NULL;
		struct hg_op op, again;
		size_t i = m->history.size;

		ok(hg_view_create(m->g, hg_graph_ops(m->g), &v));
		while (i--) {
			while (hg_view_ops(v) > m->history.data[i].n_ops) {
				hg_view_peek(v, &again);
				hg_view_back(v, &op);
				assert_memory_equal(&op, &again, sizeof(op));
				again = hg_graph_op(m->g, hg_view_ops(v));
				assert_memory_equal(&op, &again, sizeof(op));
			}
			assert_shows(v, &m->history.data[i], m->g);
		}
		for (i = 1; i < m->history.size; i++) {
			while (hg_view_ops(v) < m->history.data[i].n_ops)
				assert_true(hg_view_forward(v, &op));
			assert_shows(v, &m->history.data[i], m->g);
			if (i % 50 == 0)
				assert_walks_live(v, m->g);
		}
		assert_false(hg_view_forward(v, &op));
		model_destroy(m);
	}
}

static void test_seek_anywhere(void **state)
{
	struct model *m = model_create(77, 1500);
	_cleanup_(hg_view_destroyp) struct hg_view *v = NULL;

	(void)state;
	ok(hg_view_create(m->g, 0, &v));
	for (int i = 0; i < 300; i++) {
		const struct snapshot *s =
			&m->history.data[random_below(m->history.size)];

		if (i % 20 == 0) {
			hg_view_destroy(v);
			ok(hg_view_create(m->g, s->n_ops, &v));
		}
		hg_view_seek(v, s->n_ops);
		assert_shows(v, s, m->g);
	}
	model_destroy(m);
}

static void test_views_that_are_near(void **state)
{
	struct model *m = model_create(14, 1200);
	_cleanup_(hg_trails_destroyp) struct hg_trails *t = NULL;

	(void)state;
	ok(hg_trails_create(m->g, &t));
	for (size_t i = 0; i < m->history.size; i += 1 + random_below(40)) {
		const struct snapshot *s = &m->history.data[i];
		struct hg_view *v;

		ok(hg_trails_view(t, s->n_ops, &v));
		assert_int_equal(hg_view_ops(v), s->n_ops);
		assert_shows(v, s, m->g);
		assert_walks_live(v, m->g);
		hg_view_destroy(v);
	}
	model_destroy(m);
}

static void test_times_find_operations(void **state)
{
	struct model *m = model_create(5, 1200);
	uint64_t n = hg_graph_ops(m->g), last = m->now.time;

	(void)state;
	for (uint64_t time = 0; time <= last + 1; time += 1 + random_below(last / 500)) {
		uint64_t at = hg_graph_op_after(m->g, time);

		assert_true(at <= n);
		if (at < n)
			assert_true(hg_graph_op(m->g, at).time > time);
		if (at)
			assert_true(hg_graph_op(m->g, at - 1).time <= time);
	}
	for (uint64_t i = 0; i < n; i += 7) {
		uint64_t time = hg_graph_op(m->g, i).time;
		uint64_t at = hg_graph_op_after(m->g, time);

		assert_true(at > i);
		assert_int_equal(hg_graph_op(m->g, at - 1).time, time);
	}
	model_destroy(m);
}

static void test_find_in_the_past(void **state)
{
	struct model *m = model_create(6, 600);

	(void)state;
	for (size_t i = 0; i + 1 < m->history.size; i++) {
		const struct snapshot *s = &m->history.data[i];
		uint32_t b = random_below(ARENA_BYTES);

		if (s->time == s[1].time)
			continue; // not the last of its instruction
		assert_int_equal(hg_graph_find(m->g, ARENA_START + b, s->time).v,
				 s->owner[b]);
	}
	model_destroy(m);
}

static void test_last_write(void **state)
{
	struct model *m = model_create(8, 900);
	_cleanup_(hg_view_destroyp) struct hg_view *v = NULL;

	(void)state;
	ok(hg_view_create(m->g, hg_graph_ops(m->g), &v));
	for (int i = 0; i < 200; i++) {
		const struct snapshot *s =
			&m->history.data[random_below(m->history.size)];
		uint32_t b = random_below(ARENA_BYTES);
		uint64_t at, addr = ARENA_START + b;
		struct hg_op op;

		if (!s->owner[b])
			continue;
		hg_view_seek(v, s->n_ops);
		at = hg_view_last_write(
			v, (struct hg_node_id){ s->owner[b] },
			addr - hg_graph_node(m->g, (struct hg_node_id){ s->owner[b] })
					->start);
		assert_true(at < s->n_ops);
		op = hg_graph_op(m->g, at);
		assert_int_equal(op.node.v, s->owner[b]);
		if (op.kind == HG_OP_STORE)
			assert_int_equal(op.after >> (addr - op.addr) * 8 & 0xff,
					 s->bytes[b]);
		while (++at < s->n_ops) {
			op = hg_graph_op(m->g, at);
			assert_false(op.node.v == s->owner[b] && op.kind == HG_OP_STORE &&
				     addr >= op.addr && addr < op.addr + op.size);
		}
	}
	model_destroy(m);
}

// Any bytes of any nodes born by then, alive or not, some of them twice.
static size_t random_bytes(const struct hg_view *v, const struct hg_graph *g,
			   struct hg_written *w, size_t n)
{
	uint64_t ops = hg_view_ops(v);
	size_t k = 0;

	for (size_t i = 0; i < n; i++) {
		struct hg_op op = hg_graph_op(g, random_below(ops));
		uint64_t size = hg_graph_node(g, op.node)->size;

		if (!size)
			continue;
		w[k++] = (struct hg_written){ .node = op.node,
					      .offset = random_below(size) };
	}
	return k;
}

// Each as if it were the only one.
static void assert_last_writes(const struct hg_view *v, const struct hg_graph *g,
			       struct hg_trails *t, struct hg_written *w, size_t n)
{
	struct hg_written other[300];

	ok(hg_view_last_writes(v, w, n));
	memcpy(other, w, n * sizeof(*w));
	ok(hg_trails_last_writes(t, hg_view_ops(v), other, n));
	assert_memory_equal(other, w, n * sizeof(*w));
	for (size_t i = 0; i < n; i++) {
		struct hg_op op = hg_graph_op(g, w[i].index);

		assert_int_equal(w[i].index,
				 hg_view_last_write(v, w[i].node, w[i].offset));
		assert_int_equal(w[i].time, op.time);
		assert_int_equal(w[i].rip, op.rip);
	}
}

static void test_last_writes_at_once(void **state)
{
	struct model *m = model_create(12, 1500);
	_cleanup_(hg_view_destroyp) struct hg_view *v = NULL;
	_cleanup_(hg_trails_destroyp) struct hg_trails *t = NULL;
	struct hg_written w[300];

	(void)state;
	ok(hg_view_create(m->g, hg_graph_ops(m->g), &v));
	ok(hg_trails_create(m->g, &t));
	assert_last_writes(v, m->g, t, w, 0);
	for (int i = 0; i < 60; i++) {
		hg_view_seek(v, 1 + random_below(hg_graph_ops(m->g)));
		assert_last_writes(v, m->g, t, w,
				   random_bytes(v, m->g, w, 1 + random_below(300)));
	}
	model_destroy(m);
}

// hg_past_find(), node by node.
static uint32_t last_there(const struct hg_graph *g, uint64_t addr, uint64_t time)
{
	for (uint32_t id = hg_graph_nodes(g); id; id--) {
		const struct hg_node *n = hg_graph_node(g, (struct hg_node_id){ id });

		if (n->born <= time && addr >= n->start && addr - n->start < n->size)
			return id;
	}
	return 0;
}

static void test_who_had_an_address_last(void **state)
{
	struct model *m = model_create(13, 900);
	_cleanup_(hg_past_destroyp) struct hg_past *p = NULL;
	_cleanup_(hg_trails_destroyp) struct hg_trails *t = NULL;
	uint64_t end = m->now.time + 2, time = 0;

	(void)state;
	ok(hg_past_create(m->g, &p));
	ok(hg_trails_create(m->g, &t));
	for (int round = 0; round < 4; round++)
		for (time = random_below(end / 2); time <= end;
		     time += random_below(end / 300 + 2))
			for (int i = 0; i < 10; i++) {
				uint64_t addr =
					ARENA_START - 20 + random_below(ARENA_BYTES + 40);

				assert_int_equal(hg_past_find(p, addr, time).v,
						 last_there(m->g, addr, time));
				assert_int_equal(hg_trails_find(t, addr, time).v,
						 last_there(m->g, addr, time));
			}
	model_destroy(m);
}

/* ---- by hand ------------------------------------------------------------------------- */

static void test_one_store_over_two_nodes(void **state)
{
	const uint8_t data[16] = {
		1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16
	};
	_cleanup_(hg_graph_destroyp) struct hg_graph *g = NULL;
	_cleanup_(hg_view_destroyp) struct hg_view *v = NULL;
	struct hg_node_id a, b;
	struct hg_op op;
	uint64_t value;

	(void)state;
	ok(hg_graph_create(&g));
	ok(hg_graph_alloc(g, 1, 0x1000, 4, 0x10, NULL, &a));
	ok(hg_graph_alloc(g, 2, 0x1008, 8, 0x11, NULL, &b));
	ok(hg_graph_store(g, 3, 0xffe, 16, data, 0x20));
	assert_int_equal(hg_graph_ops(g), 4);
	op = hg_graph_op(g, 2);
	assert_int_equal(op.node.v, a.v);
	assert_int_equal(op.addr, 0x1000);
	assert_int_equal(op.size, 4);
	assert_int_equal(op.after, 0x06050403);
	assert_int_equal(op.rip, 0x20);
	assert_int_equal(op.time, 3);
	ok(hg_view_create(g, 4, &v));
	assert_true(hg_view_read(v, b, 0, 8, &value));
	assert_int_equal(value, 0x0000100f0e0d0c0b);
	assert_false(hg_view_read(v, b, 1, 8, &value));
	assert_false(hg_view_read(v, b, UINT64_MAX, 1, &value));
	assert_int_equal(hg_view_find(v, 0x1004).v, 0);
}

static void test_stores_outside_nodes_are_ignored(void **state)
{
	_cleanup_(hg_graph_destroyp) struct hg_graph *g = NULL;

	(void)state;
	ok(hg_graph_create(&g));
	ok(hg_graph_store(g, 1, 0x1000, 8, "abcdefgh", 1));
	ok(hg_graph_alloc(g, 2, 0x1000, 8, 1, NULL, NULL));
	ok(hg_graph_free(g, 3, 0x1000, 1));
	ok(hg_graph_store(g, 4, 0x1000, 8, "abcdefgh", 1));
	ok(hg_graph_store(g, 5, UINT64_MAX - 3, 8, "abcdefgh", 1));
	assert_int_equal(hg_graph_ops(g), 2);
}

static void test_a_node_beyond_the_address_space_is_an_error(void **state)
{
	_cleanup_(hg_graph_destroyp) struct hg_graph *g = NULL;
	_cleanup_err_ struct err *err = NULL;

	(void)state;
	ok(hg_graph_create(&g));
	err = hg_graph_alloc(g, 1, UINT64_MAX - 10, 100, 1, NULL, NULL);
	assert_non_null(err);
	assert_int_equal(err->code, ERR_RANGE);
}

static void test_types_are_walked_in_order(void **state)
{
	_cleanup_(hg_graph_destroyp) struct hg_graph *g = NULL;
	_cleanup_(hg_view_destroyp) struct hg_view *v = NULL;
	struct hg_node_id id = { 0 };

	(void)state;
	ok(hg_graph_create(&g));
	for (uint32_t i = 1; i <= 200; i++)
		ok(hg_graph_alloc(g, i, i * 32, 16, 1, NULL, NULL));
	for (uint32_t i = 200; i; i--)
		ok(hg_graph_set_type(g, (struct hg_node_id){ i }, 1 + i % 3));
	ok(hg_graph_set_type(g, (struct hg_node_id){ 9 }, 2));
	ok(hg_graph_set_type(g, (struct hg_node_id){ 12 }, 0));
	ok(hg_graph_free(g, 201, 15 * 32, 1));
	ok(hg_view_create(g, 201, &v));
	for (uint32_t i = 3; i <= 200; i += 3) {
		if (i == 9 || i == 12 || i == 15)
			continue;
		id = hg_view_next(v, 1, id);
		assert_int_equal(id.v, i);
	}
	assert_int_equal(hg_view_next(v, 1, id).v, 0);
	assert_int_equal(hg_view_next(v, 2, (struct hg_node_id){ 7 }).v, 9);
	assert_int_equal(hg_view_next(v, 77, (struct hg_node_id){ 0 }).v, 0);
}

// Many live nodes: leaves of the index split, join and vanish.
static void test_many_nodes(void **state)
{
	const uint32_t count = 20000;
	_cleanup_(hg_graph_destroyp) struct hg_graph *g = NULL;
	_cleanup_(hg_view_destroyp) struct hg_view *v = NULL;
	uint32_t *order = calloc(count, sizeof(*order));
	uint64_t time = 0;

	(void)state;
	assert_non_null(order);
	seed = 3;
	for (uint32_t i = 0; i < count; i++)
		order[i] = i;
	for (uint32_t i = count; i > 1; i--) {
		uint32_t k = random_below(i), t = order[i - 1];

		order[i - 1] = order[k];
		order[k] = t;
	}
	ok(hg_graph_create(&g));
	for (uint32_t i = 0; i < count; i++)
		ok(hg_graph_alloc(g, ++time, 0x100000 + order[i] * 48ull, 40, 1, NULL,
				  NULL));
	for (uint32_t i = 0; i < count; i++)
		if (order[i] % 100)
			ok(hg_graph_free(g, ++time, 0x100000 + order[i] * 48ull, 1));
	assert_int_equal(hg_graph_unknown_frees(g), 0);
	ok(hg_view_create(g, hg_graph_ops(g), &v));
	for (int way = 0; way < 2; way++) {
		for (uint32_t i = 0; i < count; i++) {
			uint32_t id = hg_view_find(v, 0x100000 + order[i] * 48ull + 39).v;

			assert_int_equal(id, way || order[i] % 100 == 0 ? i + 1 : 0);
			assert_int_equal(
				hg_view_find(v, 0x100000 + order[i] * 48ull + 40).v, 0);
		}
		while (hg_view_ops(v) > count)
			hg_view_back(v, NULL);
	}
	free(order);
}

// Paper 001, Figures 3.2 and 3.4: statements 11 to 19 at timestamps 1 to 6; the graph at
// timestamp 4 has both nodes and no edge between them.
static void test_figure_3_4(void **state)
{
	const uint64_t node = 0x5000, new_node = 0x5020, null = 0;
	_cleanup_(hg_graph_destroyp) struct hg_graph *g = NULL;
	_cleanup_(hg_view_destroyp) struct hg_view *v = NULL;
	const uint64_t edge_at[7] = { 0, 0, 0, 0, 0, 0x5020, 0 };
	struct hg_node_id a, b;

	(void)state;
	ok(hg_graph_create(&g));
	ok(hg_graph_alloc(g, 1, node, 16, 11, NULL, &a));
	ok(hg_graph_store(g, 2, node + 8, 8, &null, 12));
	ok(hg_graph_alloc(g, 3, new_node, 16, 13, NULL, &b));
	ok(hg_graph_store(g, 4, new_node + 8, 8, &null, 14));
	ok(hg_graph_store(g, 5, node + 8, 8, &new_node, 15));
	ok(hg_graph_store(g, 6, node + 8, 8, &null, 19));
	ok(hg_view_create(g, 6, &v));
	for (uint64_t t = 6; t >= 1; t--) {
		uint64_t next = 1;

		hg_view_seek(v, hg_graph_op_after(g, t));
		assert_true(hg_view_is_live(v, a));
		assert_int_equal(hg_view_is_live(v, b), t >= 3);
		assert_true(hg_view_read(v, a, 8, 8, &next));
		assert_int_equal(next, edge_at[t]);
	}
	hg_view_seek(v, 6);
	assert_int_equal(hg_graph_op(g, hg_view_last_write(v, a, 8)).rip, 19);
	hg_view_seek(v, 5);
	assert_int_equal(hg_graph_op(g, hg_view_last_write(v, a, 8)).rip, 15);
}

static const char *live_nodes(const struct hg_view *v)
{
	static char text[64];
	struct hg_node_id id = { 0 };

	text[0] = 0;
	while ((id = hg_view_next(v, 0, id)).v)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), " n%u", id.v);
	return text;
}

// Paper 001, Figures 3.3 and 3.6: a node is split, the parts are merged again. Algorithm 1
// joins what was split, and separates what was merged, later than the time wanted.
static void test_splits_and_clusters_roll_back(void **state)
{
	_cleanup_(hg_graph_destroyp) struct hg_graph *g = NULL;
	_cleanup_(hg_view_destroyp) struct hg_view *v = NULL;
	const uint64_t start = 0x5000, words[4] = { 1, 2, 3, 4 }, five = 5;
	const char *const live[] = { "", " n1", " n1", " n2 n3", " n2 n3", " n4" };
	struct hg_node_id whole, part[2], cluster;
	const struct hg_member *m;
	uint64_t value;
	size_t n;

	(void)state;
	ok(hg_graph_create(&g));
	ok(hg_graph_alloc(g, 1, start, 32, 11, NULL, &whole));
	ok(hg_graph_store(g, 2, start, 32, words, 12));
	ok(hg_graph_free(g, 3, start, 13));
	for (int i = 0; i < 2; i++) {
		ok(hg_graph_alloc_kept(g, 3, start + 16 * i, 16, 13, &part[i]));
		hg_graph_set_source(g, part[i], whole);
	}
	ok(hg_graph_store(g, 4, start + 16, 8, &five, 14));
	for (int i = 0; i < 2; i++)
		ok(hg_graph_free(g, 5, start + 16 * i, 15));
	ok(hg_graph_alloc_kept(g, 5, start, 32, 15, &cluster));
	ok(hg_graph_set_members(g, part, 2));

	ok(hg_view_create(g, hg_graph_ops(g), &v));
	for (int round = 0; round < 2; round++) {
		for (int t = 5; t >= 0; t--) {
			hg_view_seek(v, hg_graph_op_after(g, round ? 5 - t : t));
			assert_string_equal(live_nodes(v), live[round ? 5 - t : t]);
		}
	}
	hg_view_seek(v, hg_graph_ops(g));
	assert_true(hg_view_read(v, cluster, 16, 8, &value));
	assert_int_equal(value, 5);
	// Who wrote it is found in what the node was before, and before that.
	assert_int_equal(hg_graph_op(g, hg_view_last_write(v, cluster, 16)).rip, 14);
	assert_int_equal(hg_graph_op(g, hg_view_last_write(v, cluster, 24)).rip, 12);
	assert_int_equal(hg_graph_op(g, hg_view_last_write(v, cluster, 0)).rip, 12);
	m = hg_graph_members(g, cluster, &n);
	assert_int_equal(n, 2);
	assert_int_equal(m[0].node.v, part[0].v);
	assert_int_equal(m[1].node.v, part[1].v);
	assert_null(hg_graph_members(g, whole, &n));
	assert_int_equal(hg_graph_cluster(g, part[1]).v, cluster.v);
	assert_int_equal(hg_graph_cluster(g, whole).v, 0);
	assert_int_equal(hg_graph_node(g, part[1])->source, whole.v);
}

// Heap memory that is split and merged again and again: bytes are older than their nodes. So
// often that the log is packed.
static struct hg_graph *make_splits(uint64_t start, uint64_t bytes)
{
	struct hg_graph *g = NULL;
	struct hg_node_id whole, part[2];
	uint64_t time = 1, value = 1;

	ok(hg_graph_create(&g));
	ok(hg_graph_alloc(g, time, start, bytes, 1, NULL, &whole));
	for (int round = 0; round < 2000; round++) {
		uint64_t cut = 1 + random_below(bytes - 1);

		for (int i = 0; i < 6; i++, value++)
			ok(hg_graph_store(g, ++time, start + random_below(bytes), 8,
					  &value, value));
		ok(hg_graph_free(g, ++time, start, 2));
		for (int i = 0; i < 2; i++) {
			ok(hg_graph_alloc_kept(g, time, start + (i ? cut : 0),
					       i ? bytes - cut : cut, 3, &part[i]));
			hg_graph_set_source(g, part[i], whole);
		}
		ok(hg_graph_store(g, ++time, start + cut - 1, 2, &value, value));
		time++;
		for (int i = 0; i < 2; i++)
			ok(hg_graph_free(g, time, start + (i ? cut : 0), 4));
		ok(hg_graph_alloc_kept(g, time, start, bytes, 5, &whole));
		ok(hg_graph_set_members(g, part, 2));
	}
	return g;
}

static void test_splits_are_followed_at_once(void **state)
{
	_cleanup_(hg_graph_destroyp) struct hg_graph *g = make_splits(0x5000, 100);
	_cleanup_(hg_view_destroyp) struct hg_view *v = NULL;
	_cleanup_(hg_trails_destroyp) struct hg_trails *t = NULL;
	struct hg_written w[200];

	(void)state;
	ok(hg_view_create(g, hg_graph_ops(g), &v));
	ok(hg_trails_create(g, &t));
	for (int i = 0; i < 40; i++) {
		assert_last_writes(v, g, t, w,
				   random_bytes(v, g, w, sizeof(w) / sizeof(*w)));
		hg_view_seek(v, 1 + random_below(hg_graph_ops(g)));
	}
}

static void test_measures(void **state)
{
	struct model *m = model_create(9, 800);
	_cleanup_(hg_view_destroyp) struct hg_view *v = NULL;
	struct hg_measure is;
	uint64_t edges = 0;
	struct hg_op op;

	(void)state;
	ok(hg_graph_measure(m->g, &is));
	assert_int_equal(is.nodes, hg_graph_nodes(m->g));
	assert_int_equal(is.changes, hg_graph_ops(m->g));
	assert_int_equal(is.log_bytes, hg_graph_log_bytes(m->g));
	assert_true(is.all_bytes >= is.log_bytes + is.node_bytes);
	ok(hg_view_create(m->g, 0, &v));
	while (hg_view_forward(v, &op))
		edges += op.kind == HG_OP_STORE && op.size == 8 &&
			 hg_view_find(v, op.after).v != 0;
	assert_int_equal(is.edges, edges);
	model_destroy(m);
}

// The price: an operation on a list costs at most 24 bytes.
static void test_bytes_per_operation(void **state)
{
	_cleanup_(hg_graph_destroyp) struct hg_graph *g = NULL;
	uint64_t base = 0x55555575a2a0, time = 0;

	(void)state;
	seed = 9;
	ok(hg_graph_create(&g));
	for (uint64_t i = 0; i < 20000; i++) {
		uint64_t to = base + random_below(i + 1) * 48, addr = base + i * 48;

		ok(hg_graph_alloc(g, time += 90, addr, 40, 0x401136, NULL, NULL));
		for (int k = 0; k < 5; k++)
			ok(hg_graph_store(g, time += 1 + random_below(40), addr + k * 8,
					  8, &to, 0x401140 + k * 7));
		ok(hg_graph_store(g, time += 20, to + 8, 8, &addr, 0x401190));
	}
	assert_true(hg_graph_log_bytes(g) <= 24 * hg_graph_ops(g));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rollback_meets_every_snapshot),
		cmocka_unit_test(test_seek_anywhere),
		cmocka_unit_test(test_views_that_are_near),
		cmocka_unit_test(test_times_find_operations),
		cmocka_unit_test(test_find_in_the_past),
		cmocka_unit_test(test_last_write),
		cmocka_unit_test(test_last_writes_at_once),
		cmocka_unit_test(test_splits_are_followed_at_once),
		cmocka_unit_test(test_who_had_an_address_last),
		cmocka_unit_test(test_one_store_over_two_nodes),
		cmocka_unit_test(test_stores_outside_nodes_are_ignored),
		cmocka_unit_test(test_a_node_beyond_the_address_space_is_an_error),
		cmocka_unit_test(test_types_are_walked_in_order),
		cmocka_unit_test(test_many_nodes),
		cmocka_unit_test(test_figure_3_4),
		cmocka_unit_test(test_splits_and_clusters_roll_back),
		cmocka_unit_test(test_measures),
		cmocka_unit_test(test_bytes_per_operation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
