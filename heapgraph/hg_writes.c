// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What wrote these bytes last? hg_view_last_write() for many at once: one pass backward over
 * the log, until each is answered. A byte's address stays the same when the question goes on
 * in what its node was made of; so questions are found by their words, and told apart by the
 * node that is asked now.
 */
#include "heapgraph/hg_int.h"

#include <assert.h>

/** Of one element of the caller's. */
struct question {
	uint64_t addr;
	uint64_t same_word; ///< the next one's number + 1, 0: none
	uint64_t same_node; ///< likewise
	uint32_t node;	    ///< that is asked now; 0: answered
};

struct questions {
	const struct hg_graph *g;
	struct hg_written *written; ///< the caller's
	struct question *all;
	struct map words;  ///< address / 8 -> the first one's number + 1
	struct map nodes;  ///< node -> likewise
	uint64_t open[64]; ///< open ones by node % 64, as in node_filter
	uint64_t n_open;
};

static void questions_deinit(struct questions *q)
{
	free(q->all);
	map_deinit(&q->words);
	map_deinit(&q->nodes);
}

// Number i is node's from now on.
static int ask(struct questions *q, size_t i, uint32_t node)
{
	const uint64_t *first = map_get(&q->nodes, node);

	q->all[i].node = node;
	q->all[i].same_node = first ? *first : 0;
	q->open[node % 64]++;
	q->n_open++;
	return map_put(&q->nodes, node, i + 1);
}

// Number i is nobody's any more.
static void drop(struct questions *q, size_t i)
{
	q->open[q->all[i].node % 64]--;
	q->n_open--;
	q->all[i].node = 0;
}

static void answer(struct questions *q, size_t i, uint64_t index, const struct hg_op *op)
{
	drop(q, i);
	q->written[i].index = index;
	q->written[i].time = op->time;
	q->written[i].rip = op->rip;
}

static int ask_all(struct questions *q, size_t n)
{
	q->all = calloc(n + 1, sizeof(*q->all));
	if (!q->all)
		return -1;
	for (size_t i = 0; i < n; i++) {
		struct hg_node_id id = q->written[i].node;
		uint64_t addr = hg_graph_node(q->g, id)->start + q->written[i].offset;
		const uint64_t *first = map_get(&q->words, addr / 8);

		q->all[i].addr = addr;
		q->all[i].same_word = first ? *first : 0;
		if (map_put(&q->words, addr / 8, i + 1) || ask(q, i, id.v))
			return -1;
	}
	return 0;
}

// Answered ones leave the chain of their word here.
static void on_store(struct questions *q, uint64_t index, const struct hg_op *op)
{
	uint64_t last = (op->addr + op->size - 1) / 8;

	for (uint64_t word = op->addr / 8; word <= last; word++) {
		uint64_t *link = map_get(&q->words, word);

		while (link && *link) {
			struct question *one = &q->all[*link - 1];

			if (one->node == op->node.v && one->addr >= op->addr &&
			    one->addr - op->addr < op->size)
				answer(q, *link - 1, index, op);
			if (one->node)
				link = &one->same_word;
			else
				*link = one->same_word;
		}
	}
}

// Here the node began, with the byte or with what another left there.
static int on_alloc(struct questions *q, uint64_t index, const struct hg_op *op)
{
	const uint64_t *first = map_get(&q->nodes, op->node.v);
	uint64_t next = first ? *first : 0;

	while (next) {
		size_t i = next - 1;
		uint32_t before;

		next = q->all[i].same_node;
		if (!q->all[i].node)
			continue;
		before = hg_graph_before(q->g, op->node.v, q->all[i].addr);
		if (!before) {
			answer(q, i, index, op);
			continue;
		}
		drop(q, i);
		if (ask(q, i, before))
			return -1;
	}
	return 0;
}

static bool may_answer(const struct questions *q, uint64_t node_filter)
{
	for (uint64_t left = node_filter; left; left &= left - 1)
		if (q->open[__builtin_ctzll(left)])
			return true;
	return false;
}

// Block by block backward, from operation number `end` on.
static int search(struct questions *q, struct hg_unpacker *u, uint64_t end)
{
	struct hg_decoded ops[HG_BLOCK_OPS];

	while (end && q->n_open) {
		uint64_t block = (end - 1) / HG_BLOCK_OPS;
		uint32_t n = end - block * HG_BLOCK_OPS;

		end = block * HG_BLOCK_OPS;
		if (!may_answer(q, q->g->log.blocks.data[block].node_filter))
			continue;
		hg_log_decode(q->g, block, u, ops);
		while (n--) {
			const struct hg_op *op = &ops[n].op;

			if (!q->open[op->node.v % 64])
				continue;
			if (op->kind == HG_OP_STORE)
				on_store(q, end + n, op);
			else if (op->kind == HG_OP_ALLOC && on_alloc(q, end + n, op))
				return -1;
		}
	}
	assert(!q->n_open && "a node without an ALLOC in the view");
	return 0;
}

struct err *hg_view_last_writes(const struct hg_view *v, struct hg_written *w, size_t n)
{
	const struct hg_graph *g = hg_view_graph(v);
	_cleanup_(questions_deinit) struct questions q = { .g = g, .written = w };
	_cleanup_(hg_unpacker_deinit) struct hg_unpacker u = {};

	if (hg_log_unpacker(&g->log, &u) || ask_all(&q, n) ||
	    search(&q, &u, hg_view_ops(v)))
		return &err_nomem;
	return NULL;
}
