// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * `tool_agree CAPTURE [TIMES]`: builds the heap graph of a program that uses malloc twice,
 * with and without knowing that (hg_infer.h), and compares the two at TIMES times of the run:
 *
 *  - each node of the second that meets live allocations is within one of them;
 *  - each pointer word that both have leads to the same allocation in both;
 *  - each allocation has a node of the second, though not from malloc to free: before the
 *    first store and after the last pointer is gone, only the allocator knows of it.
 *
 * Prints what it compared, a line `name count` each; `wrong` ones to stderr. Exit status 1
 * when anything was wrong.
 */
#include <stdio.h>
#include <string.h>

#include "heapgraph/hg_infer.h"
#include "heapgraph/hg_record.h"

struct side {
	struct hg_graph *g;
	struct hg_view *v;
};

struct counts {
	uint64_t times, nodes, stale, outside, words, edges, missing, extra, unknown;
	uint64_t allocations,
		seen; ///< live ones, and those that have a node of the other graph
};

static void check(struct err *err)
{
	if (!err)
		return;
	fprintf(stderr, "tool_agree: %s\n", err->message);
	exit(2);
}

static void build(const struct capture *c, const hg_plan *plan, struct side *ret,
		  uint64_t *instructions)
{
	struct dec_heap_options options = {};
	struct dec_symbols *symbols = NULL;
	struct hg_recorder *r = NULL;
	struct hg_graph *none;
	struct dec_heap_events ev;
	struct dec_run run = {};

	check(dec_symbols_create(c, &symbols));
	check(hg_recorder_create(false, &r));
	if (plan)
		check(hg_recorder_follow(r, plan));
	hg_recorder_events(r, &ev);
	check(dec_heap_trace(c, symbols, &options, &ev, &run));
	hg_recorder_finish(r, &ret->g, &none);
	*instructions = run.instructions;
	dec_run_deinit(&run);
	hg_recorder_destroy(r);
	dec_symbols_destroy(symbols);
	check(hg_view_create(ret->g, 0, &ret->v));
}

static const struct hg_node *node_at(const struct side *s, uint64_t addr)
{
	struct hg_node_id id = hg_view_find(s->v, addr);

	return id.v ? hg_graph_node(s->g, id) : NULL;
}

static bool is_within(const struct hg_node *n, const struct hg_node *a)
{
	return n->start >= a->start && n->start + n->size <= a->start + a->size;
}

// Does a node of the one meet an allocation without being part of it?
static void compare_nodes(const struct side *known, const struct side *found,
			  uint64_t time, struct counts *n)
{
	struct hg_node_id id = { 0 };

	while ((id = hg_view_next(found->v, 0, id)).v) {
		const struct hg_node *x = hg_graph_node(found->g, id);
		const struct hg_node *a = NULL;
		uint64_t at;

		for (at = x->start; at < x->start + x->size && !a; at++)
			a = node_at(known, at);
		n->nodes++;
		if (!a) {
			n->stale++;
		} else if (!is_within(x, a)) {
			n->outside++;
			fprintf(stderr,
				"time %lu: n%u [%#lx, %lu bytes, %lu..%lu, by %#lx] is not "
				"within the allocation [%#lx, %lu bytes, %lu..%lu, by %#lx]\n",
				time, id.v, x->start, x->size, x->born, x->died,
				x->alloc_rip, a->start, a->size, a->born, a->died,
				a->alloc_rip);
		}
	}
}

// The word at addr, which both have: does it lead to the same?
static void compare_word(const struct side *known, const struct side *found,
			 const struct hg_node *x, uint64_t addr, uint64_t time,
			 struct counts *n)
{
	struct hg_node_id in_known = hg_view_find(known->v, addr);
	struct hg_node_id in_found = hg_view_find(found->v, addr);
	uint64_t value = 0, again = 0;
	const struct hg_node *a, *b;

	n->words++;
	if (!hg_view_read(known->v, in_known,
			  addr - hg_graph_node(known->g, in_known)->start, 8, &value) ||
	    !hg_view_read(found->v, in_found, addr - x->start, 8, &again))
		return;
	a = node_at(known, value);
	b = node_at(found, again);
	if (value != again || (b && a && !is_within(b, a))) {
		n->extra++;
		fprintf(stderr, "time %lu: the word at %#lx holds %#lx, and %#lx\n", time,
			addr, value, again);
	} else if (a && b) {
		n->edges++;
	} else if (a && !b) {
		uint64_t at;

		for (at = a->start; at < a->start + a->size; at++)
			if (node_at(found, at))
				break;
		if (at < a->start + a->size && value == a->start) {
			n->missing++;
			fprintf(stderr,
				"time %lu: the word at %#lx leads to %#lx, where only "
				"malloc has a node [%lu bytes, born %lu by %#lx]; there is "
				"[%#lx, %lu bytes, born %lu by %#lx]\n",
				time, addr, value, a->size, a->born, a->alloc_rip,
				node_at(found, at)->start, node_at(found, at)->size,
				node_at(found, at)->born, node_at(found, at)->alloc_rip);
		} else {
			n->unknown++;
		}
	}
}

// Has allocation `id` a node of the other graph at some time of its life? Asked once each.
static bool has_node(const struct side *known, const struct side *found,
		     struct hg_node_id id)
{
	enum { UNASKED, NO, YES };
	static uint8_t *answer;
	const struct hg_node *a = hg_graph_node(known->g, id);

	if (!answer)
		answer = calloc(hg_graph_nodes(known->g) + 1, 1);
	if (!answer)
		exit(2);
	if (answer[id.v])
		return answer[id.v] == YES;
	answer[id.v] = NO;
	for (uint32_t i = 1; i <= hg_graph_nodes(found->g) && answer[id.v] == NO; i++) {
		const struct hg_node *x =
			hg_graph_node(found->g, (struct hg_node_id){ i });

		if (x->start < a->start + a->size && a->start < x->start + x->size &&
		    x->born < a->died && a->born < x->died)
			answer[id.v] = YES;
	}
	return answer[id.v] == YES;
}

static void compare_edges(const struct side *known, const struct side *found,
			  uint64_t time, struct counts *n)
{
	struct hg_node_id id = { 0 };

	while ((id = hg_view_next(known->v, 0, id)).v) {
		const struct hg_node *a = hg_graph_node(known->g, id);
		bool is_seen = false;

		for (uint64_t at = (a->start + 7) & ~7ul; at + 8 <= a->start + a->size;
		     at += 8) {
			const struct hg_node *x = node_at(found, at);

			is_seen |= x != NULL;
			if (x && at + 8 <= x->start + x->size)
				compare_word(known, found, x, at, time, n);
		}
		n->allocations++;
		n->seen += is_seen || has_node(known, found, id);
	}
}

int main(int argc, char **argv)
{
	uint64_t times = argc > 2 ? strtoull(argv[2], NULL, 10) : 100, end, again;
	struct side known = {}, found = {};
	struct dec_symbols *symbols = NULL;
	struct capture *c = NULL;
	struct counts n = {};
	hg_plan plan = {};

	if (argc < 2)
		return 2;
	check(capture_open(argv[1], &c));
	check(dec_symbols_create(c, &symbols));
	check(hg_infer(c, symbols, NULL, &plan));
	dec_symbols_destroy(symbols);
	build(c, NULL, &known, &end);
	build(c, &plan, &found, &again);
	for (uint64_t i = 1; i <= times; i++) {
		uint64_t time = end / times * i;

		hg_view_seek(known.v, hg_graph_op_after(known.g, time));
		hg_view_seek(found.v, hg_graph_op_after(found.g, time));
		compare_nodes(&known, &found, time, &n);
		compare_edges(&known, &found, time, &n);
		n.times++;
	}
	printf("times %lu\nnodes %lu\nstale %lu\noutside %lu\nwords %lu\nedges %lu\n"
	       "missing %lu\nextra %lu\nunknown %lu\nallocations %lu\nseen %lu\n",
	       n.times, n.nodes, n.stale, n.outside, n.words, n.edges, n.missing, n.extra,
	       n.unknown, n.allocations, n.seen);
	hg_view_destroy(known.v);
	hg_view_destroy(found.v);
	hg_graph_destroy(known.g);
	hg_graph_destroy(found.g);
	vec_deinit(&plan);
	capture_close(c);
	return n.outside || n.missing || n.extra;
}
